//! Changes to the disk, each durable when its function returns, and each reported to [`Steps`].
//!
//! A rename or a new name is durable once its directory was synced; the contents of a file once the file was. What
//! must be whole or absent is written under a temporary name first.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use seaworthy_model::cause::{Cause, CauseKind};

use crate::failure::{self, Result};
use crate::steps::Steps;

/// So much of the disk stays free, in bytes and in inodes: a full disk is worse for the host than an old release.
const BYTES_KEPT: u64 = 64 << 20;
const INODES_KEPT: u64 = 1024;

/// The only way in which this crate changes the disk.
#[derive(Clone, Copy)]
pub(crate) struct Disk<'a> {
    steps: &'a dyn Steps,
}

impl<'a> Disk<'a> {
    pub(crate) const fn new(steps: &'a dyn Steps) -> Self {
        Self { steps }
    }

    /// Reports a step that is not a change of the disk.
    pub(crate) fn step(self, what: &str) {
        self.steps.reached(what);
    }

    fn done(self, what: &str, path: &Path) {
        self.steps.reached(&format!("{what} {}", path.display()));
    }

    /// Makes `path` and the directories above it that are missing.
    pub(crate) fn make_dir(self, path: &Path, mode: u32) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_dir(parent, mode)?;
        }
        match DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err(failure::on("make directory", path, &error)),
            Ok(()) => {}
        }
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(|error| failure::on("set the mode of", path, &error))?;
        self.done("make directory", path);
        self.sync_parent(path)
    }

    /// Makes one of the program's own directories. Whatever else is in its place is damage, and goes.
    pub(crate) fn make_own_dir(self, path: &Path, mode: u32) -> Result<()> {
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
            self.remove(path)?;
        }
        self.make_dir(path, mode)
    }

    /// Makes one of the program's own links. A directory in its place is damage, and goes.
    pub(crate) fn point_own(self, path: &Path, target: &Path) -> Result<()> {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            self.remove_tree(path)?;
        }
        self.point(path, target)
    }

    /// Creates a file that must not exist yet. Its contents and name are not durable before [`Self::sync`] and
    /// [`Self::sync_dir`].
    pub(crate) fn create(self, path: &Path, mode: u32) -> Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
            .map_err(|error| failure::on("create", path, &error))?;
        // The mode given to open is subject to the umask, this one is not.
        file.set_permissions(Permissions::from_mode(mode))
            .map_err(|error| failure::on("set the mode of", path, &error))?;
        self.done("create", path);
        Ok(file)
    }

    /// Makes the contents of `file` durable.
    pub(crate) fn sync(self, file: &File, path: &Path) -> Result<()> {
        file.sync_all().map_err(|error| failure::on("sync", path, &error))?;
        self.done("sync", path);
        Ok(())
    }

    /// Makes the names in `directory` durable.
    pub(crate) fn sync_dir(self, directory: &Path) -> Result<()> {
        File::open(directory)
            .and_then(|opened| opened.sync_all())
            .map_err(|error| failure::on("sync directory", directory, &error))?;
        self.done("sync directory", directory);
        Ok(())
    }

    fn sync_parent(self, path: &Path) -> Result<()> {
        path.parent().map_or(Ok(()), |parent| self.sync_dir(parent))
    }

    /// Gives `path` new contents: all of them, or the old ones.
    pub(crate) fn replace(self, path: &Path, contents: &[u8], mode: u32) -> Result<()> {
        let temporary = temporary(path);
        self.remove_name(&temporary)?;
        let mut file = self.create(&temporary, mode)?;
        file.write_all(contents).map_err(|error| failure::on("write", &temporary, &error))?;
        self.done("write", &temporary);
        self.sync(&file, &temporary)?;
        self.rename(&temporary, path)
    }

    /// Adds one line to a file that was opened for appending.
    pub(crate) fn append(self, file: &mut File, path: &Path, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        file.write_all(line.as_bytes()).map_err(|error| failure::on("append to", path, &error))?;
        self.done("append to", path);
        file.sync_data().map_err(|error| failure::on("sync", path, &error))?;
        self.done("sync", path);
        self.steps.recorded(line.trim_end());
        Ok(())
    }

    /// Creates a link where nothing is yet. Not durable before [`Self::sync_dir`].
    pub(crate) fn create_link(self, path: &Path, target: &Path) -> Result<()> {
        symlink(target, path).map_err(|error| failure::on("create link", path, &error))?;
        self.done("create link", path);
        Ok(())
    }

    /// Makes `path` a link to `target`, whatever file or link was there: at every instant there is the old or the new.
    pub(crate) fn point(self, path: &Path, target: &Path) -> Result<()> {
        let temporary = temporary(path);
        self.remove_name(&temporary)?;
        self.create_link(&temporary, target)?;
        self.rename(&temporary, path)
    }

    /// Renames, and makes that durable on both sides.
    pub(crate) fn rename(self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(|error| failure::on("rename to", to, &error))?;
        self.done("rename to", to);
        self.sync_parent(to)?;
        if from.parent() == to.parent() { Ok(()) } else { self.sync_parent(from) }
    }

    /// Removes a file or link, if it is there.
    pub(crate) fn remove(self, path: &Path) -> Result<()> {
        if self.remove_name(path)? { self.sync_parent(path) } else { Ok(()) }
    }

    /// Removes what a crash may have left behind next to `path`.
    pub(crate) fn remove_temporary(self, path: &Path) -> Result<()> {
        if path.parent().is_some_and(Path::is_dir) { self.remove(&temporary(path)) } else { Ok(()) }
    }

    fn remove_name(self, path: &Path) -> Result<bool> {
        match fs::remove_file(path) {
            Ok(()) => {
                self.done("remove", path);
                Ok(true)
            }
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(failure::on("remove", path, &error)),
        }
    }

    /// Removes a directory with all that is in it, if it is there. Never follows a link.
    pub(crate) fn remove_tree(self, path: &Path) -> Result<()> {
        match fs::remove_dir_all(path) {
            Ok(()) => {
                self.done("remove directory", path);
                self.sync_parent(path)
            }
            Err(error) if is_absent(&error) => Ok(()),
            // A file or link where a directory should be.
            Err(error) if error.kind() == ErrorKind::NotADirectory => self.remove(path),
            Err(error) => Err(failure::on("remove directory", path, &error)),
        }
    }
}

/// How many bytes may be written below `directory`.
pub(crate) fn room(directory: &Path) -> Result<u64> {
    let free = statvfs(directory).map_err(|error| failure::on("look at", directory, &error.into()))?;
    let bytes = free.f_bavail.saturating_mul(free.f_frsize);
    // File systems that make inodes on demand report none at all.
    if free.f_files > 0 && free.f_favail < INODES_KEPT {
        let detail = format!("only {} inodes are free at {}", free.f_favail, directory.display());
        return Err(Cause::new(CauseKind::NoSpace, detail));
    }
    bytes.checked_sub(BYTES_KEPT).ok_or_else(|| {
        let detail = format!("only {bytes} bytes are free at {}", directory.display());
        Cause::new(CauseKind::NoSpace, detail)
    })
}

/// Refuses a directory that users other than root may write to: they could replace every name in it.
pub(crate) fn check_access(directory: &Path) -> Result<()> {
    let found = fs::metadata(directory).map_err(|error| failure::on("look at", directory, &error))?;
    if !is_ours_alone(&found) {
        return Err(failure::host(format!("{} can be written to by others than root", directory.display())));
    }
    Ok(())
}

/// Whether a file or directory belongs to root, and nobody else may write to it.
pub(crate) fn is_ours_alone(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}

/// Whether an error means that there is nothing at that path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

/// The names in a directory, sorted; none when it does not exist, or something else is in its place.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) || error.kind() == ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(failure::on("list", directory, &error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| failure::on("list", directory, &error))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The target of a link; `None` when there is no link at `path`.
pub(crate) fn target(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

/// Reads a file of at most `limit` bytes; `None` when it does not exist.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    use std::io::Read;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failure::on("open", path, &error)),
    };
    let mut contents = Vec::new();
    file.take(limit + 1).read_to_end(&mut contents).map_err(|error| failure::on("read", path, &error))?;
    if contents.len() as u64 > limit {
        return Err(failure::host(format!("{} is longer than {limit} bytes", path.display())));
    }
    Ok(Some(contents))
}

/// The name under which a new `path` is prepared: in the same directory, so that a rename suffices.
fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".seaworthy-new");
    path.with_file_name(name)
}
