//! What the engine remembers of a decision besides its action.

use seaworthy_model::digest::Digest;
use seaworthy_model::id::{CertificateRequestId, ComponentId, MachineId, StoreId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::set::Owner;

/// What the engine remembers, by domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Leadership(LeadershipNote),
    Rollout(RolloutNote),
    Machine(MachineId, MachineNote),
    Certificates(CertificatesNote),
}

/// About leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadershipNote {
    /// The operator's Lease went away.
    Lost,
    /// The ordered write of the Lease gives us this epoch, or no new one.
    Taking(Option<Epoch>),
    /// The Lease was released.
    Released,
    /// `Watch` of a store was ordered: its earlier lists do not count any more.
    Watch(StoreId),
    /// The lists of a store are too old for a decision.
    Outdated(StoreId),
}

/// About rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RolloutNote {
    /// A wave is granted to the machines of a component.
    Wave(Owner, ComponentId),
    /// Machines of a component can be granted, though only a few.
    SmallWave(Owner, ComponentId),
    /// A gate begins to ask what its strategy says besides the machines.
    Inquire(Owner, ComponentId),
    /// No probe pod can start: no changed machine has a Node that is ready.
    NothingToProbe(Owner, ComponentId),
    /// A rollout is about to ask, or asks again, whether its artefact is to be had.
    Sample(Owner, ComponentId),
    /// It asks this machine.
    Ask(Owner, ComponentId, MachineId),
    /// This machine cannot be asked any more.
    GiveUpAsking(Owner, ComponentId, MachineId),
}

/// About a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineNote {
    /// It gives its grants back, if it has any, or the one for a component.
    Yield(Option<ComponentId>),
    /// It takes its grant for a component again: it gave it back, and the record still lists it.
    Resume(ComponentId),
    /// Its host was lost at work so long ago that nothing of ours goes on there.
    GiveUp,
    /// Its Node has not been ready for so long that nothing can be disrupted there.
    LastsUnready,
    /// It is blocked until something changes.
    Block(Blocker),
    /// One of its components is blocked until something changes.
    Hinder(ComponentId, Blocker),
    /// Nothing blocks it any more.
    Unblock,
    /// It waits for nothing but a unit of the budget, or a place in the repair lane.
    WaitForUnit,
    /// It waits for nothing but a session.
    WaitForSession,
    /// It waits until the fleet's rollouts, its pause or what the disruption policies allow change.
    WaitForFleet,
    /// It waits for nothing but room in a failure domain.
    WaitForDomain,
    /// Its drain waits until another Node takes pods, or no other is being drained any more.
    WaitForNode,
    /// When its next audit is due.
    Audit(Timestamp),
    /// Its host is read soon: a gate needs to know how it is.
    Inspect,
    /// The certificate request for this key was created.
    Asked(Digest),
    /// Its Node is not drained before this time.
    DrainRests(Timestamp),
    /// It runs a kubelet, and since then the engine looks for its Node, which no watch has shown.
    NoNode(Timestamp),
    /// The drain of its Node has passed this many of the pods.
    Passed(usize),
    /// Since then its Node stays drained without work; `None` when work begins again.
    Hold(Option<Timestamp>),
    /// The drain of its Node is over.
    DrainOver,
}

/// About certificate requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificatesNote {
    /// A request of this machine's node was approved.
    Approve(MachineId),
    /// A request waits until the host of a machine is read.
    Read(MachineId, CertificateRequestId),
    /// A request was refused for what the host of the machine reports: another report may change that.
    Doubt(MachineId, CertificateRequestId),
}

impl From<LeadershipNote> for Note {
    fn from(note: LeadershipNote) -> Self {
        Self::Leadership(note)
    }
}

impl From<RolloutNote> for Note {
    fn from(note: RolloutNote) -> Self {
        Self::Rollout(note)
    }
}

impl From<CertificatesNote> for Note {
    fn from(note: CertificatesNote) -> Self {
        Self::Certificates(note)
    }
}
