//! The state of a machine in each rollout of the fleet.

use alloc::vec::Vec;

use seaworthy_model::id::Uid;
use seaworthy_model::package_version::DeferralReason;

use crate::rows::policy::Places;

/// What follows from a row. It is cached, because the counters are built from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    /// The incarnation that this was derived from.
    pub(crate) uid: Option<Uid>,
    pub(crate) live: bool,
    /// It was set up once, so its availability counts.
    pub(crate) known: bool,
    /// It claims a unit of the budget.
    pub(crate) claims: bool,
    /// The release of a rollout failed there: it keeps its unit.
    pub(crate) failed: bool,
    /// A release failed there, and its status does not show that yet.
    pub(crate) unrecorded: bool,
    /// It is worked on while it is out of service anyway: it takes a place in the repair lane, and no unit besides the one
    /// that it keeps if a release failed there.
    pub(crate) laned: bool,
    /// Nothing can be disrupted there: its Node has not been ready for long, or it is to become a Node and is none yet.
    pub(crate) out_of_service: bool,
    /// Work there takes no unit, but a place in the repair lane.
    pub(crate) spared: bool,
    /// It became unavailable after a rollout under way had changed it, and claims no unit. Not so a machine that lacks the
    /// component that makes it a Node: no other change is to blame, and only that component brings it back.
    pub(crate) fell: bool,
    /// A rollout under way has changed it, or it has what that rollout brings.
    pub(crate) touched: bool,
    /// No rollout under way has changed it: what is changed is compared with such machines. Not so a machine that was lost at
    /// work, unless it was unavailable before: the work may be why it is lost.
    pub(crate) untouched: bool,
    /// It is unavailable, and not because of our work.
    pub(crate) sick: bool,
    pub(crate) unresolved: bool,
    /// The host was lost in the middle of an operation, or may have been, and the outcome is not known.
    pub(crate) lost: bool,
    /// Why it cannot be worked on, if a rollout has permitted it and nothing is or may be under way there.
    pub(crate) deferral: Option<DeferralReason>,
    /// It claims a unit, and was set up before: it takes room in its failure domains. A first setup disrupts nobody.
    pub(crate) disrupts: bool,
    /// The same, and that not just because a predecessor may have begun something there: its record has counted that.
    pub(crate) begins: bool,
    /// It is out of service, and not because of our work: it leaves less room in its failure domains. Looked at only where a
    /// disruption policy exists.
    pub(crate) foreign: bool,
    /// What each disruption policy is to it; `None` if there is no policy.
    pub(crate) places: Option<Places>,
    /// One per rollout, in the order of the fleet's rollouts.
    pub(crate) standings: Standings,
}

impl Derived {
    /// Of a row of which nothing is known.
    pub(crate) const NONE: Self = Self {
        uid: None,
        live: false,
        known: false,
        claims: false,
        failed: false,
        unrecorded: false,
        laned: false,
        out_of_service: false,
        spared: false,
        fell: false,
        touched: false,
        untouched: false,
        sick: false,
        unresolved: false,
        lost: false,
        deferral: None,
        disrupts: false,
        begins: false,
        foreign: false,
        places: None,
        standings: Standings::NONE,
    };
}

/// The state of a machine in a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It takes no part: it is pinned, being deleted, or unknown.
    #[default]
    Outside,
    /// Not permitted yet.
    Waiting,
    /// Permitted, and could be granted.
    Eligible,
    /// Granted: it claims a unit of the budget.
    Granted,
    /// Granted, but it cannot be worked on: unreachable, paused, blocked.
    Held,
    /// Permitted and not granted, and it cannot be worked on.
    Deferred,
    /// It has the release.
    Done,
    /// It has the release, but another release failed here since. It may have been rolled back to this one without it
    /// ever having worked.
    Restored,
    /// The release failed on it.
    Failed,
}

impl Standing {
    /// Whether it is granted, and neither done nor failed.
    #[must_use]
    pub const fn is_granted(self) -> bool {
        matches!(self, Self::Granted | Self::Held)
    }

    /// Whether it is permitted, and the machine cannot be worked on.
    pub(crate) const fn is_deferred(self) -> bool {
        matches!(self, Self::Deferred | Self::Held)
    }

    /// Whether it has the release.
    #[must_use]
    pub const fn is_updated(self) -> bool {
        matches!(self, Self::Done | Self::Restored)
    }

    /// Whether it takes part, and is neither done nor failed.
    pub(crate) const fn is_unfinished(self) -> bool {
        matches!(self, Self::Waiting | Self::Eligible | Self::Granted | Self::Held | Self::Deferred)
    }

    /// Whether the rollout has nothing to do on the machine, for now.
    pub(crate) const fn is_idle(self) -> bool {
        matches!(self, Self::Outside | Self::Waiting | Self::Eligible | Self::Done)
    }
}

/// This many are stored in the row itself; a fleet rarely rolls out more components at once.
const FEW: usize = 7;

/// Standings in the order of the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standings {
    few: [Standing; FEW],
    count: u8,
    /// Those after the first [`FEW`].
    more: Vec<Standing>,
}

impl Standings {
    /// Those of a machine of which nothing is known.
    pub(crate) const NONE: Self = Self { few: [Standing::Outside; FEW], count: 0, more: Vec::new() };

    pub(crate) fn get(&self, index: usize) -> Option<Standing> {
        match index.checked_sub(FEW) {
            Some(rest) => self.more.get(rest).copied(),
            None => self.few[..usize::from(self.count)].get(index).copied(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Standing> {
        self.few[..usize::from(self.count)].iter().chain(&self.more).copied()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::NONE;
    }
}

impl FromIterator<Standing> for Standings {
    fn from_iter<I: IntoIterator<Item = Standing>>(standings: I) -> Self {
        let mut all = Self::NONE;
        for standing in standings {
            if usize::from(all.count) < FEW {
                all.few[usize::from(all.count)] = standing;
                all.count += 1;
            } else {
                all.more.push(standing);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rollouts() {
        for count in [0, 1, FEW, FEW + 1, 40] {
            let standing =
                |index: usize| if index.is_multiple_of(2) { Standing::Done } else { Standing::Waiting };
            let all: Standings = (0..count).map(standing).collect();
            assert!(all.iter().eq((0..count).map(standing)));
            assert_eq!(all.get(count), None);
            assert_eq!(all.get(count.saturating_sub(1)), all.iter().last());
        }
    }
}
