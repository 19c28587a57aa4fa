//! Which machines of a rollout are permitted to change: batch after batch.

use alloc::vec::Vec;

use seaworthy_model::package_version::Rollout;
use seaworthy_model::quantity::CountOrPercent;

use super::is_done;
use crate::rows::fleet::RolloutState;
use crate::rows::standing::Standing;
use crate::world::World;

/// The threshold of the next batch, once every permitted machine that can be worked on is done. `None` while that is not
/// so, and when everybody is permitted.
pub(super) fn next_threshold(
    world: &World,
    (index, state): (usize, &RolloutState),
    batches: &[CountOrPercent],
) -> Option<u32> {
    if state.record.admitted_below == Rollout::EVERYBODY || !is_done(world, state) {
        return None;
    }
    if batches.is_empty() {
        return Some(Rollout::EVERYBODY);
    }
    let present = world.machines().filter(|(_, machine)| machine.standing(index) != Standing::Outside);
    let mut ranks: Vec<u32> =
        present.filter_map(|(_, machine)| Some(state.key.rank(machine.uid()?))).collect();
    ranks.sort_unstable();
    Some(threshold(&ranks, batches, state.record.admitted_below))
}

/// The first end of a batch above `below`. A batch ends just above the rank of the last machine that is in it, so machines
/// of equal rank are in one batch.
fn threshold(ranks: &[u32], batches: &[CountOrPercent], below: u32) -> u32 {
    let total = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    let ends = batches.iter().map(|batch| match ranks.get(batch.of(total) as usize - 1) {
        Some(last) if (batch.of(total) as usize) < ranks.len() => last + 1,
        Some(_) | None => Rollout::EVERYBODY,
    });
    ends.chain([Rollout::EVERYBODY]).find(|end| *end > below).unwrap_or(Rollout::EVERYBODY)
}

#[cfg(test)]
mod tests {
    use seaworthy_model::quantity::CountOrPercent::{Count, Percent};

    use super::*;

    #[test]
    fn a_batch_ends_above_its_last_machine() {
        let ranks: Vec<u32> = (1..=200).map(|rank| rank * 10).collect();
        let batches = [Count(1), Percent(1), Percent(10), Percent(50)];
        let mut ends = Vec::from([0]);
        while ends.last() != Some(&Rollout::EVERYBODY) {
            ends.push(threshold(&ranks, &batches, ends[ends.len() - 1]));
        }
        assert_eq!(ends, [0, 11, 21, 201, 1001, Rollout::EVERYBODY]);
    }

    #[test]
    fn machines_of_equal_rank_are_in_one_batch() {
        assert_eq!(threshold(&[5, 5, 5, 9], &[Count(1)], 0), 6);
        assert_eq!(threshold(&[5, 5, 5, 9], &[Count(1), Count(2)], 6), Rollout::EVERYBODY);
    }

    #[test]
    fn a_batch_of_everybody_is_the_last() {
        assert_eq!(threshold(&[5], &[Percent(1)], 0), Rollout::EVERYBODY);
        assert_eq!(threshold(&[], &[Count(3)], 0), Rollout::EVERYBODY);
        assert_eq!(threshold(&[1, 2], &[Percent(100)], 0), Rollout::EVERYBODY);
    }
}
