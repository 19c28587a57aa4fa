//! Writes of a Node, which has several writers.
//!
//! Its `resourceVersion` changes all the time, so such a write is not told by it as those of other objects are: it says in
//! tests of its own what must be as it was seen, and it is seen when what is ours there changes.

use core::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::Detail;
use seaworthy_model::event::Outcome;
use seaworthy_model::time::Timestamp;

use crate::rows::trouble::Trouble;
use crate::runtime::retry::Retry;

/// So long a write of a Node may take to be seen. After that it is tried again: its tests keep it from happening twice.
const ECHO: Duration = Duration::from_secs(30);

/// The last write of a Node for one purpose, until it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeWrite {
    /// It was ordered, and nothing of ours on the Node was seen to change since.
    pub awaits: bool,
    /// Why it did not work, if it did not.
    pub trouble: Option<Trouble>,
    /// Not before that the next one is ordered.
    pub retry: Retry,
}

impl NodeWrite {
    /// What is ours on the Node was seen to change.
    pub(crate) const fn see(&mut self) {
        self.awaits = false;
        self.retry.look_again();
    }

    /// The Node's own watch shows what became of a write. Until then nothing else is tried, unless it takes too long.
    pub(crate) fn settle(&mut self, outcome: Outcome, now: Timestamp) {
        self.trouble = match outcome {
            Outcome::Done(_) => {
                let not_before = if self.awaits { now + ECHO } else { Timestamp::ZERO };
                self.retry = Retry { failures: 0, not_before };
                None
            }
            // What made it so was seen already.
            Outcome::Stale if !self.awaits => None,
            Outcome::Stale => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NodeChanged)),
            Outcome::Unknown => Some(Trouble::new(CauseKind::ApiUnavailable, Detail::NoAnswer)),
            Outcome::Retryable(cause) | Outcome::Refused(cause) => Some(cause.into()),
        };
    }
}
