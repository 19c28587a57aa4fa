//! The manifest of a release: what a complete release consists of, with the digest of every file. It is durable before
//! its release directory appears, so a directory that has a manifest is complete, and one that has none is rubbish.
//! Kept outside the release, so that what happens inside one cannot change it.

use std::path::Path;

use seaworthy_api::host::wire::{Component, RenderedFile};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Disruption, Probe, ReleaseId, Rollback};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::Drift;
use seaworthy_model::removal::Removal;
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::failure::{self, Result};
use crate::layout::Layout;
use crate::system::{System, UnitState, running_binary};

/// About 300 bytes per entry, for the most entries that an archive may have.
const LENGTH_MAX: u64 = 64 << 20;

/// What a complete release consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) component: String,
    pub(crate) version_name: String,
    pub(crate) version: String,
    pub(crate) release: ReleaseId,
    /// The name of its directory.
    pub(crate) directory: String,
    /// Files, links and directories inside it, sorted by path.
    pub(crate) entries: Vec<Entry>,
    /// Links on the host.
    pub(crate) links: Vec<HostLink>,
    pub(crate) unit: Option<ServiceUnit>,
    pub(crate) probe: Option<Probe>,
    pub(crate) rollback: Rollback,
    /// Whether the host is started anew when it comes or goes.
    #[serde(default)]
    pub(crate) reboot: bool,
    /// What a change to it does to workloads, if that is less than a restart of its unit.
    #[serde(default)]
    pub(crate) less_than_restart: Option<Disruption>,
    /// What is done when it is removed.
    #[serde(default)]
    pub(crate) removal: Option<Removal>,
    /// Paths of the entries that were rendered.
    pub(crate) rendered: Vec<String>,
}

/// One thing inside a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Relative path.
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EntryKind {
    File { mode: u32, sha256: Digest },
    Directory,
    Link { target: String },
}

/// A link on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostLink {
    /// Absolute path, as on the host.
    pub(crate) path: String,
    /// What it points to.
    pub(crate) target: String,
}

/// The unit of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServiceUnit {
    pub(crate) name: String,
    /// The digest of the unit file.
    pub(crate) sha256: Digest,
    /// Relative path of the binary that the service consists of, if it must be one of the release.
    pub(crate) executable: Option<String>,
    /// The digest of that binary.
    pub(crate) binary: Option<Digest>,
}

impl Manifest {
    /// Reads a manifest; `None` when it does not exist or cannot be read, for whatever reason. A component whose manifest
    /// is lost counts as not installed, and installing it puts everything right. It must not keep the host from being
    /// managed.
    pub(crate) fn read(layout: &Layout, component: &str, directory: &str) -> Option<Self> {
        let bytes = disk::read(&layout.manifest(component, directory), LENGTH_MAX).ok()??;
        let manifest: Option<Self> = serde_json::from_slice(&bytes).ok();
        manifest.filter(|read| read.component == component && read.directory == directory)
    }

    /// What is written into its file.
    ///
    /// # Errors
    /// When [`Self::read`] could not read it: the release has too many files, or too long names.
    pub(crate) fn text(&self) -> Result<Vec<u8>> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| failure::host(error.to_string()))?;
        if text.len() as u64 > LENGTH_MAX {
            let detail = format!(
                "the list of its {} files has {} bytes, and at most {LENGTH_MAX} are read: their names are too long",
                self.entries.len(),
                text.len()
            );
            return Err(Cause::new(CauseKind::ArchiveRefused, detail));
        }
        Ok(text)
    }

    /// The manifest of the current release of `component`.
    pub(crate) fn current(layout: &Layout, component: &str) -> Option<Self> {
        Self::read(layout, component, &linked_directory(&layout.current(component))?)
    }

    /// What the manifest says of `path`.
    pub(crate) fn entry(&self, path: &str) -> Option<&Entry> {
        let found = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        Some(&self.entries[found])
    }

    /// The digest that `path` has in the manifest, if it is a file.
    pub(crate) fn file(&self, path: &str) -> Option<Digest> {
        match &self.entry(path)?.kind {
            EntryKind::File { sha256, .. } => Some(*sha256),
            EntryKind::Directory | EntryKind::Link { .. } => None,
        }
    }

    /// What the component looks like now.
    pub(crate) fn inspect(&self, layout: &Layout, system: &dyn System) -> Result<Component> {
        let (mut drift, mut differs) = (Drift::NONE, None);
        let mut found = |part, words: Option<String>| {
            if let Some(words) = words {
                drift = drift.with(part);
                differs.get_or_insert(words);
            }
        };
        found(Drift::FILES, self.changed_file(layout));
        found(Drift::LINKS, self.links.iter().find_map(|link| link.difference(layout)));
        let (mut running, mut restarts) = (None, None);
        if let Some(unit) = &self.unit {
            let status = system.status(&unit.name)?;
            restarts = status.restarts;
            match status.state {
                UnitState::Running { pid } => {
                    running = running_binary(pid);
                    if unit.binary.is_some() && running != unit.binary {
                        found(Drift::WRONG_BINARY, Some(format!("{} runs another binary", unit.name)));
                    }
                }
                UnitState::Exited if unit.binary.is_none() => {}
                UnitState::Exited | UnitState::Waiting | UnitState::Stopped => {
                    found(Drift::NOT_RUNNING, Some(format!("{} does not run", unit.name)));
                }
            }
        }
        let rendered = self
            .rendered
            .iter()
            .filter_map(|path| Some(RenderedFile { path: path.clone(), sha256: self.file(path)? }));
        Ok(Component {
            name: self.component.clone(),
            version_name: self.version_name.clone(),
            release: self.release,
            drift,
            differs,
            rendered: rendered.collect(),
            running,
            restarts,
        })
    }
}

/// The name of the directory that a link like `current/<component>` points to.
pub(crate) fn linked_directory(link: &Path) -> Option<String> {
    let target = disk::target(link)?;
    Some(target.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The archive of such a release has little more than a megabyte. Its manifest must not be written: nothing could read it,
    /// and a host that cannot read what is installed on it cannot be managed.
    #[test]
    fn what_could_not_be_read_is_not_written() {
        let entry = |number| Entry { path: format!("{number:01000}"), kind: EntryKind::Directory };
        let mut manifest = Manifest {
            component: "webd".into(),
            version_name: "webd-1.0.0".into(),
            version: "1.0.0".into(),
            release: ReleaseId(Digest::of(b"")),
            directory: "1.0.0-0123456789ab.1".into(),
            entries: (0..10).map(entry).collect(),
            links: Vec::new(),
            unit: None,
            probe: None,
            rollback: Rollback::Safe,
            reboot: false,
            less_than_restart: None,
            removal: None,
            rendered: Vec::new(),
        };
        assert!(manifest.text().is_ok_and(|text| text.len() as u64 <= LENGTH_MAX));
        manifest.entries = (0..70_000).map(entry).collect();
        let cause = manifest.text().unwrap_err();
        assert_eq!(cause.kind, CauseKind::ArchiveRefused);
        assert!(cause.detail.contains("70000 files"), "{}", cause.detail);
    }
}
