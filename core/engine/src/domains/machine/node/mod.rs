//! A machine's Node: our labels and taints on it, and its drain before work that its pods would not survive.

mod attributes;
mod drain;
mod finish;
mod gone;
mod hold;
mod observe;
mod order;
mod plan;

pub(super) use finish::{finish, start};
pub(super) use gone::release_of_gone;
pub(crate) use observe::observe;
pub(super) use plan::is_intact;

use crate::world::World;

/// Begins an epoch.
pub(crate) fn begin_epoch(world: &mut World) {
    world.node_writes.clear();
}
