//! Where pods can go when they leave a Node: how many Nodes take pods, and how many we keep pods off. Kept
//! incrementally, like all counters.
//!
//! A small fleet must not drain itself to a standstill. If every Node is cordoned at once, no evicted pod starts
//! anywhere, no disruption budget allows another eviction, and no drain ends. So a drain does not go on if it would
//! leave no Node for the pods of other Nodes that are being drained: they drain one after the other. A single Node may
//! drain: waiting would never free capacity for its pods.

use alloc::collections::BTreeSet;

use seaworthy_model::id::MachineId;
use seaworthy_model::report::Subject;

use crate::rows::node_use::NodeUse;
use crate::runtime::queue::Priority;
use crate::world::World;

/// Counts of the Nodes that take pods, and of those that we keep pods off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    open: u32,
    kept: BTreeSet<MachineId>,
    /// Machines whose drain waits until these counts change.
    waiting: BTreeSet<MachineId>,
}

impl Nodes {
    /// Machines whose Nodes we keep pods off.
    pub(crate) fn kept(&self) -> impl Iterator<Item = MachineId> + '_ {
        self.kept.iter().copied()
    }
}

impl World {
    /// Nodes that take pods.
    #[must_use]
    pub const fn nodes_open(&self) -> u32 {
        self.nodes.open
    }

    /// Nodes that we keep pods off.
    #[must_use]
    pub fn nodes_kept(&self) -> u32 {
        u32::try_from(self.nodes.kept.len()).unwrap_or(u32::MAX)
    }

    /// How many other Nodes we keep pods off, if there are any and no other Node takes pods: their pods may be on this
    /// one, or have nowhere else to go.
    #[must_use]
    pub fn last_node(&self, id: MachineId) -> Option<u32> {
        let own = self.machine(id).derived_node;
        let open = self.nodes.open - u32::from(own == NodeUse::Open);
        let kept = self.nodes_kept() - u32::from(own == NodeUse::Kept);
        (open == 0 && kept > 0).then_some(kept)
    }

    /// Adds a machine to those whose drain waits for another Node.
    pub(crate) fn wait_for_node(&mut self, id: MachineId) {
        self.nodes.waiting.insert(id);
    }

    /// Recounts the Node of a row. If its use has changed, requeues the machines whose drain waits for another Node.
    pub(crate) fn refresh_node(&mut self, id: MachineId) {
        let node = self.machines[id].node_use();
        let before = core::mem::replace(&mut self.machines[id].derived_node, node);
        if before == node {
            return;
        }
        match before {
            NodeUse::Closed => {}
            NodeUse::Open => self.nodes.open -= 1,
            NodeUse::Kept => {
                self.nodes.kept.remove(&id);
            }
        }
        match node {
            NodeUse::Closed => {}
            NodeUse::Open => self.nodes.open += 1,
            NodeUse::Kept => {
                self.nodes.kept.insert(id);
            }
        }
        for waiting in core::mem::take(&mut self.nodes.waiting) {
            self.touch(Subject::Machine(waiting), Priority::Normal);
        }
    }
}
