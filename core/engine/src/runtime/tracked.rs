//! Objects of the API server that the engine writes.
//!
//! The engine decides on the cache, and the cache lags behind our own writes. So each object has at most one write in
//! flight. After a write the engine waits for its echo: the watch event that shows the object at the version of the
//! write, or at a later one. Without that wait the engine would read its own past, decide the same again, and send a
//! second, stale write.
//!
//! The steps: the order of a write sets `action`. A reply of `Done` clears it and sets `written`, unless the watch was
//! faster than the reply. The echo clears `written`. In between,
//! [`Draft::is_ready`](crate::runtime::draft::Draft::is_ready) answers no.
//!
//! Versions are compared with `<`, which is sound within one store. A store that was restored from a backup goes back
//! to lower versions: then everything is listed again, and a new list ends the wait for every echo.

use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::meta::Meta;

use crate::runtime::retry::Retry;

/// An object that the API server stores.
pub trait Object {
    /// Its metadata.
    fn meta(&self) -> &Meta;
}

/// An object, and the state of our writes to it.
#[derive(Clone, Debug)]
pub struct Tracked<T> {
    /// The object, as last observed.
    pub object: Option<T>,
    /// The state of our writes.
    pub writes: Writes,
}

/// The state of our writes to one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// The action in flight for it: at most one at a time.
    pub action: Option<ActionId>,
    /// `resourceVersion` of the last write, until its echo arrives.
    pub written: Option<u64>,
    /// Back-off.
    pub retry: Retry,
}

impl<T> Default for Tracked<T> {
    fn default() -> Self {
        Self { object: None, writes: Writes::default() }
    }
}

impl<T: Object> Tracked<T> {
    /// Its metadata, if it exists.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        self.object.as_ref().map(Object::meta)
    }

    /// Observes the object as it is now. Returns what was observed before.
    pub(crate) fn see(&mut self, object: Option<T>) -> Option<T> {
        let new = object.as_ref().map(|object| object.meta().resource_version);
        self.writes.see(self.version(), new);
        core::mem::replace(&mut self.object, object)
    }

    /// Settles a write that was ordered for the version `against`.
    pub(crate) fn settle(
        &mut self,
        outcome: &Outcome,
        against: Option<u64>,
        back_off: impl FnOnce(&mut Retry),
    ) {
        let seen = self.version();
        self.writes.settle(outcome, Versions { against, seen }, back_off);
    }

    fn version(&self) -> Option<u64> {
        self.meta().map(|meta| meta.resource_version)
    }
}

/// Versions of an object at the end of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Versions {
    /// The version that the write was ordered for.
    pub(crate) against: Option<u64>,
    /// The version that was observed last.
    pub(crate) seen: Option<u64>,
}

impl Writes {
    /// The state for an object of which nothing is known.
    pub(crate) const NONE: Self = Self { action: None, written: None, retry: Retry::NONE };

    /// The watch shows the object at the version `new`, after `seen`. A changed object ends the back-off: the reason of
    /// the last failure may be gone.
    pub(crate) fn see(&mut self, seen: Option<u64>, new: Option<u64>) {
        if new.is_some() && new >= self.written {
            self.written = None;
        }
        if seen != new {
            self.retry.look_again();
        }
    }

    /// Forgets writes to another incarnation of the object.
    pub(crate) const fn forget(&mut self) {
        self.written = None;
        self.retry = Retry::NONE;
    }

    /// Settles a write.
    ///
    /// After `Stale` and `Unknown` the watch will show the object as it is; the back-off is for the case that it does
    /// not. The watch may have shown it before the reply came, or instead of a reply: then there is nothing left to
    /// wait for.
    pub(crate) fn settle(
        &mut self,
        outcome: &Outcome,
        Versions { against, seen }: Versions,
        back_off: impl FnOnce(&mut Retry),
    ) {
        self.action = None;
        match outcome {
            Outcome::Done(receipt) => {
                self.retry = Retry::default();
                if let Receipt::Written { resource_version } = receipt {
                    self.written = (seen < Some(*resource_version)).then_some(*resource_version);
                }
            }
            Outcome::Stale | Outcome::Unknown => {
                back_off(&mut self.retry);
                if seen != against {
                    self.retry.look_again();
                }
            }
            Outcome::Retryable(_) | Outcome::Refused(_) => back_off(&mut self.retry),
        }
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::time::Timestamp;

    use super::*;

    const fn wrote(resource_version: u64) -> Outcome {
        Outcome::Done(Receipt::Written { resource_version })
    }

    fn failed(retry: &mut Retry) {
        *retry = Retry { failures: retry.failures + 1, not_before: Timestamp::from_millis(100) };
    }

    /// The version that is awaited after a write of version 5 that made version 7, when the watch had shown `seen`.
    fn settled(outcome: &Outcome, seen: u64) -> Writes {
        let mut writes = Writes { action: Some(ActionId(1)), ..Writes::default() };
        writes.settle(outcome, Versions { against: Some(5), seen: Some(seen) }, failed);
        assert_eq!(writes.action, None);
        writes
    }

    #[test]
    fn an_echo_is_awaited_unless_it_came_before_the_reply() {
        assert_eq!([5, 7, 8].map(|seen| settled(&wrote(7), seen).written), [Some(7), None, None]);
        let mut writes = settled(&wrote(7), 5);
        writes.see(Some(5), None);
        writes.see(None, Some(6));
        assert_eq!(writes.written, Some(7), "neither is it");
        writes.see(Some(6), Some(8));
        assert_eq!(writes.written, None);
    }

    #[test]
    fn a_lost_reply_is_waited_out_only_while_nothing_else_was_seen() {
        for outcome in [Outcome::Stale, Outcome::Unknown] {
            let waits = [5, 6].map(|seen| settled(&outcome, seen).retry.not_before);
            assert_eq!(waits, [Timestamp::from_millis(100), Timestamp::ZERO]);
        }
    }

    #[test]
    fn a_changed_object_ends_the_wait_and_a_repeated_one_does_not() {
        let mut writes = settled(&Outcome::Unknown, 5);
        writes.see(Some(5), Some(5));
        assert_eq!(writes.retry, Retry { failures: 1, not_before: Timestamp::from_millis(100) });
        writes.see(Some(5), Some(6));
        assert_eq!(writes.retry, Retry { failures: 1, not_before: Timestamp::ZERO });
    }
}
