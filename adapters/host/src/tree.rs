//! A directory that is filled with untrusted contents. It remembers everything that it made. It never writes through a
//! link, over an existing file, or outside itself, whatever names the contents have.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use seaworthy_model::cause::{Cause, CauseKind};

use crate::digest::Hasher;
use crate::disk::Disk;
use crate::failure::{self, Result};
use crate::layout::OWN;
use crate::manifest::{Entry, EntryKind};
use crate::validation;

/// The most things in one release.
const ENTRIES_MAX: usize = 100_000;
/// The most bytes in one release.
const BYTES_MAX: u64 = 8 << 30;

/// A directory that is being filled.
pub(crate) struct Tree<'a> {
    disk: Disk<'a>,
    root: PathBuf,
    entries: BTreeMap<String, EntryKind>,
    bytes: u64,
    /// The bytes that may be written before the disk is too full.
    room: u64,
    /// The kind of the cause when contents cannot be made.
    blame: CauseKind,
}

impl<'a> Tree<'a> {
    /// Makes the empty directory `root`, which must not exist.
    pub(crate) fn make(disk: Disk<'a>, root: PathBuf, room: u64) -> Result<Self> {
        disk.make_dir(&root, 0o755)?;
        Ok(Self { disk, root, entries: BTreeMap::new(), bytes: 0, room, blame: CauseKind::ArchiveRefused })
    }

    /// From now on contents that cannot be made are a cause of the kind `blame`.
    pub(crate) fn blame(&mut self, blame: CauseKind) {
        self.blame = blame;
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes a directory, and those above it. One that is there already is fine.
    pub(crate) fn directory(&mut self, path: &str) -> Result<()> {
        self.judge(path)?;
        self.make_directory(path)
    }

    fn make_directory(&mut self, path: &str) -> Result<()> {
        match self.entries.get(path) {
            Some(EntryKind::Directory) => return Ok(()),
            Some(EntryKind::File { .. } | EntryKind::Link { .. }) => {
                return Err(self.refuse(format!("{path:?} is a directory and something else as well")));
            }
            None => {}
        }
        self.prepare(path)?;
        self.disk.make_dir(&self.root.join(path), 0o755)?;
        self.entries.insert(path.to_owned(), EntryKind::Directory);
        Ok(())
    }

    /// Makes a file out of all that `contents` gives.
    pub(crate) fn file(&mut self, path: &str, mode: u32, contents: impl Read) -> Result<()> {
        self.judge(path)?;
        self.make_file(path, mode, contents)
    }

    /// Makes a file in the program's own directory inside the release.
    pub(crate) fn own_file(&mut self, name: &str, contents: &[u8]) -> Result<()> {
        self.make_file(&format!("{}/{name}", OWN), 0o644, contents)
    }

    fn make_file(&mut self, path: &str, mode: u32, mut contents: impl Read) -> Result<()> {
        self.vacant(path)?;
        self.prepare(path)?;
        let place = self.root.join(path);
        let mut file = self.disk.create(&place, mode)?;
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = match contents.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) => return Err(self.refuse(format!("{path:?} cannot be read: {error}"))),
            };
            self.charge(length as u64)?;
            hasher.update(&buffer[..length]);
            file.write_all(&buffer[..length]).map_err(|error| failure::on("write", &place, &error))?;
        }
        self.disk.step(&format!("write {}", place.display()));
        let sha256 = hasher.finish();
        self.entries.insert(path.to_owned(), EntryKind::File { mode, sha256 });
        Ok(())
    }

    /// Makes a file in place of another one, if there is one.
    pub(crate) fn replace_file(&mut self, path: &str, mode: u32, contents: &[u8]) -> Result<()> {
        self.judge(path)?;
        if matches!(self.entries.get(path), Some(EntryKind::File { .. })) {
            // Made by this tree, so nothing above it is a link.
            self.disk.remove(&self.root.join(path))?;
            self.entries.remove(path);
        }
        self.file(path, mode, contents)
    }

    /// Makes a link. It may only lead to places inside.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> Result<()> {
        self.judge(path)?;
        self.vacant(path)?;
        if !stays_inside(path, target) {
            return Err(self.refuse(format!("link {path:?} leads outside, to {target:?}")));
        }
        self.prepare(path)?;
        self.disk.create_link(&self.root.join(path), Path::new(target))?;
        self.entries.insert(path.to_owned(), EntryKind::Link { target: target.to_owned() });
        Ok(())
    }

    /// Makes everything durable, the innermost first, and gives what was made, sorted by path.
    pub(crate) fn settle(self) -> Result<Vec<Entry>> {
        for (path, kind) in &self.entries {
            if matches!(kind, EntryKind::File { .. }) {
                let place = self.root.join(path);
                let file = File::open(&place).map_err(|error| failure::on("open", &place, &error))?;
                self.disk.sync(&file, &place)?;
            }
        }
        // In reverse order what is inside a directory precedes it.
        for (path, kind) in self.entries.iter().rev() {
            if *kind == EntryKind::Directory {
                self.disk.sync_dir(&self.root.join(path))?;
            }
        }
        self.disk.sync_dir(&self.root)?;
        Ok(self.entries.into_iter().map(|(path, kind)| Entry { path, kind }).collect())
    }

    fn vacant(&self, path: &str) -> Result<()> {
        if self.entries.contains_key(path) {
            return Err(self.refuse(format!("{path:?} is there twice")));
        }
        Ok(())
    }

    fn judge(&self, path: &str) -> Result<()> {
        validation::check_inside("path", path).map_err(|cause| self.refuse(cause.detail))
    }

    /// Makes the directories above something new.
    fn prepare(&mut self, path: &str) -> Result<()> {
        if self.entries.len() >= ENTRIES_MAX {
            return Err(self.refuse(format!("more than {ENTRIES_MAX} files")));
        }
        match path.rsplit_once('/') {
            Some((above, _)) => self.make_directory(above),
            None => Ok(()),
        }
    }

    fn charge(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > BYTES_MAX {
            return Err(self.refuse(format!("more than {BYTES_MAX} bytes")));
        }
        if self.bytes > self.room {
            let detail = format!("the release is larger than the {} bytes that are free for it", self.room);
            return Err(Cause::new(CauseKind::NoSpace, detail));
        }
        Ok(())
    }

    fn refuse(&self, detail: String) -> Cause {
        Cause::new(self.blame, detail)
    }
}

/// Whether a link at `path` to `target` leads to a place inside. `..` is accepted only at the start: after a name, which
/// may be another link, its meaning is unknown. Since that holds for all links, following several of them stays inside as
/// well.
fn stays_inside(path: &str, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.len() > 1024 || target.contains('\0') {
        return false;
    }
    let parts: Vec<&str> = target.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let ups = parts.iter().take_while(|part| **part == "..").count();
    let depth = path.split('/').count() - 1;
    ups <= depth && !parts[ups..].contains(&"..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Unobserved;

    #[test]
    fn a_release_has_an_end_in_bytes_whatever_is_free() {
        for (room, expected) in [(u64::MAX, CauseKind::ArchiveRefused), (BYTES_MAX - 1, CauseKind::NoSpace)] {
            let name = format!("seaworthy-tree-{}-{expected:?}", std::process::id());
            let root = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&root);
            let mut tree = Tree::make(Disk::new(&Unobserved), root.clone(), room).unwrap();
            // As if so much had been written before.
            tree.bytes = BYTES_MAX - 10;
            tree.file("fits", 0o644, &[b'x'; 9][..]).unwrap();
            // The last byte that is allowed is one more than the second disk has.
            let last = tree.file("last", 0o644, &b"x"[..]);
            let cause = last.and_then(|()| tree.file("more", 0o644, std::io::repeat(b'x'))).unwrap_err();
            assert_eq!(cause.kind, expected, "{}", cause.detail);
            let written = std::fs::metadata(root.join("more")).map_or(0, |found| found.len());
            assert_eq!(written, 0, "what is too much is not written");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn links_stay_inside() {
        for (path, target) in
            [("a", "b"), ("a", "b/c"), ("d/a", "../b"), ("d/e/a", "../../b/c"), ("a", "./b"), ("d/a", "..")]
        {
            assert!(stays_inside(path, target), "{path} -> {target}");
        }
        for (path, target) in [
            ("a", "/etc"),
            ("a", ".."),
            ("d/a", "../.."),
            ("a", "b/.."),
            ("d/e/a", "../x/../../.."),
            ("a", ""),
            ("a", "./../etc"),
        ] {
            assert!(!stays_inside(path, target), "{path} -> {target}");
        }
    }
}
