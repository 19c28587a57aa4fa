//! The state of a machine in each rollout of the fleet.

use alloc::vec::Vec;

use seaworthy_model::id::Uid;

/// What follows from a row. It is cached, because the counters are built from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    /// The incarnation that this was derived from.
    pub(crate) uid: Option<Uid>,
    pub(crate) live: bool,
    pub(crate) occupies: bool,
    pub(crate) unresolved: bool,
    /// The host was lost in the middle of an operation, or may have been, and the outcome is not known.
    pub(crate) lost: bool,
    /// One per rollout, in the order of the fleet's rollouts.
    pub(crate) standings: Standings,
}

/// The state of a machine in a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It takes no part: it is pinned, being deleted, or unknown.
    #[default]
    Outside,
    /// Not admitted yet.
    Waiting,
    /// Admitted, with a reserved slot.
    Reserved,
    /// Admitted, but without a slot: it needs a free one first.
    Parked,
    /// Admitted, but it cannot be worked on: unreachable, paused, blocked.
    Excused,
    /// It has the release.
    Done,
    /// It has the release, but another release failed here since. It may have been rolled back to this one without it
    /// ever having worked.
    Restored,
    /// The release failed on it.
    Failed,
}

impl Standing {
    /// Whether it is admitted, neither done nor failed, and holds no slot.
    pub(crate) const fn is_unreserved(self) -> bool {
        matches!(self, Self::Parked | Self::Excused)
    }

    /// Whether it is admitted and neither done nor failed.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Reserved | Self::Parked | Self::Excused)
    }

    /// Whether the rollout has nothing to do on the machine.
    pub(crate) const fn is_idle(self) -> bool {
        matches!(self, Self::Outside | Self::Waiting | Self::Done)
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
