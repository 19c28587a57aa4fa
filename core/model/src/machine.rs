//! A machine: its desired state, and what is recorded about it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attributes::NodeAttributes;
use crate::cause::CauseKind;
use crate::component::{Architecture, CgroupVersion, Parameters, ReleaseId};
use crate::connection::Connection;
pub use crate::connection::{Address, HostKeyPolicy, Login};
use crate::detail::Detail;
pub use crate::id::HostId;
use crate::id::{ComponentId, SetId, VersionId};
use crate::labels::Labels;
use crate::lease::Epoch;
use crate::meta::{Meta, Parsed};
use crate::time::Timestamp;

/// A `Machine` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineObject {
    /// Its metadata.
    pub meta: Meta,
    /// Its labels. A failure domain or a pool may be named by one.
    pub labels: Labels,
    /// The desired state.
    pub spec: Parsed<MachineSpec>,
    /// What we recorded.
    pub status: MachineStatus,
    /// The annotation `seaworthy.dev/release-host` names its uid: a person has declared that the host is gone for
    /// good, and that nothing of ours there needs to be removed.
    pub is_released: bool,
    /// The annotation `seaworthy.dev/reset-fences`: a person has declared that no operator of this epoch works on the host,
    /// although the host reports one.
    pub reset_fences: Option<Epoch>,
}

/// The desired state of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSpec {
    /// Where it is and how to log in. Every order to the host shares it.
    pub connection: Arc<Connection>,
    /// Pinned components, in the order in which they were written. A pin wins over every default.
    pub pins: Box<[ComponentSetting]>,
    /// Parameters of the machine, for the templates of all its components; `None` without any.
    pub parameters: Option<Box<Parameters>>,
    /// Labels and taints to keep on its Node; `None` without any.
    pub node: Option<Box<NodeAttributes>>,
    /// While it is set, nothing new is started.
    pub paused: bool,
}

/// A component and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSetting {
    /// Which component.
    pub component: ComponentId,
    /// What is wanted of it.
    pub want: Want,
}

/// What is wanted of a component on a machine. A component that is not mentioned stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// This version, with these parameters.
    Present {
        /// The version.
        version: VersionId,
        /// Parameters for its templates.
        parameters: Parameters,
    },
    /// It must not be on the machine. Nothing else removes software.
    Absent,
}

impl Want {
    /// The version that has to be there; `None` if none may be.
    #[must_use]
    pub const fn version(&self) -> Option<VersionId> {
        match self {
            Self::Present { version, .. } => Some(*version),
            Self::Absent => None,
        }
    }
}

/// What is recorded about a machine. It must be enough for a new operator to continue where the last one stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineStatus {
    /// The generation of the spec that was last handled completely. While `metadata.generation` is higher, an operation
    /// may be in flight.
    pub observed_generation: u64,
    /// The identity of the host. Set once, at import, and compared at every later contact.
    pub identity: Option<Identity>,
    /// What is installed and what failed, sorted by component. Machines with equal lists share one.
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

/// The identity of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its machine-id.
    pub host: HostId,
    /// The host key that was trusted on first use; `None` when keys are pinned in the spec.
    pub host_key: Option<Arc<str>>,
    /// Its processor architecture.
    pub architecture: Architecture,
    /// The version of control groups that it last reported; `None` if it never did.
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
    pub failed: Option<Box<FailedRelease>>,
    /// The set from which the machine has it, if it is to be removed when the machine leaves that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetId>,
}

impl ComponentStatus {
    /// The release that failed here, if one did.
    #[must_use]
    pub fn failed_release(&self) -> Option<FailedRelease> {
        self.failed.as_deref().copied()
    }
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
    /// Everything wanted is installed, runs, and the host can be reached, as of the last write. A planned change does not
    /// set it to false: the generation that was observed, and the rollout, show that one is under way. A pause does not
    /// change it either.
    Ready,
    /// The host answers, has the recorded identity, and lets us work.
    Reachable,
    /// The host has what is wanted there now.
    InSync,
    /// A person has paused the machine. It is set while that is so.
    Paused,
}

impl ConditionKind {
    /// Every kind, in the order in which they are written.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Reachable, Self::InSync, Self::Paused];
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
    /// Detail beyond the reason.
    pub detail: Option<Arc<Detail>>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the spec that this condition is about.
    pub observed_generation: u64,
}

/// The conditions of a Machine, at most one of each kind, in the order of [`ConditionKind::ALL`]. Machines with equal
/// conditions can share them: a clone costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions(Arc<[Option<Condition>; ConditionKind::ALL.len()]>);

impl Conditions {
    /// The condition of `kind`.
    #[must_use]
    pub fn get(&self, kind: ConditionKind) -> Option<&Condition> {
        self.0[kind as usize].as_ref()
    }

    /// The conditions that are set.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> + Clone {
        self.0.iter().flatten()
    }
}

impl FromIterator<Condition> for Conditions {
    /// If there are several conditions of one kind, the last one counts.
    fn from_iter<I: IntoIterator<Item = Condition>>(conditions: I) -> Self {
        let mut all = [const { None }; ConditionKind::ALL.len()];
        for condition in conditions {
            let kind = condition.kind as usize;
            all[kind] = Some(condition);
        }
        Self(Arc::new(all))
    }
}

/// Three-valued: silence is never health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known.
    Unknown,
}

/// The reason of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// All is as wanted.
    AsDesired,
    /// The host answered.
    Connected,
    /// The host was not read yet.
    NotYetKnown,
    /// The host differs from the record; it has to be repaired.
    Drifted,
    /// A repaired part was changed again, several times in a row: another agent is changing the machine.
    Contested,
    /// The host was lost in the middle of an operation, whose outcome is not known.
    OperationLost,
    /// The host has another machine-id than the one recorded.
    IdentityMismatch,
    /// Another Machine manages this host.
    DuplicateHost,
    /// Paused by a person.
    Paused,
    /// Paused by a `DisruptionPolicy`.
    PolicyPaused,
    /// The spec of a `DisruptionPolicy` is invalid, and no valid one is known.
    PolicyInvalid,
    /// A freeze of a `DisruptionPolicy`.
    Frozen,
    /// No window of a `DisruptionPolicy` is open for long enough.
    OutsideWindow,
    /// The spec is invalid.
    InvalidSpec,
    /// A version is wanted for which there is no usable `MachineComponent`.
    UnknownVersion,
    /// The wanted version has no artefact for the host's architecture.
    NoArtefact,
    /// The wanted version needs a parameter or a fact that the machine does not have.
    MissingParameter,
    /// A component depends on another one that is not installed as wanted, or another one depends on it.
    Dependency,
    /// Components depend on each other in a cycle.
    DependencyCycle,
    /// A wanted version must not run with another one, or with the present API servers.
    VersionSkew,
    /// A wanted version has a rule about the API servers, whose versions are not known.
    ApiServerUnknown,
    /// The store has regressed: hosts have seen a newer operator than it knows of.
    StoreRegressed,
    /// The host reports a newer operator than the store knows of, and too few others do: it is left alone.
    HostAhead,
    /// The software is being removed.
    Terminating,
    /// The node's certificate was requested and is not issued yet.
    AwaitingCertificate,
    /// The node's certificate was denied.
    CertificateDenied,
    /// The host has the identity of another node, or one of another cluster.
    ForeignIdentity,
    /// Pods are leaving its Node before it is worked on.
    Draining,
    /// A drain of its Node would lose a pod, which the drain policy does not allow.
    DrainForbidden,
    /// Its Node was not empty in time. It takes pods again, and the drain is retried later.
    DrainOverdue,
    /// Another agent has set a label or taint of its Node to a different value.
    NodeConflict,
    /// Its Node is not drained: others are being drained, and no other Node takes pods.
    LastSchedulableNode,
    /// A person has declared that its host is gone for good.
    HostReleased,
    /// Something outside the engine failed.
    Cause(CauseKind),
}

impl Reason {
    /// Every reason that is not a cause.
    pub const OWN: [Self; 33] = [
        Self::AsDesired,
        Self::Connected,
        Self::NotYetKnown,
        Self::Drifted,
        Self::Contested,
        Self::OperationLost,
        Self::IdentityMismatch,
        Self::DuplicateHost,
        Self::Paused,
        Self::PolicyPaused,
        Self::PolicyInvalid,
        Self::Frozen,
        Self::OutsideWindow,
        Self::InvalidSpec,
        Self::UnknownVersion,
        Self::NoArtefact,
        Self::MissingParameter,
        Self::Dependency,
        Self::DependencyCycle,
        Self::VersionSkew,
        Self::ApiServerUnknown,
        Self::StoreRegressed,
        Self::HostAhead,
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
            Self::HostAhead
        } else {
            Self::Cause(cause)
        }
    }
}
