//! What a Node is to pods that look for one.

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
