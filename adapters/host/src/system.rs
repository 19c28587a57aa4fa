//! What the program needs of the running system. `systemd` provides it on a real host, tests provide their own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, OperationId};

use crate::digest::digest_of_file;
use crate::failure::Result;
use crate::layout::Layout;

/// The running system: its units, its boot, its clock.
pub trait System {
    /// The id of the present boot.
    ///
    /// # Errors
    /// When the system does not tell.
    fn boot(&self) -> Result<BootId>;

    /// Makes the system read its unit files anew.
    ///
    /// # Errors
    /// When it refuses.
    fn reload(&self) -> Result<()>;

    /// Starts a unit, or stops and starts it when it runs. A unit that gave up before gets a fresh chance.
    ///
    /// # Errors
    /// When it does not start.
    fn restart(&self, unit: &str) -> Result<()>;

    /// Makes a unit that runs read its configuration again, by the means of its own, and waits until it has.
    ///
    /// # Errors
    /// When it does not run, has no such means, or these fail.
    fn reload_unit(&self, unit: &str) -> Result<()>;

    /// Whether a unit has such means.
    ///
    /// # Errors
    /// When the system does not tell.
    fn can_reload(&self, unit: &str) -> Result<bool>;

    /// Stops a unit. One that does not run, or does not exist, is stopped.
    ///
    /// # Errors
    /// When it goes on.
    fn stop(&self, unit: &str) -> Result<()>;

    /// How a unit is, and how often the system has started it again by itself.
    ///
    /// # Errors
    /// When the system does not tell how it is.
    fn status(&self, unit: &str) -> Result<UnitStatus>;

    /// How a unit is.
    ///
    /// # Errors
    /// When the system does not tell.
    fn unit(&self, unit: &str) -> Result<UnitState> {
        self.status(unit).map(|status| status.state)
    }

    /// Where anything is mounted, in the order in which it was.
    ///
    /// # Errors
    /// When the system does not tell.
    fn mounts(&self) -> Result<Vec<PathBuf>>;

    /// Takes away what is mounted at `path`. What is in use goes when its last user does.
    ///
    /// # Errors
    /// When it refuses.
    fn unmount(&self, path: &Path) -> Result<()>;

    /// Orders that the host be shut down and started anew. It goes on for a moment after this has returned.
    ///
    /// # Errors
    /// When it refuses.
    fn reboot(&self) -> Result<()>;

    /// Starts the execution of an accepted operation in a process of its own that outlives this one. One that `persists` is
    /// started again by the system when it is killed.
    ///
    /// # Errors
    /// When it could not be started; nothing was done then.
    fn detach(&self, layout: &Layout, operation: OperationId, persists: bool) -> Result<()>;

    /// Sees to it that the execution of an operation is started after so long, as one that persists, whatever becomes of
    /// this process. A boot makes it void.
    ///
    /// # Errors
    /// When nothing will be started.
    fn alarm(&self, layout: &Layout, operation: OperationId, after: Duration) -> Result<()>;

    /// How long the present boot has lasted, the time asleep included.
    fn uptime(&self) -> Duration;

    /// A clock that never goes back, from any start.
    fn now(&self) -> Duration;

    /// Waits.
    fn wait(&self, span: Duration);
}

/// What the system tells of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitStatus {
    /// How it is.
    pub state: UnitState,
    /// How often the system has started it again by itself since it was last started by an order; `None` when the system
    /// does not count that.
    pub restarts: Option<u32>,
}

/// How a unit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitState {
    /// It runs, as this process.
    Running {
        /// Its main process.
        pid: u32,
    },
    /// It has done its work, and counts as active without any process.
    Exited,
    /// It does not run now; it may be starting or waiting to be restarted.
    Waiting,
    /// It does not run, and will not by itself.
    Stopped,
}

/// The digest of the binary that a process consists of, even if the file was replaced or removed since; `None` when
/// the process is gone.
pub(crate) fn running_binary(pid: u32) -> Option<Digest> {
    digest_of_file(format!("/proc/{pid}/exe").as_ref()).ok()
}
