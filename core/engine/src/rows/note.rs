//! What a decision leaves to be remembered besides its action.

use seaworthy_model::digest::Digest;
use seaworthy_model::id::{CertificateRequestId, MachineId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

/// What is to be remembered, by domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Leadership(LeadershipNote),
    Rollout(RolloutNote),
    Machine(MachineId, MachineNote),
    Certificates(CertificatesNote),
}

/// About the operator's own standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadershipNote {
    /// The operator's Lease went away.
    Lost,
    /// The write of the Lease that was ordered gives us this epoch, or none that we do not have already.
    Taking(Option<Epoch>),
    /// The Lease was let go.
    Released,
    /// `Watch` was ordered: what was listed counts no more.
    Watch,
    /// What was listed is too old for what is to be decided.
    Outdated,
}

/// About the fleet's rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RolloutNote {
    /// A batch could be admitted, but is small; since then, or no longer.
    SmallBatch(Option<Timestamp>),
}

/// About a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineNote {
    /// It gives up its reservation.
    Park,
    /// It takes a reservation: it was admitted before, and there is room for it.
    Reserve,
    /// It cannot be worked on until something changes.
    Block(Blocker),
    /// Nothing stands in its way any more.
    Unblock,
    /// It waits for nothing but a slot.
    WaitForSlot,
    /// It waits for nothing but a session.
    WaitForSession,
    /// It waits until the fleet's rollouts or its pause change.
    WaitForFleet,
    /// Its drain waits until another Node takes pods, or none is being emptied any more.
    WaitForNode,
    /// Its next audit is due then.
    Audit(Timestamp),
    /// The certificate request for this key was created.
    Asked(Digest),
    /// Its Node is not drained before this time.
    DrainRests(Timestamp),
    /// The drain of its Node has gone through so many of the pods.
    Passed(usize),
    /// Nothing is left of the drain of its Node.
    DrainOver,
}

/// About certificate requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificatesNote {
    /// A request of this machine's node was approved.
    Approve(MachineId),
    /// A request waits until the host of a machine was read.
    Read(MachineId, CertificateRequestId),
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
