//! Objects of the API server that the engine writes.
//!
//! What is decided about an object is decided on the cache, and the cache lags behind our own writes. So there is one write
//! at a time, and after it nothing is decided before the watch has shown it: its echo. Otherwise the same would be decided
//! twice, and the second write would be stale.

use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::meta::Meta;

use crate::runtime::retry::Retry;

/// Something that the API server keeps.
pub trait Object {
    /// Its metadata.
    fn meta(&self) -> &Meta;
}

/// An object, and what became of our writes of it.
#[derive(Clone, Debug)]
pub struct Tracked<T> {
    /// As last seen.
    pub object: Option<T>,
    /// Our writes.
    pub writes: Writes,
}

/// What became of our writes of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// The action under way for it: at most one at a time.
    pub action: Option<ActionId>,
    /// `resourceVersion` of the last one, until it was seen.
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

    /// Takes in the object as it is now. Gives back what was seen before.
    pub(crate) fn see(&mut self, object: Option<T>) -> Option<T> {
        let new = object.as_ref().map(|object| object.meta().resource_version);
        self.writes.see(self.version(), new);
        core::mem::replace(&mut self.object, object)
    }

    /// A write has ended that was ordered for the version `against`.
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
    /// The one that it was ordered for.
    pub(crate) against: Option<u64>,
    /// The one that was seen last.
    pub(crate) seen: Option<u64>,
}

impl Writes {
    /// Of an object of which nothing is known.
    pub(crate) const NONE: Self = Self { action: None, written: None, retry: Retry::NONE };

    /// The watch shows the object at the version `new`, and before that at `seen`. A changed object is something else to
    /// try with, whatever made the last try fail.
    pub(crate) fn see(&mut self, seen: Option<u64>, new: Option<u64>) {
        if new.is_some() && new >= self.written {
            self.written = None;
        }
        if seen != new {
            self.retry.look_again();
        }
    }

    /// Forgets what was written to another incarnation of the object.
    pub(crate) const fn forget(&mut self) {
        self.written = None;
        self.retry = Retry::NONE;
    }

    /// A write has ended.
    ///
    /// After `Stale` and `Unknown` the watch will show what there is; the back-off is for the case that it does not. The watch
    /// may have shown it before the reply came, or instead of a reply: then there is nothing left to wait for.
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
