//! Makes a release, until it is complete and durable beside the current one. Nothing that runs is touched.

use std::fs::File;
use std::path::{Path, PathBuf};

use seaworthy_api::host::wire::Release;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Artefact, ArtefactFormat, Content, ProbeCheck};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::OperationId;

use crate::archive;
use crate::artefacts;
use crate::disk;
use crate::failure::{self, Result};
use crate::fetch;
use crate::journal::{Journal, Step};
use crate::layout::OWN;
use crate::links;
use crate::manifest::{Entry, EntryKind, Manifest, ServiceUnit};
use crate::site::Site;
use crate::template::{self, Template};
use crate::tree::Tree;

/// What a file of a release may permit at most: the same as in an archive. Others than root never write to it.
const MODE_MASK: u32 = 0o755;

/// A release in the making.
pub(crate) struct Stage<'a> {
    pub(crate) site: &'a Site<'a>,
    pub(crate) operation: OperationId,
    pub(crate) component: &'a str,
    pub(crate) release: &'a Release,
}

impl Stage<'_> {
    /// Makes the release, in a new directory.
    pub(crate) fn make(&self, journal: &mut Journal) -> Result<Manifest> {
        let disk = self.site.disk();
        let staging = self.site.layout.staging().join(self.operation.to_string());
        disk.remove_tree(&staging)?;
        disk.make_dir(&staging, 0o700)?;
        let recipe = &self.release.recipe;
        let file = staging.join("artefact.part");
        let root = staging.join("tree");
        let kept = recipe.artefact.as_ref().map(|artefact| artefacts::take(self.site, artefact, &file));
        let kept = kept.transpose()?.flatten();
        let room = disk::room(&staging)?;
        let mut tree = match &recipe.artefact {
            Some(artefact) => {
                let (bytes, room) = match kept {
                    Some(bytes) => (bytes, room),
                    None => {
                        let bytes = fetch::fetch(disk, artefact, &file, room)?;
                        (bytes, room.saturating_sub(bytes))
                    }
                };
                journal.write(disk, Step::Fetched { bytes, sha256: artefact.sha256 })?;
                let mut tree = Tree::make(disk, root.clone(), room)?;
                unpack(artefact, &file, &mut tree)?;
                journal.write(disk, Step::Unpacked { entries: tree.len() as u64 })?;
                tree
            }
            None => Tree::make(disk, root.clone(), room)?,
        };

        tree.blame(CauseKind::OperationInvalid);
        let rendered = self.render(&mut tree)?;
        journal.write(disk, Step::Rendered { files: rendered.len() as u64 })?;
        let manifest = self.manifest(tree.settle()?, rendered)?;
        self.publish(&manifest, &root)?;
        disk.remove_tree(&staging)?;
        journal.write(disk, Step::Staged { directory: manifest.directory.clone() })?;
        Ok(manifest)
    }

    /// Renders all templates into the tree, and gives the paths of what was rendered.
    fn render(&self, tree: &mut Tree<'_>) -> Result<Vec<String>> {
        let content = &self.release.recipe.content;
        let mut templates: Vec<Template> = content
            .files
            .iter()
            .map(|file| Template { name: file.path.clone(), text: file.template.clone() })
            .collect();
        if let Some(unit) = &content.unit {
            templates.push(Template { name: unit.name.clone(), text: unit.template.clone() });
        }
        let current = self.site.layout.current(self.component);
        let rendered =
            template::render(self.site.program, &self.release.recipe, self.component, &current, templates)?;
        let mut paths = Vec::new();
        for (file, text) in content.files.iter().zip(&rendered) {
            tree.replace_file(&file.path, file.mode & MODE_MASK, text.as_bytes())?;
            paths.push(file.path.clone());
        }
        if let (Some(unit), Some(text)) = (&content.unit, rendered.get(content.files.len())) {
            tree.own_file(&unit.name, text.as_bytes())?;
            paths.push(format!("{}/{}", OWN, unit.name));
        }
        paths.sort();
        Ok(paths)
    }

    fn manifest(&self, entries: Vec<Entry>, rendered: Vec<String>) -> Result<Manifest> {
        let recipe = &self.release.recipe;
        let content = &recipe.content;
        let mut manifest = Manifest {
            component: self.component.to_owned(),
            version_name: self.release.version_name.clone(),
            version: recipe.version.clone(),
            release: self.release.id,
            directory: self.vacant_directory()?,
            entries,
            links: links::of(self.site, self.component, content),
            unit: None,
            probe: content.probe.clone(),
            rollback: content.rollback,
            reboot: content.reboot,
            less_than_restart: content.less_than_restart,
            removal: content.removal.clone(),
            rendered,
        };
        for link in &content.links {
            if !manifest.entries.iter().any(|entry| entry.path == link.target) {
                let detail = format!("link {:?}: the release has no {:?}", link.path, link.target);
                return Err(failure::invalid(detail));
            }
        }
        for program in programs(content).filter(|program| !program.starts_with('/')) {
            executable(&manifest, program)?;
        }
        if let Some(unit) = &content.unit {
            let binary = unit.executable.as_ref().map(|path| executable(&manifest, path)).transpose()?;
            let file = manifest.file(&format!("{}/{}", OWN, unit.name));
            let sha256 = file.ok_or_else(|| failure::host("the unit file was not made"))?;
            let (name, executable) = (unit.name.clone(), unit.executable.clone());
            manifest.unit = Some(ServiceUnit { name, sha256, executable, binary });
        }
        Ok(manifest)
    }

    /// A name for the release's directory that was not used yet. The number at its end grows when the same release has to
    /// be made again because the one that is there was damaged.
    fn vacant_directory(&self) -> Result<String> {
        let layout = &self.site.layout;
        let base = format!("{}-{}", self.release.recipe.version, self.release.id.0.short());
        let mut taken = disk::names(&layout.releases(self.component))?;
        taken.extend(disk::names(&layout.manifests(self.component))?);
        let number = taken
            .iter()
            .filter_map(|name| {
                let number = name.strip_prefix(&base)?.strip_prefix('.')?;
                number.strip_suffix(".json").unwrap_or(number).parse::<u64>().ok()
            })
            .max()
            .unwrap_or(0);
        Ok(format!("{base}.{}", number + 1))
    }

    /// Puts the finished tree in its place, its manifest first.
    fn publish(&self, manifest: &Manifest, tree: &Path) -> Result<()> {
        let (disk, layout) = (self.site.disk(), &self.site.layout);
        let text = manifest.text()?;
        disk.make_own_dir(&layout.manifests(self.component), 0o755)?;
        disk.replace(&layout.manifest(self.component, &manifest.directory), &text, 0o644)?;
        let releases = layout.releases(self.component);
        disk.make_own_dir(&releases, 0o755)?;
        disk.rename(tree, &releases.join(&manifest.directory))
    }
}

/// Puts what was fetched into the tree of a release.
fn unpack(artefact: &Artefact, file: &Path, tree: &mut Tree<'_>) -> Result<()> {
    match &artefact.format {
        ArtefactFormat::TarGz => archive::unpack(file, tree),
        ArtefactFormat::Binary { path } => {
            let opened = File::open(file).map_err(|error| failure::on("open", file, &error))?;
            tree.file(path, 0o755, opened)
        }
    }
}

/// Every program that a release says how to run: to probe it, to test it, to remove it.
fn programs(content: &Content) -> impl Iterator<Item = &str> {
    let probe = content.probe.as_ref().and_then(|probe| match &probe.check {
        ProbeCheck::Exec { command } => Some(command),
        ProbeCheck::Http { .. } | ProbeCheck::Tcp { .. } => None,
    });
    let removal =
        content.removal.iter().flat_map(|removal| removal.before_stop.iter().chain(&removal.after_stop));
    let invoked = content.preflight.iter().chain(removal).map(|invocation| &invocation.command);
    probe.into_iter().chain(invoked).filter_map(|command| command.first().map(String::as_str))
}

/// The digest of a file of the release that can be executed.
fn executable(manifest: &Manifest, path: &str) -> Result<Digest> {
    let entry = manifest.entries.iter().find(|entry| entry.path == path);
    match entry.map(|entry| &entry.kind) {
        Some(EntryKind::File { mode, sha256 }) if mode & 0o111 != 0 => Ok(*sha256),
        Some(EntryKind::File { .. } | EntryKind::Directory | EntryKind::Link { .. }) => {
            Err(failure::invalid(format!("{path:?} is not an executable file of the release")))
        }
        None => Err(failure::invalid(format!("the release has no {path:?}"))),
    }
}

/// The release `release` of `component` that is complete and intact on this host, if there is one: making it again
/// would give the same.
pub(crate) fn find_intact(site: &Site<'_>, component: &str, release: &Release) -> Result<Option<Manifest>> {
    for name in disk::names(&site.layout.manifests(component))? {
        let Some(directory) = name.strip_suffix(".json") else { continue };
        if let Some(manifest) = Manifest::read(&site.layout, component, directory)
            && manifest.release == release.id
            && manifest.changed_file(&site.layout).is_none()
        {
            return Ok(Some(manifest));
        }
    }
    Ok(None)
}

/// Where the current release of `component` leads to, for a release in `directory`.
pub(crate) fn link_target(component: &str, directory: &str) -> PathBuf {
    Path::new("../releases").join(component).join(directory)
}
