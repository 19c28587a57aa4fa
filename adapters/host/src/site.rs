//! The host that this program works on: where everything is, the running system, and the locks. It decides nothing.

use std::path::Path;

use crate::disk::{self, Disk};
use crate::failure::Result;
use crate::layout::Layout;
use crate::lock::Lock;
use crate::steps::Steps;
use crate::system::System;

/// The host that this program works on.
pub struct Site<'a> {
    /// Where everything is.
    pub layout: Layout,
    /// The running system.
    pub system: &'a dyn System,
    /// Is told of each step.
    pub steps: &'a dyn Steps,
    /// This program, for what runs in a process of its own.
    pub program: &'a Path,
}

impl Site<'_> {
    pub(crate) fn disk(&self) -> Disk<'_> {
        Disk::new(self.steps)
    }

    /// Makes the program's own directories. Refuses to work in one that somebody else may write to.
    pub(crate) fn make_directories(&self) -> Result<()> {
        let (disk, layout) = (self.disk(), &self.layout);
        disk.make_dir(layout.root(), 0o755)?;
        disk::check_access(layout.root())?;
        for open in ["releases", "manifests", "current", "previous"] {
            disk.make_own_dir(&layout.root().join(open), 0o755)?;
        }
        for closed in [layout.state(), layout.operations(), layout.staging(), layout.artefacts()] {
            disk.make_own_dir(&closed, 0o700)?;
        }
        Ok(())
    }

    /// Makes the directories that are missing, and lets one order in, or one person: the next waits until the lock is dropped.
    pub(crate) fn admit(&self) -> Result<Lock> {
        self.make_directories()?;
        self.lock_admission()
    }

    /// Takes the lock under which orders are judged one after the other, waiting for it for a while.
    fn lock_admission(&self) -> Result<Lock> {
        Lock::take(&self.layout.admission_lock(), self.system)
    }

    /// Takes the lock of the process that executes an operation, waiting for it for a while.
    pub(crate) fn lock_execution(&self) -> Result<Lock> {
        Lock::take(&self.layout.execution_lock(), self.system)
    }

    /// Takes the lock of the process that executes an operation; `None` while another process has it.
    pub(crate) fn try_lock_execution(&self) -> Result<Option<Lock>> {
        Lock::attempt(&self.layout.execution_lock())
    }

    /// Whether a process executes an operation.
    pub(crate) fn is_executing(&self) -> Result<bool> {
        Ok(self.try_lock_execution()?.is_none())
    }
}
