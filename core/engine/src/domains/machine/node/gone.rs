//! The Node of a Machine that is gone, while it carries our mark.
//!
//! A Machine goes after the mark was removed, as far as its operator knew: a watch may not have shown the mark yet, and
//! people may remove a finalizer. Nobody else would remove it. The Node would take no pods for ever, and the mark takes a
//! unit of `maxUnavailable`.

use alloc::boxed::Box;

use seaworthy_model::report::{Blocker, WakeReason};

use super::order::{NodeWork, order_node};
use crate::domains::draft::Draft;
use crate::rows::machine::Machine;
use crate::world::World;

/// Removes our mark from the Node of a row without a Machine.
pub(in crate::domains::machine) fn release_of_gone(world: &World, machine: &Machine, draft: &mut Draft<'_>) {
    let Some(node) = machine.node.as_ref().filter(|_| machine.has_our_cordon()) else { return };
    if let Some(blocker) = world.gate_of(machine.id) {
        return draft.wait(blocker);
    }
    let until = machine.drain.as_deref().map(|drain| drain.write.retry.not_before);
    if let Some(until) = until.filter(|until| draft.now < *until) {
        draft.wake_at(until, WakeReason::BackOff);
        return draft.wait(Blocker::BackOff { until });
    }
    let uncordon = machine.uncordon(node);
    order_node(world, machine.id, draft, NodeWork::Uncordon(Box::new(uncordon)));
}
