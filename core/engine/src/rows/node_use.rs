//! Whether a Node takes pods.

/// Whether a Node takes pods. Taints of other owners do not count here: the engine does not know which pods tolerate
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeUse {
    /// It takes no pods, and not because of us: it does not exist, is not ready, or somebody else has cordoned it.
    #[default]
    Closed,
    /// It takes pods.
    Open,
    /// We keep pods off, or are about to.
    Kept,
}
