//! What a Node is to pods that look for one.

use seaworthy_model::node::Health;

use crate::rows::machine::Machine;

/// What a Node is to pods that look for one. Taints of others are left out of account: which pods bear them is not known here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeUse {
    /// It takes no pods, and that is not up to us: it is not there, not ready, or people have cordoned it.
    #[default]
    Closed,
    /// It takes pods.
    Open,
    /// We keep pods off, or are about to.
    Kept,
}

impl Machine {
    /// What its Node is to pods that look for one.
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
