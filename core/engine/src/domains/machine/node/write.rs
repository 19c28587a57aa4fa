//! Writes of labels and taints of Nodes that are under way, or did not work.

use crate::rows::trouble::Trouble;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::Detail;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::MachineId;
use seaworthy_model::node::NodeState;
use seaworthy_model::report::Subject;

use crate::domains::finish::{Terms, key};
use crate::domains::machine::node::plan::{Plan, plan};
use crate::rows::drain::ECHO;
use crate::rows::machine::{Machine, Retry};
use crate::rows::repairs::Part;
use crate::runtime::queue::Priority;
use crate::world::{InFlight, InFlightKind, World};

/// The last write of the labels and taints of one Node, until it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeWrite {
    /// It was ordered, and nothing on the Node was seen to change since.
    awaits: bool,
    /// Why it did not work.
    pub(crate) trouble: Option<Trouble>,
    /// Not before that the next one is ordered.
    pub(crate) retry: Retry,
}

impl World {
    /// The last write of labels and taints of a machine's Node, if it was not seen yet or did not work.
    pub(crate) fn node_write(&self, id: MachineId) -> Option<&NodeWrite> {
        self.node_writes.get(&id)
    }

    /// What has to change among the labels and taints of a machine's Node; `None` if it has none and none are wanted.
    pub(crate) fn attributes_plan(&self, machine: &Machine) -> Option<Plan> {
        let node = machine.node.as_ref()?;
        let wanted = machine.spec()?.node.as_deref();
        let is_recorded = node.carried.as_ref().is_some_and(|carried| carried.record.is_some());
        (wanted.is_some() || is_recorded).then(|| plan(self, wanted, node))
    }

    /// Whether nothing of ours among the labels and taints of a machine's Node has to be put right.
    pub(crate) fn is_node_intact(&self, id: MachineId) -> bool {
        let change = self.attributes_plan(self.machine(id)).and_then(|plan| plan.change);
        change.is_none_or(|change| !change.is_repair)
    }

    pub(crate) fn start_node_write(&mut self, id: MachineId) {
        self.node_writes.entry(id).or_default().awaits = true;
    }

    /// The Node's own watch shows what became of a write. Until then nothing else is tried, unless it takes too long.
    pub(crate) fn finish_node_write(
        &mut self,
        id: MachineId,
        in_flight: &InFlight,
        outcome: Outcome,
        terms: &Terms<'_>,
    ) {
        let now = self.now;
        self.note(id, |machine| machine.action = None);
        if let (InFlightKind::Attributes { is_repair: true }, Outcome::Done(_)) = (in_flight.kind, &outcome) {
            self.repairs.note(id, Part::Node, now);
        }
        let write = self.node_writes.entry(id).or_default();
        write.trouble = match outcome {
            Outcome::Done(_) => {
                write.retry = Retry { failures: 0, not_before: now + ECHO };
                None
            }
            // What made it so was seen already.
            Outcome::Stale if !write.awaits => None,
            Outcome::Stale => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NodeChanged)),
            Outcome::Unknown => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NoAnswer)),
            Outcome::Retryable(cause) | Outcome::Refused(cause) => Some(cause.into()),
        };
        if write.trouble.is_some() {
            terms.back_off(&mut write.retry, now, key(id));
        } else if !write.awaits {
            self.node_writes.remove(&id);
        }
    }

    /// A Node was seen, as it was before and as it is: looks again at its machine if that may have something to do there.
    pub(crate) fn weigh_attributes(&mut self, id: MachineId, before: Option<&NodeState>) {
        let machine = self.machine(id);
        let node = machine.node.as_ref();
        let parts = |node: &NodeState| (node.has_labels, node.has_annotations, node.has_taints);
        let is_other = before.is_some() != node.is_some();
        let (was, is) = (before.map(|node| &node.carried), node.map(|node| &node.carried));
        let is_changed = is_other || was != is;
        let is_shifted = is_changed || before.map(parts) != node.map(parts);
        if is_shifted && let Some(write) = self.node_writes.get_mut(&id) {
            write.awaits = false;
            write.retry.look_again();
            if write.trouble.is_none() {
                self.node_writes.remove(&id);
            }
            self.touch(Subject::Machine(id), Priority::Normal);
        } else if is_changed && self.attributes_plan(self.machine(id)).is_some() {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }
}
