//! A machine's Node: what is ours among its labels and taints, and the drain before work that pods would not outlive.

mod attributes;
mod drain;
mod finish;
mod observe;
mod order;
mod plan;

pub(super) use finish::{finish, start};
pub(crate) use observe::observe;
pub(super) use plan::is_intact;

use crate::world::World;

/// A new epoch begins.
pub(crate) fn begin_epoch(world: &mut World) {
    world.node_writes.clear();
}
