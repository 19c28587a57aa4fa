//! Writes of a Node, which has several writers.
//!
//! The `resourceVersion` of a Node changes all the time, so it neither fences such a write nor confirms it, as with
//! other objects. Instead the write carries tests of the fields that must be unchanged, and its echo is the first
//! observed change of what is ours on the Node.

use core::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::Detail;
use seaworthy_model::event::Outcome;
use seaworthy_model::time::Timestamp;

use crate::rows::trouble::Trouble;
use crate::runtime::retry::Retry;

/// How long the echo of a Node write may take. After that the write is retried: its tests keep it from happening twice.
const ECHO: Duration = Duration::from_secs(30);

/// The last write of a Node for one purpose, until its echo arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeWrite {
    /// A write was ordered, and no change of what is ours on the Node was observed since.
    pub awaits: bool,
    /// Why the last write failed, if it did.
    pub trouble: Option<Trouble>,
    /// When the next write may be ordered.
    pub retry: Retry,
}

impl NodeWrite {
    /// A change of what is ours on the Node was observed.
    pub(crate) const fn see(&mut self) {
        self.awaits = false;
        self.retry.look_again();
    }

    /// Settles a write. The watch of the Node will show its effect; until then nothing else is tried, unless that takes
    /// too long.
    pub(crate) fn settle(&mut self, outcome: Outcome, now: Timestamp) {
        self.trouble = match outcome {
            Outcome::Done(_) => {
                let not_before = if self.awaits { now + ECHO } else { Timestamp::ZERO };
                self.retry = Retry { failures: 0, not_before };
                None
            }
            // The change that made it stale was observed already.
            Outcome::Stale if !self.awaits => None,
            Outcome::Stale => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NodeChanged)),
            Outcome::Unknown => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NoAnswer)),
            Outcome::Retryable(cause) | Outcome::Refused(cause) => Some(cause.into()),
        };
    }
}
