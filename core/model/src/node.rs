//! What the Node of a machine says about it. Liveness comes from here, never from SSH.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Three-valued health: silence is never health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Health {
    /// It says that it is well.
    Healthy,
    /// It says that it is not.
    Unhealthy,
    /// It says nothing.
    Unknown,
}

/// The part of a Node that decisions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    /// Its condition `Ready`.
    pub ready: Health,
    /// When that condition last changed.
    pub since: Timestamp,
}
