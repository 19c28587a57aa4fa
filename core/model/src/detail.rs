//! The detail of a condition beyond its reason: which component, which version, how many, since when. It is data;
//! `seaworthy-api` renders it as text, and reads it back from a status.
//!
//! Components, versions and machines appear here by name, not by id. A status that another process wrote may name an
//! object that does not exist any more. Reading it back must not assign an id: the order of ids would then depend on
//! the text of statuses.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attributes::TaintEffect;
use crate::gate_check::{GateCheck, Silence};
use crate::id::{HostId, Uid};
use crate::lease::Epoch;
use crate::meta::SpecError;
use crate::pod::{PodLoss, PodName};
use crate::requirement::VersionNumber;
use crate::strategy::Evidence;
use crate::time::Timestamp;

/// The detail of a condition of a Machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Text of another party: of a host, of the API server, or of another build of the operator.
    Reported(Box<str>),
    /// The `MachineComponent` that failed, with the words of the host; empty when it said nothing.
    Failed(Arc<str>, Box<str>),
    /// The session to the host ended before it answered.
    SessionLost,
    /// The host reported the success of a change, but its report does not show the change.
    ChangeNotShown,
    /// The API server did not answer.
    NoAnswer,
    /// The Node changed before a write of it arrived.
    NodeChanged,
    /// The pods of the Node could not be listed.
    PodsNotListed,
    /// A machine that is being deleted waits until fewer machines are unavailable.
    AwaitsSlot,
    /// The `DisruptionPolicy` that keeps the machine as it is, and until when if that is known.
    Policy {
        /// Its name.
        policy: Arc<str>,
        /// When it lets the machine go on.
        until: Option<Timestamp>,
    },
    /// The `MachineComponent` that the reason is about.
    Version(Arc<str>),
    /// A version needs parameters or facts that the machine does not have.
    Missing {
        /// The version.
        version: Arc<str>,
        /// The names of what it lacks.
        inputs: Box<[Arc<str>]>,
    },
    /// A component waits for another one.
    Dependency(Dependency),
    /// Components that wait for each other, in this order; the last equals the first.
    Cycle(Box<[Arc<str>]>),
    /// A rule about versions that would be broken.
    Skew(Skew),
    /// Why the store counts as regressed.
    Regress(Regress),
    /// A host reports an operator of this epoch, which is higher than ours.
    HostAhead(Epoch),
    /// A part that is repaired again and again.
    Contested {
        /// The component; `None` for labels and taints of the Node.
        component: Option<Arc<str>>,
        /// Repairs in a row.
        times: u32,
        /// How many minutes the next repair waits after the last.
        minutes: u64,
    },
    /// The actual identity or owner of the host.
    Stranger(Stranger),
    /// The node identity on the host does not count as the machine's own.
    ForeignIdentity {
        /// The common name in its certificate.
        common_name: Arc<str>,
        /// What is wrong with it.
        flaw: IdentityFlaw,
    },
    /// Pods that have not left the Node.
    PodsLeft {
        /// How many.
        count: usize,
        /// The first of them.
        first: Box<[Pod]>,
        /// A pod that must not be evicted, with the reply.
        refused: Option<(Pod, Box<str>)>,
    },
    /// A pod that must not be evicted, with the reply.
    PodRefused(Pod, Box<str>),
    /// A pod that would be lost.
    PodLost(Pod, PodLoss),
    /// A label of the Node that another agent has set.
    ForeignLabel(Arc<str>),
    /// A taint of the Node that another agent has set.
    ForeignTaint(Arc<str>, TaintEffect),
}

impl Detail {
    /// The text that another party has reported; `None` when it is empty.
    #[must_use]
    pub fn reported(words: &str) -> Option<Arc<Self>> {
        (!words.is_empty()).then(|| Arc::new(Self::Reported(words.into())))
    }
}

/// Why a component waits for another one of its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The component that is to change.
    pub component: Arc<str>,
    /// The component that it waits for.
    pub other: Arc<str>,
    /// The state of the other component.
    pub state: DependencyState,
}

/// The state of a component that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DependencyState {
    /// It has to change first.
    Pending,
    /// Its release failed on the machine.
    Failed,
    /// An obstacle blocks it.
    Obstructed,
    /// It is not installed, and not wanted.
    Unwanted,
    /// It is to be removed.
    Leaving,
    /// It is installed and depends on the component that is being removed.
    Depending,
}

impl DependencyState {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Failed, Self::Obstructed, Self::Unwanted, Self::Leaving, Self::Depending];
}

/// A rule of a version that would be broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skew {
    /// The `MachineComponent` that has the rule.
    pub version: Arc<str>,
    /// The lowest version that the rule admits; `None` for any.
    pub at_least: Option<VersionNumber>,
    /// The lowest version above the range of the rule; `None` if the range is open.
    pub below: Option<VersionNumber>,
    /// What the rule does not admit.
    pub found: Found,
}

/// What a rule about versions does not admit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// A version of another component.
    Version {
        /// The other component.
        component: Arc<str>,
        /// The `MachineComponent`.
        version: Arc<str>,
    },
    /// An API server of this version.
    ApiServer(VersionNumber),
    /// An API server of unknown version.
    UnknownApiServer,
}

/// Why the store counts as regressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Regress {
    /// Several hosts have seen an operator of this epoch, which the store does not know of.
    HostsAhead(Epoch),
    /// The Lease of this epoch, our own, is gone.
    LeaseGone(Epoch),
    /// Machines are recorded, but no Lease.
    NoLease,
    /// A person has recorded the adoption of this epoch, which leaves no room for later operators.
    AdoptionRefused(Epoch),
}

/// The identity or owner of a host that is not the machine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stranger {
    /// It has another machine-id than the recorded one.
    OtherHost {
        /// The one that it has.
        found: HostId,
        /// The recorded one.
        recorded: HostId,
    },
    /// It belongs to a Machine of another cluster.
    OfCluster {
        /// That cluster's id.
        cluster: Box<str>,
        /// That Machine.
        machine: Uid,
    },
    /// It belongs to this Machine.
    OfMachine(Arc<str>),
    /// It belongs to a Machine that does not exist any more.
    OfGone(Uid),
}

/// What is wrong with a node identity of the right name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IdentityFlaw {
    /// Another authority has signed it.
    Authority,
    /// The cluster has no such Node.
    NoNode,
}

/// A pod by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pod {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl From<&PodName> for Pod {
    fn from(pod: &PodName) -> Self {
        Self { namespace: Arc::clone(&pod.namespace), name: Arc::clone(&pod.name) }
    }
}

/// The detail of a condition of the `ClusterPackageVersion`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FleetDetail {
    /// Text of another build of the operator.
    Other(Box<str>),
    /// Why the store counts as regressed.
    Regress(Regress),
    /// A rule about versions that the defaults break.
    Skew(Skew),
    /// Machines that failed, and how many may.
    Failures {
        /// How many failed.
        failed: u32,
        /// How many may.
        limit: u32,
    },
    /// Machines that were lost at work and machines that failed, and how many may fail.
    Lost {
        /// How many were lost.
        lost: u32,
        /// How many failed.
        failed: u32,
        /// How many may fail.
        limit: u32,
    },
    /// How many machines a change reaches, and up to how many need no confirmation.
    Reach {
        /// The component.
        component: Arc<str>,
        /// How many machines.
        machines: u32,
        /// Up to how many need no confirmation.
        limit: u32,
    },
    /// Machines that are unavailable for reasons of their own, and how many may be.
    Unavailable {
        /// How many are unavailable.
        unavailable: u32,
        /// How many may be.
        limit: u32,
    },
    /// Machines that cannot be drained, and how many of them a batch ends without.
    Undrained {
        /// How many cannot be.
        machines: u32,
        /// How many a batch ends without.
        limit: u32,
    },
    /// Two sets mention one component and select some of the same machines.
    Overlap {
        /// The component.
        component: Arc<str>,
        /// The name of the other set.
        other: Arc<str>,
        /// Whether this set decides, and not the other one.
        decides: bool,
    },
    /// Machines that do not have what a rollout brings.
    LeftOut {
        /// How many.
        left: u32,
        /// How many of them failed to get it.
        failed: u32,
    },
    /// Rollouts that admit no machine until another one has gone through the fleet.
    Waits(Box<[Wait]>),
    /// A batch is watched.
    Bake {
        /// Its gate.
        gate: GateName,
        /// Until this time.
        until: Timestamp,
        /// Whether every machine is permitted: no batch follows it.
        is_last: bool,
    },
    /// What a gate goes by.
    Gate(GateName, Evidence),
    /// What a gate has asked was not answered, and why.
    Unanswered(GateName, GateCheck, Silence),
    /// Machines that could not fetch the artefact of a version.
    Unfetched {
        /// The version.
        version: Arc<str>,
        /// How many could not.
        failed: u32,
        /// How many have said whether they could.
        asked: u32,
        /// Why one of them could not, in its words.
        why: Arc<str>,
    },
}

/// The gate after a batch of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateName {
    /// The component.
    pub component: Arc<str>,
    /// The generation of the rollout.
    pub generation: u64,
    /// The number of the batch.
    pub batch: u32,
}

/// A rollout that waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The component of the one that waits.
    pub component: Arc<str>,
    /// The component of the one that goes first.
    pub first: Arc<str>,
}

/// The detail of a condition of a `MachineComponent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionDetail {
    /// Text of another build of the operator.
    Other(Box<str>),
    /// What is wrong with the spec.
    Faults(Box<[SpecError]>),
    /// Its deletion waits until nothing uses it.
    Leaving {
        /// How many used it when this was written: machines, and the fleet's defaults as one.
        users: u32,
        /// One of the machines; `None` if none of them does.
        machine: Option<Arc<str>>,
    },
}
