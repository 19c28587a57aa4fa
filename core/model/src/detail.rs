//! What a condition says besides its reason: which component, which version, how many, since when. It is data; whoever shows
//! it to people finds the words, and reads them back from a status.
//!
//! Components, versions and machines are named here, not numbered. What a status of another process names need not exist any
//! more, and to read it back must give out no id: the order of ids would change with the words.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attributes::TaintEffect;
use crate::id::{HostId, Uid};
use crate::lease::Epoch;
use crate::pod::{PodLoss, PodName};
use crate::requirement::VersionNumber;

/// What a condition of a Machine says besides its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Words that are not ours: those of a host, of the API server, or of another build of the operator.
    Reported(Box<str>),
    /// The session to the host ended before it answered.
    SessionLost,
    /// The host reported the success of a change and does not show it.
    ChangeNotShown,
    /// The API server did not answer.
    NoAnswer,
    /// The Node changed before a write of it arrived.
    NodeChanged,
    /// The pods of the Node could not be listed.
    PodsNotListed,
    /// A machine that is being deleted waits until fewer machines are unavailable.
    AwaitsSlot,
    /// The `MachineComponent` that it is about.
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
    /// Components that wait for each other, in this order; the last one is the first again.
    Cycle(Box<[Arc<str>]>),
    /// A rule about versions that would be broken.
    Skew(Skew),
    /// Why the store is taken for one that was set back.
    Regress(Regress),
    /// What is repaired again and again.
    Contested {
        /// The component; `None` for what is set on the Node.
        component: Option<Arc<str>>,
        /// Repairs in a row.
        times: u32,
        /// So many minutes the next one waits after the last.
        minutes: u64,
    },
    /// Who the host is, or whose.
    Stranger(Stranger),
    /// The node identity on the host is not to be taken for the machine's own.
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
        /// One that may not be evicted, with what was answered.
        refused: Option<(Pod, Box<str>)>,
    },
    /// A pod that may not be evicted, with what was answered.
    PodRefused(Pod, Box<str>),
    /// A pod that would be lost.
    PodLost(Pod, PodLoss),
    /// A label of the Node that somebody else has set.
    ForeignLabel(Arc<str>),
    /// A taint of the Node that somebody else has set.
    ForeignTaint(Arc<str>, TaintEffect),
}

impl Detail {
    /// What somebody else has reported; `None` when that is nothing.
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
    /// What is the matter with the other one.
    pub state: DependencyState,
}

/// What is the matter with a component that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DependencyState {
    /// It has to change first.
    Pending,
    /// Its release failed on the machine.
    Failed,
    /// Something stands in its way.
    Obstructed,
    /// It is not there, and nobody wants it.
    Unwanted,
    /// It is to be removed.
    Leaving,
    /// It is there and depends on what is to be removed.
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
    /// The `MachineComponent` whose rule it is.
    pub version: Arc<str>,
    /// The lowest version that the rule admits; `None` for any.
    pub at_least: Option<VersionNumber>,
    /// The lowest version that it does not admit any more; `None` for no such.
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
    /// An API server of a version that nobody knows.
    UnknownApiServer,
}

/// Why the store is taken for one that was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Regress {
    /// A host has seen an operator of this epoch, which the store does not know of.
    HostAhead(Epoch),
    /// The Lease of this epoch, our own, is gone.
    LeaseGone(Epoch),
    /// Machines are recorded, but no Lease.
    NoLease,
}

/// Who a host is, or whose, if it is not the machine's.
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

/// What a condition of the `ClusterPackageVersion` says besides its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FleetDetail {
    /// Words that are not ours: those of another build of the operator.
    Other(Box<str>),
    /// Why the store is taken for one that was set back.
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
    /// So many machines are left out.
    LeftOut(u32),
    /// Rollouts that admit nobody until another one has been through the fleet.
    Waits(Box<[Wait]>),
}

/// A rollout that waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The component of the one that waits.
    pub component: Arc<str>,
    /// The component of the one that goes first.
    pub first: Arc<str>,
}
