//! Observes Nodes.

use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::report::Subject;

use super::plan::attributes_plan;
use crate::runtime::queue::Priority;
use crate::world::World;

pub(crate) fn observe(world: &mut World, id: MachineId, node: Option<NodeObject>) {
    world.ensure_machine(id);
    let before = world.machine(id).node.as_ref();
    let (was, is) = (before.map(|node| node.ready), node.as_ref().map(|node| node.state.ready));
    let cordon = |node: Option<&NodeState>| node.and_then(|node| node.cordon.clone());
    let is_remarked = match (&world.machine(id).drain, before, &node) {
        (None, before, node) => cordon(before) != cordon(node.as_ref().map(|node| &node.state)),
        (Some(_), Some(before), Some(node)) => {
            before.shape() != node.state.shape() || world.node_uid(id) != Some(node.uid)
        }
        (Some(_), before, node) => before.is_some() != node.is_some(),
    };
    if let Some(node) = &node {
        note_uid(world, id, node);
    }
    let (mut before, now) = (None, world.now);
    world.change(id, |machine| {
        before = machine.take_node(node.map(|node| node.state), now);
        if let (Some(_), Some(drain)) = (&machine.node, &mut machine.drain) {
            drain.no_node_since = None;
        }
        if was == is {
            return;
        }
        let is_lost = machine.host.unreachable_since.is_some();
        // A change of its health is a signal: read the host at once, whatever the back-off. That a lost host gets worse is no
        // news: a Node that flaps would have it tried for ever.
        if !is_lost || is == Some(Health::Healthy) {
            machine.progress.contact.retry.look_again();
        }
        let sick = is.is_some_and(|health| health != Health::Healthy);
        if sick || is_lost {
            machine.progress.contact.stale = true;
        }
    });
    if is_remarked {
        remarked(world, id);
    } else if was != is {
        world.touch(Subject::Machine(id), Priority::Normal);
    }
    weigh_attributes(world, id, before.as_ref());
}

fn note_uid(world: &mut World, id: MachineId, node: &NodeObject) {
    if world.node_uids.len() <= id.index() {
        world.node_uids.resize(id.index() + 1, Uid::default());
    }
    world.node_uids[id.index()] = node.uid;
}

/// Our mark on a Node has changed, or a field that our writes test. This is the echo of a write, if one is awaited.
fn remarked(world: &mut World, id: MachineId) {
    world.change(id, |machine| {
        if let Some(drain) = &mut machine.drain {
            drain.cordoning = false;
            drain.write.see();
        }
    });
    world.touch(Subject::Machine(id), Priority::Normal);
}

/// Compares the labels and taints of a Node with the former ones, and requeues its machine if there may be work.
fn weigh_attributes(world: &mut World, id: MachineId, before: Option<&NodeState>) {
    let machine = world.machine(id);
    let node = machine.node.as_ref();
    let parts = |node: &NodeState| (node.has_labels, node.has_annotations, node.has_taints);
    let is_other = before.is_some() != node.is_some();
    let (was, is) = (before.map(|node| &node.carried), node.map(|node| &node.carried));
    let is_changed = is_other || was != is;
    let is_shifted = is_changed || before.map(parts) != node.map(parts);
    if is_shifted && let Some(write) = world.node_writes.get_mut(&id) {
        write.see();
        if write.trouble.is_none() {
            world.node_writes.remove(&id);
        }
        world.touch(Subject::Machine(id), Priority::Normal);
    } else if is_changed && attributes_plan(world, world.machine(id)).is_some() {
        world.touch(Subject::Machine(id), Priority::Normal);
    }
}
