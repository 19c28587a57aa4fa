//! Whether rollouts go on, and how the conditions tell it.

use seaworthy_model::machine::Truth;
use seaworthy_model::package_version::{FleetConditionKind, FleetReason};
use seaworthy_model::report::Blocker;

/// What a rollout may do, as far as its gates are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The batch is under way: machines are granted, and no more are permitted. So it is for a rollout without gates, which is
    /// permitted to everybody or to the batches of the configuration.
    Open,
    /// The batch has passed: the next one may be permitted.
    Passed,
    /// Nothing is granted.
    Closed,
}

/// The reason of a rollout that stands still because a disruption policy keeps back every machine, or its own strategy does,
/// or a person has to confirm it. Limits only slow it down.
pub(super) const fn reason_of(blocker: Blocker) -> Option<FleetReason> {
    if matches!(blocker, Blocker::PolicyPaused { .. }) {
        Some(FleetReason::PolicyPaused)
    } else if matches!(blocker, Blocker::PolicyInvalid { .. }) {
        Some(FleetReason::PolicyInvalid)
    } else if matches!(blocker, Blocker::Frozen { .. }) {
        Some(FleetReason::Frozen)
    } else if matches!(blocker, Blocker::OutsideWindow { .. }) {
        Some(FleetReason::OutsideWindow)
    } else if matches!(blocker, Blocker::TooDisruptive { .. }) {
        Some(FleetReason::TooDisruptive)
    } else if matches!(blocker, Blocker::RollbackUnsafe { .. }) {
        Some(FleetReason::RollbackUnsafe)
    } else if matches!(blocker, Blocker::SetEmptied { .. }) {
        Some(FleetReason::SetEmptied)
    } else {
        None
    }
}

/// Whether rollouts go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standstill {
    Moving,
    Baking,
    Complete,
    LeftOut,
    Stopped(FleetReason),
    /// A canary has nothing left to try.
    Promoted,
    /// A person has aborted a canary.
    Aborted,
}

impl Standstill {
    /// A rollout is under way.
    pub(super) fn moves(&mut self) {
        if matches!(self, Self::Complete | Self::LeftOut | Self::Baking) {
            *self = Self::Moving;
        }
    }

    /// The machines of a batch are being watched.
    pub(super) fn bakes(&mut self) {
        if matches!(self, Self::Complete | Self::LeftOut) {
            *self = Self::Baking;
        }
    }

    /// Some machines do not have what a rollout brings, and nothing can be done about it now.
    pub(super) fn leaves_out(&mut self) {
        if *self == Self::Complete {
            *self = Self::LeftOut;
        }
    }

    /// The reason and the conditions for this state.
    pub(super) const fn told(self) -> (FleetReason, [(FleetConditionKind, Truth); 2]) {
        let (reason, complete, progressing) = match self {
            Self::Complete => (FleetReason::AllUpdated, Truth::True, Truth::True),
            Self::LeftOut => (FleetReason::MachinesLeftOut, Truth::False, Truth::True),
            Self::Baking => (FleetReason::Baking, Truth::False, Truth::True),
            Self::Moving => (FleetReason::RollingOut, Truth::False, Truth::True),
            Self::Promoted => (FleetReason::Promoted, Truth::True, Truth::True),
            Self::Aborted => (FleetReason::Aborted, Truth::True, Truth::True),
            Self::Stopped(reason) => (reason, Truth::False, Truth::False),
        };
        let kinds =
            [(FleetConditionKind::Complete, complete), (FleetConditionKind::Progressing, progressing)];
        (reason, kinds)
    }
}
