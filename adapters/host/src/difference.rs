//! In what an installed release differs from its manifest, in words for people: the first file or link that is not as it was
//! put there. What differs in nothing is intact.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use seaworthy_model::digest::Digest;

use crate::digest::digest_of_file;
use crate::disk;
use crate::layout::Layout;
use crate::manifest::{Entry, EntryKind, HostLink, Manifest};

impl Manifest {
    /// The first file of the release that is not as it was put there, that does not belong there, or that others may
    /// change.
    pub(crate) fn changed_file(&self, layout: &Layout) -> Option<String> {
        let directory = layout.releases(&self.component).join(&self.directory);
        let name = directory.display().to_string();
        changed_directory(&directory, &name)
            .or_else(|| self.entries.iter().find_map(|entry| entry.difference(&directory)))
            .or_else(|| self.added_file(&directory, Path::new("")))
    }

    /// The first name below a directory of the release that does not belong there. Links are not followed.
    fn added_file(&self, directory: &Path, below: &Path) -> Option<String> {
        let unreadable = || format!("{} cannot be read", directory.join(below).display());
        let Ok(names) = fs::read_dir(directory.join(below)) else { return Some(unreadable()) };
        for found in names {
            let Ok(found) = found else { return Some(unreadable()) };
            let path = below.join(found.file_name());
            let known = path.to_str().and_then(|name| self.entry(name));
            let Some(entry) = known else { return Some(format!("{} does not belong there", path.display())) };
            if entry.kind == EntryKind::Directory
                && let Some(added) = self.added_file(directory, &path)
            {
                return Some(added);
            }
        }
        None
    }
}

impl Entry {
    /// In what it differs.
    fn difference(&self, directory: &Path) -> Option<String> {
        let (path, name) = (directory.join(&self.path), &self.path);
        match &self.kind {
            EntryKind::Directory => changed_directory(&path, name),
            EntryKind::Link { target } => changed_link(&path, name, target),
            EntryKind::File { mode, sha256 } => changed_file(&path, name, *mode, *sha256),
        }
    }
}

impl HostLink {
    /// Where it points, if that is not the release.
    pub(crate) fn difference(&self, layout: &Layout) -> Option<String> {
        changed_link(&layout.on_host(&self.path), &self.path, &self.target)
    }

    pub(crate) fn is_intact(&self, layout: &Layout) -> bool {
        self.difference(layout).is_none()
    }
}

fn changed_directory(path: &Path, name: &str) -> Option<String> {
    match fs::symlink_metadata(path) {
        Err(_) => Some(format!("{name} is gone")),
        Ok(found) if !found.is_dir() => Some(format!("{name} is no directory")),
        Ok(found) => (!disk::is_ours_alone(&found)).then(|| open_to_others(name)),
    }
}

fn changed_file(path: &Path, name: &str, mode: u32, sha256: Digest) -> Option<String> {
    let Ok(found) = fs::symlink_metadata(path) else { return Some(format!("{name} is gone")) };
    if !found.is_file() {
        return Some(format!("{name} is no file"));
    }
    if !disk::is_ours_alone(&found) {
        return Some(open_to_others(name));
    }
    let is = found.mode() & 0o7777;
    if is != mode {
        return Some(format!("{name} has mode {is:04o} instead of {mode:04o}"));
    }
    match digest_of_file(path) {
        Ok(digest) if digest == sha256 => None,
        Ok(digest) => Some(format!("{name} has sha256 {} instead of {}", digest.short(), sha256.short())),
        Err(cause) => Some(format!("{name} cannot be read: {}", cause.detail)),
    }
}

fn changed_link(path: &Path, name: &str, target: &str) -> Option<String> {
    match (fs::symlink_metadata(path), disk::target(path)) {
        (Err(_), _) => Some(format!("{name} is gone")),
        (Ok(_), None) => Some(format!("{name} is no link")),
        (Ok(_), Some(found)) => (found != Path::new(target))
            .then(|| format!("{name} points to {} instead of {target}", found.display())),
    }
}

fn open_to_others(name: &str) -> String {
    format!("others than root may write to {name}")
}
