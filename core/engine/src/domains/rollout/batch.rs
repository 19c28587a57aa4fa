//! How many machines may be at work at once, and which are admitted next.

use seaworthy_model::package_version::Rollout;

use crate::rows::fleet::RolloutState;
use crate::world::World;

/// A batch is admitted when it is at least one part in this many of all slots, so that a rollout of a large fleet costs
/// a few dozen writes and not one per machine.
const BATCH_PART: u32 = 4;

/// The next batch of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Admit all machines below a rank.
    Admit {
        /// The new threshold.
        below: u32,
        /// How many of them need a slot.
        count: u32,
    },
    /// There is room, but for so few machines that it is worth waiting a little for more.
    TooSmall,
    /// There is no room.
    Full,
}

/// Slots that are free for admission. Machines that wait for nothing but a slot go first: they were admitted before, or
/// a person changed that very machine.
pub(crate) fn free_slots(world: &World) -> u32 {
    world.slots().saturating_sub(world.occupied()).saturating_sub(world.waiting())
}

/// What a rollout may admit next, with `free` slots. Its failures limit it as well.
pub(crate) fn next_batch(world: &World, state: &RolloutState, free: u32, waited: bool) -> Batch {
    let counts = &state.counts;
    let room = free.min(counts.room(world.failures_max()));
    if room == 0 && needs_slot(world, state) {
        return Batch::Full;
    }
    let worth = (world.slots() / BATCH_PART).max(1).min(counts.waiting);
    if room < worth && counts.at_work() > 0 && !waited {
        return Batch::TooSmall;
    }
    let mut count = 0;
    let mut last = None;
    for &(rank, id) in &state.waiting {
        let machine = world.machine(id);
        if machine.host.unreachable_since.is_some() || machine.blocked.is_some() {
            continue;
        }
        // Machines of equal rank are admitted together: a threshold cannot separate them.
        if count >= room && last != Some(rank) {
            return Batch::Admit { below: rank, count };
        }
        last = Some(rank);
        count += 1;
    }
    Batch::Admit { below: Rollout::EVERYBODY, count }
}

/// Whether any waiting machine would need a slot.
fn needs_slot(world: &World, state: &RolloutState) -> bool {
    state.waiting.iter().any(|&(_, id)| {
        let machine = world.machine(id);
        machine.host.unreachable_since.is_none() && machine.blocked.is_none()
    })
}
