//! Where a machine stands in each rollout of the fleet.

use alloc::vec::Vec;

use crate::rows::machine::Standing;

/// So many stand in the row itself; a fleet rarely moves more components at once.
const FEW: usize = 7;

/// Standings in the order of the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standings {
    few: [Standing; FEW],
    count: u8,
    /// Those after the first few.
    more: Vec<Standing>,
}

impl Standings {
    /// Of a machine of which nothing is known.
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
