//! A machine as the leading operator sees it: its phase, and what it waits for.

use seaworthy_engine::{Machine, Standing, World};
use seaworthy_model::report::{Blocker, Subject};

/// The phase of a machine, as the leading operator sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No operator has seen it yet.
    #[default]
    Unseen,
    /// It has reached the desired state.
    Done,
    /// It is not admitted yet.
    Waiting,
    /// It is admitted, but has no slot of the budget yet.
    Parked,
    /// It is admitted and has a slot.
    Reserved,
    /// An operation is or may be under way.
    AtWork,
    /// It cannot be worked on.
    Blocked,
    /// The release failed there.
    Failed,
    /// There is no such Machine, or it is being deleted.
    Gone,
}

impl Phase {
    /// Every phase, by its number.
    pub const ALL: [Self; 9] = [
        Self::Unseen,
        Self::Done,
        Self::Waiting,
        Self::Parked,
        Self::Reserved,
        Self::AtWork,
        Self::Blocked,
        Self::Failed,
        Self::Gone,
    ];

    /// The name of the phase, for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unseen => "not seen yet",
            Self::Done => "done",
            Self::Waiting => "waiting",
            Self::Parked => "waiting for a slot",
            Self::Reserved => "admitted",
            Self::AtWork => "at work",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Gone => "gone",
        }
    }
}

/// What a machine waits for: the name of a [`Blocker`], if it waits for one that is worth showing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitsFor(u8);

impl WaitsFor {
    /// The machine waits for nothing.
    pub const NOTHING: Self = Self(0);

    /// The names, by [`WaitsFor::number`].
    pub const NAMES: [&'static str; 35] = [
        "",
        "StoreRegressed",
        "BackOff",
        "SessionLimit",
        "MaxUnavailable",
        "TooManyFailures",
        "Superseding",
        "Paused",
        "InvalidSpec",
        "Unreachable",
        "Artefact",
        "HostIdentity",
        "ReleaseFailed",
        "MaxFailures",
        "Draining",
        "DisruptionBudget",
        "DrainForbidden",
        "DrainOverdue",
        "NodeConflict",
        "LastSchedulableNode",
        "TooManyUnavailable",
        "AwaitingGrant",
        "HostAhead",
        "Gate",
        "PolicyPaused",
        "PolicyInvalid",
        "Frozen",
        "OutsideWindow",
        "InFlightLimit",
        "RateLimit",
        "TooDisruptive",
        "TooManyUndrained",
        "ArtefactUnavailable",
        "RollbackUnsafe",
        "SetEmptied",
    ];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    const fn of(blocker: Blocker) -> Self {
        Self(match blocker {
            Blocker::StoreRegressed { .. }
            | Blocker::AdoptionRefused { .. }
            | Blocker::EpochsExhausted { .. } => 1,
            Blocker::BackOff { .. } => 2,
            Blocker::SessionLimit => 3,
            Blocker::MaxUnavailable { .. } => 4,
            Blocker::TooManyFailures { .. } => 5,
            Blocker::Superseding => 6,
            Blocker::Paused => 7,
            Blocker::InvalidSpec => 8,
            Blocker::Unreachable { .. } => 9,
            Blocker::UnknownVersion(_)
            | Blocker::NoArtefact(_)
            | Blocker::MissingParameter(_)
            | Blocker::Dependency { .. }
            | Blocker::DependencyCycle { .. }
            | Blocker::VersionSkew { .. }
            | Blocker::ApiServerSkew { .. }
            | Blocker::ApiServerUnknown { .. } => 10,
            Blocker::IdentityMismatch | Blocker::DuplicateHost | Blocker::ForeignIdentity => 11,
            Blocker::ReleaseFailed { .. } => 12,
            Blocker::MaxFailures { .. } => 13,
            Blocker::Draining { .. } | Blocker::AwaitingNode { .. } => 14,
            Blocker::DisruptionBudget { .. } => 15,
            Blocker::DrainForbidden { .. } => 16,
            Blocker::DrainOverdue { .. } => 17,
            Blocker::NodeConflict { .. } => 18,
            Blocker::HostAhead { .. } => 22,
            Blocker::LastSchedulableNode { .. } => 19,
            Blocker::TooManyUnavailable { .. } => 20,
            Blocker::AwaitingGrant => 21,
            Blocker::Baking { .. } | Blocker::GateInconclusive | Blocker::GateFailed { .. } => 23,
            Blocker::PolicyPaused { .. } => 24,
            Blocker::PolicyInvalid { .. } => 25,
            Blocker::Frozen { .. } => 26,
            Blocker::OutsideWindow { .. } => 27,
            Blocker::InFlightLimit { .. } => 28,
            Blocker::RateLimit { .. } => 29,
            Blocker::TooDisruptive { .. } => 30,
            Blocker::TooManyUndrained { .. } => 31,
            Blocker::AwaitingArtefact | Blocker::ArtefactUnavailable => 32,
            Blocker::RollbackUnsafe { .. } => 33,
            Blocker::SetEmptied { .. } => 34,
            Blocker::NotLeading
            | Blocker::Standby { .. }
            | Blocker::RenewalOverdue { .. }
            | Blocker::SteppedDown { .. }
            | Blocker::Stopping
            | Blocker::NotSynced(_)
            | Blocker::AwaitingOwnWrite
            | Blocker::InFlight
            | Blocker::InUse(_)
            | Blocker::AwaitingCertificate
            | Blocker::CertificateDenied
            | Blocker::HostNotRead
            | Blocker::NotApproved(_) => 0,
        })
    }

    /// Whether nothing happens on the machine until a user or another program changes something.
    const fn is_stuck(self) -> bool {
        matches!(self.0, 1 | 7..=11)
    }
}

/// The phase of a machine, and what it waits for.
pub(super) fn judge(world: &World, machine: &Machine) -> (Phase, WaitsFor) {
    if !machine.is_live() {
        return (if is_at_work(world, machine) { Phase::AtWork } else { Phase::Gone }, WaitsFor::NOTHING);
    }
    let blocker = world.blocker(Subject::Machine(machine.id));
    let waits = blocker.map_or(WaitsFor::NOTHING, WaitsFor::of);
    if is_at_work(world, machine) {
        return (Phase::AtWork, waits);
    }
    let standings = (0..world.fleet.rollouts.len()).map(|rollout| phase_of(machine.standing(rollout)));
    let worst = standings.max_by_key(|phase| *phase as u8).unwrap_or(Phase::Done);
    let stuck_at = [Phase::Done, Phase::Waiting, Phase::Parked, Phase::Reserved];
    let phase = if waits.is_stuck() && stuck_at.contains(&worst) {
        Phase::Blocked
    } else if worst == Phase::Done {
        settled(blocker)
    } else {
        worst
    };
    let says_it_all = matches!(phase, Phase::Done | Phase::Failed);
    (phase, if says_it_all { WaitsFor::NOTHING } else { waits })
}

/// The phase of a machine for which no rollout has work left. It may still wait for a reason of its own.
const fn settled(blocker: Option<Blocker>) -> Phase {
    match blocker {
        Some(Blocker::ReleaseFailed { .. }) => Phase::Failed,
        Some(Blocker::MaxUnavailable { .. } | Blocker::MaxFailures { .. }) => Phase::Parked,
        Some(_) | None => Phase::Done,
    }
}

fn is_at_work(world: &World, machine: &Machine) -> bool {
    let action = machine.progress.writes.action.and_then(|action| world.in_flight().get(&action));
    machine.is_busy() || action.is_some_and(|action| action.ticket.is_change())
}

const fn phase_of(standing: Standing) -> Phase {
    match standing {
        Standing::Outside | Standing::Done | Standing::Restored => Phase::Done,
        Standing::Waiting => Phase::Waiting,
        Standing::Eligible => Phase::Parked,
        Standing::Granted => Phase::Reserved,
        Standing::Held | Standing::Deferred => Phase::Blocked,
        Standing::Failed => Phase::Failed,
    }
}
