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
    _file: File,
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
            Ok(()) => Ok(Some(Self { _file: file })),
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
