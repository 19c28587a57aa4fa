//! What a machine's row knows of its Node: what is ours there, and whether it takes pods.

use seaworthy_model::lease::Epoch;
use seaworthy_model::node::{Health, Mark, NodeState, NodeUncordon};
use seaworthy_model::pod::DrainPolicy;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::node_use::NodeUse;

impl Machine {
    /// Whether its Node carries any part of a cordon of ours: the taint or the mark, of whichever operator.
    #[must_use]
    pub fn has_our_cordon(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.is_ours())
    }

    /// Whether its Node takes no pods, and not because of us.
    pub(crate) fn is_cordoned_by_others(&self) -> bool {
        let cordon = self.node.as_ref().and_then(|node| node.cordon.as_ref());
        self.is_live() && cordon.is_some_and(|cordon| cordon.unschedulable && cordon.mark.is_none())
    }

    /// Whether its Node carries a mark of this Machine, set by any operator.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        let mark = self.node.as_ref().and_then(|node| node.mark());
        mark.is_some_and(|mark| Some(mark.machine) == self.uid())
    }

    /// The mark on its Node, if the engine may rely on it: of this Machine, set in this epoch, with its taint, and
    /// newer than any mark that was ordered to be removed. Such a removal, or a copy of it, may still be on its way.
    #[must_use]
    pub fn mark(&self, epoch: Epoch) -> Option<&Mark> {
        let cordon = self.node.as_ref()?.cordon.as_ref().filter(|cordon| cordon.taint.is_some())?;
        let (mark, _) = cordon.mark.as_ref()?;
        let is_firm = Some(mark.machine) == self.uid() && mark.epoch == epoch && mark.order > self.lifted;
        is_firm.then_some(mark)
    }

    /// Whether people have uncordoned its Node under the present mark, given the Node before.
    pub(crate) fn is_freed(&self, before: Option<&NodeState>) -> bool {
        let text = |node: &NodeState| {
            let mark = node.cordon.as_ref().and_then(|cordon| cordon.mark.as_ref());
            mark.filter(|(mark, _)| !mark.found_unschedulable).map(|(_, text)| text.clone())
        };
        let Some((node, mark)) = self.node.as_ref().and_then(|node| Some((node, text(node)?))) else {
            return false;
        };
        let is_same = || before.and_then(text).as_ref() == Some(&mark);
        node.cordon.as_ref().is_some_and(|cordon| !cordon.unschedulable) || (self.freed && is_same())
    }

    /// Ends an action on its Node that was ordered in another epoch: its outcome does not count any more.
    pub(crate) fn forget_action(&mut self) {
        self.progress.writes.action = None;
        if let Some(drain) = &mut self.drain {
            drain.begins = false;
        }
    }

    /// Whether there is something to decide about: a Machine, or the mark that a Machine left on its Node when it went.
    pub(crate) fn is_decided(&self) -> bool {
        self.object.is_some() || self.has_our_cordon()
    }

    /// What takes our cordon off its Node.
    pub(crate) fn uncordon(&self, node: &NodeState) -> NodeUncordon {
        let stays_unschedulable = self.leaves_unschedulable(node);
        NodeUncordon { shape: node.shape(), stays_unschedulable }
    }

    /// Whether it is up to others that its Node is unschedulable: it was before our mark came, or people have uncordoned it
    /// since.
    pub(crate) fn leaves_unschedulable(&self, node: &NodeState) -> bool {
        self.freed || node.mark().is_none_or(|mark| mark.found_unschedulable)
    }

    /// Whether its Node is cordoned by us, or may soon be.
    pub(crate) fn holds_node(&self) -> bool {
        self.has_our_cordon() || self.drain.as_ref().is_some_and(|drain| drain.begins || drain.cordoning)
    }

    /// Whether its Node is cordoned by us, and some pods could not be evicted when that was last tried.
    pub(crate) fn is_drain_held_up(&self) -> bool {
        self.holds_node() && self.drain.as_ref().is_some_and(|drain| drain.is_held_up())
    }

    /// `now`, if its Node is not ready: then pods that are to end there do not end.
    #[must_use]
    pub fn unready_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.node.as_ref().filter(|node| node.ready != Health::Healthy).map(|_| now)
    }

    /// Whether its Node was observed empty under its present cordon, at `since` or later.
    #[must_use]
    pub fn is_drained(
        &self,
        policy: DrainPolicy,
        epoch: Epoch,
        (since, now): (Timestamp, Timestamp),
    ) -> bool {
        let Some(listed) = self.drain.as_ref().and_then(|drain| drain.pods.as_ref()) else { return false };
        let cordoned = self.mark(epoch).map(|mark| mark.order);
        cordoned.is_some()
            && listed.under == cordoned
            && listed.at >= since
            && listed.left(policy, self.unready_at(now)).next().is_none()
    }

    /// Whether its Node takes pods.
    #[must_use]
    pub fn node_use(&self) -> NodeUse {
        let Some(node) = &self.node else { return NodeUse::Closed };
        if self.holds_node() {
            return NodeUse::Kept;
        }
        let is_cordoned = node.cordon.as_ref().is_some_and(|cordon| cordon.unschedulable);
        if node.ready == Health::Healthy && !is_cordoned { NodeUse::Open } else { NodeUse::Closed }
    }
}
