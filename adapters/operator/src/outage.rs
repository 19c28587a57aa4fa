//! One log line for an outage of the API server. While it lasts, hundreds of writes fail for the same reason.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::event::Outcome;

/// Whether writes fail because the API server does not take them now.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    pub(crate) lasts: bool,
}

/// What an outcome says about the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// An outage has begun.
    Begins,
    /// An outage goes on. It was told before.
    Lasts,
    /// An outage is over.
    Over,
    /// Nothing.
    None,
}

impl Outage {
    /// Takes the outcome of an action; `is_write` if it was a write to the API server.
    pub(crate) fn see(&mut self, outcome: &Outcome, is_write: bool) -> News {
        let lasted = self.lasts;
        match outcome {
            Outcome::Retryable(cause) if cause.kind == CauseKind::ApiUnavailable => {
                self.lasts = true;
                if lasted { News::Lasts } else { News::Begins }
            }
            Outcome::Done(_) if is_write => {
                self.lasts = false;
                if lasted { News::Over } else { News::None }
            }
            Outcome::Done(_)
            | Outcome::Stale
            | Outcome::Retryable(_)
            | Outcome::Refused(_)
            | Outcome::Unknown => News::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::cause::Cause;
    use seaworthy_model::event::Receipt;

    use super::*;

    #[test]
    fn an_outage_is_told_once_when_it_begins_and_once_when_it_is_over() {
        let away = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "refused"));
        let down = Outcome::Retryable(Cause::new(CauseKind::ConnectionFailed, "a host"));
        let done = Outcome::Done(Receipt::Written { resource_version: 1 });
        let mut outage = Outage::default();
        let mut see = |outcome, is_write| outage.see(outcome, is_write);
        assert_eq!(see(&done, true), News::None);
        assert_eq!(
            [see(&away, true), see(&away, true), see(&down, false)],
            [News::Begins, News::Lasts, News::None]
        );
        assert_eq!(see(&done, false), News::None, "a host has answered");
        assert_eq!([see(&done, true), see(&done, true)], [News::Over, News::None]);
    }
}
