//! Which machines of a rollout are permitted to change: batch after batch.

use alloc::vec::Vec;

use seaworthy_model::package_version::Rollout;
use seaworthy_model::quantity::CountOrPercent;

use super::is_done;
use crate::rows::fleet::RolloutState;
use crate::rows::rank::end_of_batch;
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
    Some(end_of_batch(&ranks, batches, state.record.admitted_below))
}
