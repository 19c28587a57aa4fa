//! Work on a host: what may be ordered, and what a host reports.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::certificate::HostIdentity;
use crate::component::{Architecture, CgroupVersion, Recipe, ReleaseId};
pub use crate::connection::Connection;
use crate::id::{ComponentId, Uid, VersionId};
use crate::lease::Epoch;
use crate::machine::{HostId, Installed};

/// The name of an operation. Unique for ever: an epoch belongs to one process, which counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId {
    /// The epoch of the operator that ordered it.
    pub epoch: Epoch,
    /// Its number within that epoch.
    pub sequence: u64,
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}-s{}", self.epoch.0, self.sequence)
    }
}

impl OperationId {
    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (epoch, sequence) = text.strip_prefix('e')?.split_once("-s")?;
        Some(Self { epoch: Epoch(epoch.parse().ok()?), sequence: sequence.parse().ok()? })
    }
}

/// One change of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name. A host that has ended it answers from its journal and does nothing.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it is ordered. The host reports it back: a failure counts until
    /// people change the spec.
    pub generation: u64,
    /// The component that changes.
    pub component: ComponentId,
    /// How.
    pub change: Change,
}

/// How a component changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Make this release the current one, whole and running. The same for a first install, an upgrade, a way back
    /// and a repair; what is already right is left alone.
    Install(Arc<Release>),
    /// Stop it, and remove all of it.
    Remove,
}

/// A release to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its id: [`Recipe::release_id`] of `recipe`.
    pub id: ReleaseId,
    /// Its version.
    pub version: VersionId,
    /// How to make it.
    pub recipe: Recipe,
}

/// The fence of an order to a host.
///
/// The host refuses an order of another owner, and one that is older than what it has seen: (epoch, sequence) must grow. Reads
/// are answered again, and so is a repeated [`Fetch`], and an [`Apply`] or [`Confirm`] of the same operation. [`Facts`] is answered
/// even with a lower epoch: so an operator whose store was restored from a backup learns that the host has seen newer ones.
///
/// [`Apply`]: crate::host_order::HostCommand::Apply
/// [`Confirm`]: crate::host_order::HostCommand::Confirm
/// [`Facts`]: crate::host_order::HostCommand::Facts
/// [`Fetch`]: crate::host_order::HostCommand::Fetch
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFence {
    /// The Machine in whose name we act.
    pub machine: Uid,
    /// Our epoch.
    pub epoch: Epoch,
    /// The number of this order within the epoch.
    pub sequence: u64,
}

/// What a host reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its machine-id.
    pub host: HostId,
    /// The host key that was seen in this session; `None` when the driver has no such thing.
    pub host_key: Option<Arc<str>>,
    /// Its processor architecture.
    pub architecture: Architecture,
    /// Which version of control groups it uses; `None` when it does not report one.
    pub cgroup_version: Option<CgroupVersion>,
    /// The id of its present boot.
    pub boot: BootId,
    /// Its owner.
    pub owner: Owner,
    /// The highest epoch that it has seen from its owner's cluster.
    pub epoch: Epoch,
    /// What is installed, sorted by component.
    pub components: Vec<InstalledComponent>,
    /// The first difference between what is installed and what was put there, in the host's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Arc<str>>,
    /// The operation that was asked for or, for plain facts, the latest; `None` when the host has never heard of it.
    pub operation: Option<OperationReport>,
    /// The node identity; `None` when the host was never asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Box<HostIdentity>>,
}

/// The id of one boot of a host; another one proves a reboot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootId(#[serde(with = "crate::digest::hex128")] pub u128);

/// The owner of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Owner {
    /// None.
    Nobody,
    /// A Machine of this cluster.
    Machine(Uid),
    /// A Machine of another cluster.
    Foreign {
        /// That cluster's id.
        cluster: Box<str>,
        /// That Machine.
        machine: Uid,
    },
}

/// A component that is installed on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledComponent {
    /// Which component.
    pub component: ComponentId,
    /// Its version.
    pub version: VersionId,
    /// Its release.
    pub release: ReleaseId,
    /// In what it differs from that release.
    pub drift: Drift,
    /// How often the system has started its service again by itself since the service was last started by an order; 255 if it
    /// is more. `None` when the host does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u8>,
}

/// It is kept for each component of each host that was read.
const _: () = assert!(size_of::<InstalledComponent>() == 44);

/// In what an installed component differs from its release. Empty means that every digest is right, links and unit
/// are in place, and the running binary is the release's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Drift(pub u8);

impl Drift {
    /// Nothing differs.
    pub const NONE: Self = Self(0);
    /// A file of the release was changed or is gone.
    pub const FILES: Self = Self(1);
    /// A link on the host was changed or is gone.
    pub const LINKS: Self = Self(2);
    /// The unit does not run.
    pub const NOT_RUNNING: Self = Self(4);
    /// The running binary is not the release's own.
    pub const WRONG_BINARY: Self = Self(8);

    /// Whether nothing differs.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `other` is part of it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationReport {
    /// Which.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it was ordered.
    pub generation: u64,
    /// The component that it changes.
    pub component: ComponentId,
    /// The release that it installs; `None` when it removes.
    pub release: Option<Installed>,
    /// What became of it.
    pub state: OperationState,
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationState {
    /// It is under way, or will be resumed by the host itself.
    Running,
    /// It was interrupted (the host went down), nothing of it is left half done, and nothing goes on with it.
    Interrupted,
    /// It is done.
    Succeeded,
    /// It failed; what was there before is there again, unless the cause says otherwise.
    Failed(Cause),
    /// The new release is in place and healthy. The host takes it back by itself unless that is confirmed in time.
    Unconfirmed,
}

impl OperationState {
    /// Whether it has not ended.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self {
            Self::Running | Self::Unconfirmed => true,
            Self::Interrupted | Self::Succeeded | Self::Failed(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn operation_ids_read_what_they_write() {
        let id = OperationId { epoch: Epoch(7), sequence: 12 };
        assert_eq!(id.to_string(), "e7-s12");
        assert_eq!(OperationId::parse("e7-s12"), Some(id));
        assert_eq!(OperationId::parse("7-12"), None);
    }
}
