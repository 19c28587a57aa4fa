//! What a fault does to the world at a time of its own.

use seaworthy_kernel::Timestamp;

use super::Injection;

/// Something that a fault does at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// When.
    pub at: Timestamp,
    /// What.
    pub injection: Injection,
    /// When the injection ends, and the injection that reverts it.
    pub end: Option<(Timestamp, Injection)>,
}
