//! A machine: what people want of it, and what is recorded about it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attributes::NodeAttributes;
use crate::cause::CauseKind;
use crate::component::{Architecture, CgroupVersion, Parameters, ReleaseId};
use crate::connection::Connection;
pub use crate::connection::{Address, HostKeyPolicy};
use crate::detail::Detail;
pub use crate::id::HostId;
use crate::id::{ComponentId, VersionId};
use crate::meta::{Meta, Parsed};
use crate::time::Timestamp;

/// A `Machine` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineObject {
    /// Its metadata.
    pub meta: Meta,
    /// What people want.
    pub spec: Parsed<MachineSpec>,
    /// What we recorded.
    pub status: MachineStatus,
    /// The annotation `seaworthy.dev/release-host` names its uid: a person has recorded that the host is gone for good, and
    /// that nothing of ours there needs to be removed.
    pub is_released: bool,
}

/// What people want of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSpec {
    /// Where it is and how to log in. Every order to the host shares it.
    pub connection: Arc<Connection>,
    /// Pinned components, in the order in which they were written. A pin wins over every default.
    pub pins: Vec<ComponentSetting>,
    /// Parameters of the machine, for the templates of all its components.
    pub parameters: Parameters,
    /// Labels and taints of its Node; `None` when it has none to keep there.
    pub node: Option<Box<NodeAttributes>>,
    /// Nothing new is started while it is set.
    pub paused: bool,
}

/// A component and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSetting {
    /// Which component.
    pub component: ComponentId,
    /// What of it.
    pub want: Want,
}

/// What is wanted of a component on a machine. That a component is not mentioned wants nothing: it stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// This version, with these parameters.
    Present {
        /// The version.
        version: VersionId,
        /// Parameters for its templates.
        parameters: Parameters,
    },
    /// Not on the machine. The only word that removes software.
    Absent,
}

/// What is recorded about a machine. It must suffice for a new operator to go on where the last one stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineStatus {
    /// The generation of the spec up to which everything was done or judged. While `metadata.generation` is higher,
    /// an operation may be under way.
    pub observed_generation: u64,
    /// Who the host is. Set once, at import, and compared at every later contact.
    pub identity: Option<Identity>,
    /// What is installed and what failed, sorted by component. Machines of one version share it.
    pub components: Arc<[ComponentStatus]>,
    /// The conditions.
    pub conditions: Conditions,
}

impl MachineStatus {
    /// The record of `component`.
    #[must_use]
    pub fn component(&self, component: ComponentId) -> Option<&ComponentStatus> {
        self.components.iter().find(|status| status.component == component)
    }

    /// The condition of `kind`.
    #[must_use]
    pub fn condition(&self, kind: ConditionKind) -> Option<&Condition> {
        self.conditions.get(kind)
    }
}

/// Who a host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its machine-id.
    pub host: HostId,
    /// The host key that was trusted on first use; `None` when keys are pinned in the spec.
    pub host_key: Option<Arc<str>>,
    /// Its processor architecture.
    pub architecture: Architecture,
    /// Which version of control groups it used when it was last recorded; `None` when no host ever told.
    pub cgroup_version: Option<CgroupVersion>,
}

/// What is recorded about one component of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentStatus {
    /// Which component.
    pub component: ComponentId,
    /// What is installed, proven by digests.
    pub installed: Option<Installed>,
    /// The release that failed here. It counts only while `observed_generation` is current: any change of the
    /// Machine's spec allows another try.
    pub failed: Option<FailedRelease>,
}

/// An installed release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// Its version.
    pub version: VersionId,
    /// Its id.
    pub release: ReleaseId,
}

/// A release that failed on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRelease {
    /// Its version.
    pub version: VersionId,
    /// Its id.
    pub release: ReleaseId,
    /// Why.
    pub cause: CauseKind,
}

/// The kind of a condition of a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConditionKind {
    /// Everything wanted is installed, runs, and the host can be reached.
    Ready,
    /// The host answers, is who it was, and lets us work.
    Reachable,
    /// What is on the host is what is wanted there now.
    InSync,
}

impl ConditionKind {
    /// Every kind, in the order in which they are written.
    pub const ALL: [Self; 3] = [Self::Ready, Self::Reachable, Self::InSync];
}

/// A condition of a Machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Which.
    pub kind: ConditionKind,
    /// Whether it holds.
    pub truth: Truth,
    /// Why.
    pub reason: Reason,
    /// What there is to say besides the reason.
    pub detail: Option<Arc<Detail>>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the spec that this speaks of.
    pub observed_generation: u64,
}

/// The conditions of a Machine, at most one of each kind, in the order of [`ConditionKind::ALL`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions([Option<Condition>; 3]);

impl Conditions {
    /// The condition of `kind`.
    #[must_use]
    pub fn get(&self, kind: ConditionKind) -> Option<&Condition> {
        self.0[kind as usize].as_ref()
    }

    /// Those that there are.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> + Clone {
        self.0.iter().flatten()
    }
}

impl FromIterator<Condition> for Conditions {
    /// Of several conditions of one kind the last one counts.
    fn from_iter<I: IntoIterator<Item = Condition>>(conditions: I) -> Self {
        let mut all = Self::default();
        for condition in conditions {
            let kind = condition.kind as usize;
            all.0[kind] = Some(condition);
        }
        all
    }
}

/// Three-valued: silence is never health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

/// Why a condition is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// All is as wanted.
    AsDesired,
    /// The host answered.
    Connected,
    /// Not looked at yet.
    NotYetKnown,
    /// The host was found different from what is recorded; it is to be repaired.
    Drifted,
    /// What was repaired was changed again, several times in a row: somebody else is at work on the host.
    Contested,
    /// The host was lost in the middle of an operation: what came of that is not known.
    OperationLost,
    /// The host has another machine-id than the one recorded.
    IdentityMismatch,
    /// Another Machine manages this host.
    DuplicateHost,
    /// Paused by a person.
    Paused,
    /// The spec is not acceptable.
    InvalidSpec,
    /// A version is wanted for which there is no usable `MachineComponent`.
    UnknownVersion,
    /// The wanted version has no artefact for the host's architecture.
    NoArtefact,
    /// The wanted version needs a parameter or a fact that the machine does not have.
    MissingParameter,
    /// A component depends on another one that is not there as it is wanted, or is what another one depends on.
    Dependency,
    /// Components depend on each other in a circle.
    DependencyCycle,
    /// A version that is wanted must not be with another one, or with the API servers that there are.
    VersionSkew,
    /// A version that is wanted has a rule about the API servers, whose version is not known.
    ApiServerUnknown,
    /// The store was set back: hosts have seen a newer operator than it knows of.
    StoreRegressed,
    /// The software is being removed.
    Terminating,
    /// The node's certificate was asked for and has not come.
    AwaitingCertificate,
    /// The node's certificate was denied.
    CertificateDenied,
    /// The host has the identity of another node, or one of another cluster.
    ForeignIdentity,
    /// Pods are leaving its Node before it is worked on.
    Draining,
    /// A pod on its Node would be lost if that was drained, and nobody has allowed it.
    DrainForbidden,
    /// Its Node was not empty in time; it takes pods again, and is tried later.
    DrainOverdue,
    /// A label or taint of its Node is set otherwise by somebody else.
    NodeConflict,
    /// No other Node takes pods while others are being emptied, so its own is not.
    LastSchedulableNode,
    /// A person has recorded that its host is gone for good.
    HostReleased,
    /// Something outside did not work.
    Cause(CauseKind),
}

impl Reason {
    /// Every reason that is not a cause.
    pub const OWN: [Self; 28] = [
        Self::AsDesired,
        Self::Connected,
        Self::NotYetKnown,
        Self::Drifted,
        Self::Contested,
        Self::OperationLost,
        Self::IdentityMismatch,
        Self::DuplicateHost,
        Self::Paused,
        Self::InvalidSpec,
        Self::UnknownVersion,
        Self::NoArtefact,
        Self::MissingParameter,
        Self::Dependency,
        Self::DependencyCycle,
        Self::VersionSkew,
        Self::ApiServerUnknown,
        Self::StoreRegressed,
        Self::Terminating,
        Self::AwaitingCertificate,
        Self::CertificateDenied,
        Self::ForeignIdentity,
        Self::Draining,
        Self::DrainForbidden,
        Self::DrainOverdue,
        Self::NodeConflict,
        Self::LastSchedulableNode,
        Self::HostReleased,
    ];
}

impl From<CauseKind> for Reason {
    /// Two causes say the same as a reason of our own, under whose name they are written and read back.
    fn from(cause: CauseKind) -> Self {
        if cause == CauseKind::OwnedByAnother {
            Self::DuplicateHost
        } else if cause == CauseKind::FenceRefused {
            Self::StoreRegressed
        } else {
            Self::Cause(cause)
        }
    }
}
