//! Orders to a machine's Node, or to what runs there.

use alloc::boxed::Box;

use seaworthy_model::attributes::AttributesChange;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::id::MachineId;
use seaworthy_model::node::{NodeCordon, NodeUncordon};
use seaworthy_model::pod::PodName;

use crate::domains::draft::Draft;
use crate::domains::machine::step::Step;
use crate::rows::ticket::{NodeTicket, Ticket};
use crate::world::World;

/// An order to a Node, or to what runs there.
#[derive(Clone, Debug)]
pub(super) enum NodeWork {
    Cordon(Box<NodeCordon>),
    Uncordon(Box<NodeUncordon>),
    Attributes(Box<AttributesChange>),
    Delete,
    ListPods(Option<u64>),
    Evict(Box<PodName>),
    DeletePod(Box<PodName>),
}

impl Step<'_> {
    /// Orders work on the Node, or on what runs there.
    pub(super) fn order_node(self, draft: &mut Draft<'_>, work: NodeWork) {
        order_node(self.world, self.machine.id, draft, work);
    }
}

/// Orders work on the Node of a row, or on what runs there.
pub(super) fn order_node(world: &World, id: MachineId, draft: &mut Draft<'_>, work: NodeWork) {
    let same = world.node_uid(id).map_or(Fence::Absent, Fence::Incarnation);
    let (fence, effect, ticket) = match work {
        NodeWork::Cordon(cordon) => (same, Effect::Cordon(cordon), NodeTicket::Cordon),
        NodeWork::Uncordon(uncordon) => (same, Effect::Uncordon(uncordon), NodeTicket::Uncordon),
        NodeWork::Attributes(change) => {
            let ticket = NodeTicket::Attributes { is_repair: change.is_repair };
            (same, Effect::WriteNodeAttributes(change), ticket)
        }
        NodeWork::Delete => (same, Effect::DeleteNode, NodeTicket::Delete),
        NodeWork::ListPods(under) => (Fence::None, Effect::ListPods, NodeTicket::ListPods(under)),
        NodeWork::Evict(pod) => (Fence::Incarnation(pod.uid), Effect::Evict(pod), NodeTicket::Evict),
        NodeWork::DeletePod(pod) => (Fence::Incarnation(pod.uid), Effect::DeletePod(pod), NodeTicket::Evict),
    };
    draft.order(Target::Node(id), fence, effect, Ticket::Node(ticket));
}
