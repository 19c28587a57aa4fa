//! In what an installed release differs from its manifest, in words: the first file, link or unit that is not as it was
//! put there. People read it in the conditions of the Machine; nothing is decided by it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use seaworthy_model::digest::Digest;

use crate::digest::digest_of_file;
use crate::disk;
use crate::layout::Layout;
use crate::manifest::{Entry, EntryKind, HostLink, Manifest};

impl Manifest {
    /// The first file of the release that is not as it was put there.
    pub(crate) fn changed_file(&self, layout: &Layout) -> Option<String> {
        let directory = layout.releases(&self.component).join(&self.directory);
        match fs::symlink_metadata(&directory) {
            Ok(found) if !found.is_dir() => return Some(format!("{} is no directory", directory.display())),
            Ok(found) if !disk::is_ours_alone(&found) => {
                return Some(format!("others than root may write to {}", directory.display()));
            }
            Ok(_) => {}
            Err(_) => return Some(format!("{} is gone", directory.display())),
        }
        let changed = self.entries.iter().find(|entry| !entry.is_intact(&directory));
        changed
            .map(|entry| entry.difference(&directory))
            .or_else(|| self.added_file(&directory, Path::new("")))
    }

    /// The first name below a directory of the release that does not belong there.
    fn added_file(&self, directory: &Path, below: &Path) -> Option<String> {
        for found in fs::read_dir(directory.join(below)).ok()? {
            let found = found.ok()?;
            let path = below.join(found.file_name());
            let name = path.to_string_lossy();
            let Ok(at) = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(&*name)) else {
                return Some(format!("{name} does not belong there"));
            };
            if self.entries[at].kind == EntryKind::Directory
                && let Some(added) = self.added_file(directory, &path)
            {
                return Some(added);
            }
        }
        None
    }

    /// The first link on the host that does not point to the release.
    pub(crate) fn changed_link(&self, layout: &Layout) -> Option<String> {
        self.links.iter().find(|link| !link.is_intact(layout)).map(|link| link.difference(layout))
    }
}

impl Entry {
    /// In what it differs, given that it does.
    fn difference(&self, directory: &Path) -> String {
        let (path, name) = (directory.join(&self.path), &self.path);
        let Ok(found) = fs::symlink_metadata(&path) else { return format!("{name} is gone") };
        match &self.kind {
            EntryKind::Directory if !found.is_dir() => format!("{name} is no directory"),
            EntryKind::Link { target } => points(name, &path, target),
            EntryKind::File { .. } if !found.is_file() => format!("{name} is no file"),
            EntryKind::Directory | EntryKind::File { .. } if !disk::is_ours_alone(&found) => {
                format!("others than root may write to {name}")
            }
            EntryKind::File { mode, .. } if found.mode() & 0o7777 != *mode => {
                format!("{name} has mode {:04o} instead of {mode:04o}", found.mode() & 0o7777)
            }
            EntryKind::File { sha256, .. } => {
                let digest = digest_of_file(&path).as_ref().map_or_else(|_| "none".to_owned(), Digest::short);
                format!("{name} has sha256 {digest} instead of {}", sha256.short())
            }
            EntryKind::Directory => format!("{name} has changed"),
        }
    }
}

impl HostLink {
    fn difference(&self, layout: &Layout) -> String {
        points(&self.path, &layout.on_host(&self.path), &self.target)
    }
}

/// Where a link points that should point to `target`.
fn points(name: &str, path: &Path, target: &str) -> String {
    match (fs::symlink_metadata(path), disk::target(path)) {
        (Err(_), _) => format!("{name} is gone"),
        (Ok(_), None) => format!("{name} is no link"),
        (Ok(_), Some(found)) => format!("{name} points to {} instead of {target}", found.display()),
    }
}
