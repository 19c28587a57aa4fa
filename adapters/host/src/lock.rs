//! Locks that the kernel frees when their holder dies: no time-outs, no clocks, nothing to clean up.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use seaworthy_model::cause::{Cause, CauseKind};

use crate::failure::{self, Result};
use crate::system::System;

/// How long an order waits for another that is being accepted.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How often a lock is tried while waiting for it.
const RETRY: Duration = Duration::from_millis(20);

/// A lock, held as long as this lives.
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, unless another holds it.
    pub(crate) fn attempt(path: &Path) -> Result<Option<Self>> {
        let open = || OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let file = open()
            .or_else(|error| {
                // Damage: nobody holds a directory.
                let is_directory = error.kind() == ErrorKind::IsADirectory;
                if is_directory { fs::remove_dir_all(path).and_then(|()| open()) } else { Err(error) }
            })
            .map_err(|error| failure::on("open", path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failure::on("lock", path, &error.into())),
        }
    }

    /// Takes the lock, waiting for it at most [`PATIENCE`].
    pub(crate) fn take(path: &Path, system: &dyn System) -> Result<Self> {
        let deadline = system.now() + PATIENCE;
        loop {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            if system.now() >= deadline {
                let detail =
                    format!("{} was held for {} s by another process", path.display(), PATIENCE.as_secs());
                return Err(Cause::new(CauseKind::HostBusy, detail));
            }
            system.wait(RETRY);
        }
    }
}

impl Drop for Lock {
    /// Frees the lock at once. To close the file is not enough: a process that was started meanwhile has a copy of it until
    /// its exec closes that, and the lock would last as long as the copy.
    fn drop(&mut self) {
        // If that fails, the kernel frees the lock when the last copy is closed.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_free_at_once_whoever_has_a_copy_of_its_file() {
        let path = std::env::temp_dir().join(format!("seaworthy-lock-{}", std::process::id()));
        let lock = Lock::attempt(&path).unwrap().unwrap();
        // A process that is forked now has such a copy until its exec closes that.
        let copy = lock.file.try_clone().unwrap();
        assert!(Lock::attempt(&path).unwrap().is_none(), "it is not held");
        drop(lock);
        assert!(Lock::attempt(&path).unwrap().is_some(), "the copy holds it");
        drop(copy);
        fs::remove_file(&path).unwrap();
    }
}
