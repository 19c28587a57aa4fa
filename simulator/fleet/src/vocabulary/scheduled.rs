//! Injections that a fault makes at times of its own.

use seaworthy_kernel::Timestamp;

use super::Injection;

/// An injection that a fault makes at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The time of the injection.
    pub at: Timestamp,
    /// The injection.
    pub injection: Injection,
    /// The end of the injection, and the injection that reverts it.
    pub end: Option<(Timestamp, Injection)>,
}
