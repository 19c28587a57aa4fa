//! What a host is ordered to do.

use seaworthy_model::component::{Disruption, Rollback};
use seaworthy_model::host::OperationId;

use super::{ComponentNumber, ReleaseNumber, ServiceNumber, VersionNumber};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation's name.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it is done.
    pub generation: u64,
    /// The component that changes.
    pub component: ComponentNumber,
    /// How.
    pub change: Change,
}

impl Work {
    /// The operation, as the journal has it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        let release = match &self.change {
            Change::Install(install) => Some((install.version, install.release)),
            Change::Remove => None,
        };
        let Self { id, generation, component, .. } = *self;
        Operation { id, generation, component, release }
    }
}

/// An operation, as the journal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it was ordered.
    pub generation: u64,
    /// The component that it changes.
    pub component: ComponentNumber,
    /// What it installs; `None` when it removes.
    pub release: Option<(VersionNumber, ReleaseNumber)>,
}

/// How a component changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Makes this release the current one.
    Install(Install),
    /// Removes the component.
    Remove,
}

/// A release to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Install {
    /// Its version.
    pub version: VersionNumber,
    /// Which it is.
    pub release: ReleaseNumber,
    /// Whether the previous one may be restored.
    pub rollback: Rollback,
    /// Whether its own test runs before the swap.
    pub has_preflight: bool,
    /// Whether its removal has a clean-up step.
    pub has_removal: bool,
    /// Whether the host is rebooted when it is installed or removed.
    pub reboots: bool,
    /// What its service is started from, if it has one.
    pub service: Option<ServiceNumber>,
    /// What a change to it does to workloads, if that is less than a restart.
    pub less_than_restart: Option<Disruption>,
    /// The time for its confirmation in seconds; 0 when it needs none.
    pub confirm: u16,
    /// How many seconds a healthy release is probed, at least.
    pub probe: u32,
    /// How many seconds it takes until the probe of an unhealthy release fails.
    pub probe_deadline: u32,
}
