//! The draft of one subject's decision: what a controller writes into, and the engine then puts into effect.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::meta::Meta;
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::runtime::tracked::{Object, Tracked, Writes};

/// A decision about one subject. At most one action, since the next one depends on how it ends.
///
/// `N` is what it leaves to be remembered, `T` what its action is called while that is under way.
#[derive(Debug)]
pub(crate) struct Draft<'a, N, T> {
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
    pub(crate) now: Timestamp,
    pub(crate) order: Option<Order<T>>,
    pub(crate) blocker: Option<Blocker>,
    pub(crate) wake: Option<(Timestamp, WakeReason)>,
    pub(crate) notes: Vec<N>,
}

/// An action that has no number yet.
#[derive(Debug)]
pub(crate) struct Order<T> {
    pub(crate) target: Target,
    pub(crate) fence: Fence,
    pub(crate) deadline: Timestamp,
    pub(crate) effect: Effect,
    pub(crate) ticket: T,
}

impl<'a, N, T> Draft<'a, N, T> {
    /// Nothing is decided yet. Notes are kept in `notes`, which is empty.
    pub(crate) const fn new(config: &'a Config, seed: Seed, now: Timestamp, notes: Vec<N>) -> Self {
        Self { config, seed, now, order: None, blocker: None, wake: None, notes }
    }

    pub(crate) const fn wait(&mut self, blocker: Blocker) {
        self.blocker = Some(blocker);
    }

    /// Waits for something that only matters if nothing else is waited for: that may be what it comes from.
    pub(crate) fn wait_as_well(&mut self, blocker: Blocker) {
        self.blocker.get_or_insert(blocker);
    }

    pub(crate) fn note(&mut self, note: impl Into<N>) {
        self.notes.push(note.into());
    }

    pub(crate) fn wake_at(&mut self, at: Timestamp, reason: WakeReason) {
        self.wake = Some(self.wake.map_or((at, reason), |present| present.min((at, reason))));
    }

    /// Waits out a back-off.
    pub(crate) fn back_off(&mut self, until: Timestamp) {
        self.wait(Blocker::BackOff { until });
        self.wake_at(until, WakeReason::BackOff);
    }

    /// The object, if something may be decided about it now. If not, the draft says what has to pass first.
    pub(crate) fn ready<'t, O: Object>(&mut self, tracked: &'t Tracked<O>) -> Option<&'t O> {
        let object = tracked.object.as_ref()?;
        self.is_ready(&tracked.writes).then_some(object)
    }

    /// Whether something may be decided now about an object with these writes. If not, the draft says what has to pass first.
    pub(crate) fn is_ready(&mut self, writes: &Writes) -> bool {
        if writes.action.is_some() {
            self.wait(Blocker::InFlight);
        } else if writes.written.is_some() {
            self.wait(Blocker::AwaitingOwnWrite);
        } else if self.now < writes.retry.not_before {
            self.back_off(writes.retry.not_before);
        } else {
            return true;
        }
        false
    }

    /// Orders something of the API server or the driver.
    pub(crate) fn order(&mut self, target: Target, fence: Fence, effect: Effect, ticket: T) {
        self.order_within(self.config.api_deadline, (target, fence), effect, ticket);
    }

    /// Orders something that may take so long.
    pub(crate) fn order_within(
        &mut self,
        within: Duration,
        (target, fence): (Target, Fence),
        effect: Effect,
        ticket: T,
    ) {
        self.order = Some(Order { target, fence, deadline: self.now + within, effect, ticket });
    }
}

/// The fence of a write that was made for the object as it is now.
pub(crate) const fn unchanged(meta: &Meta) -> Fence {
    Fence::Unchanged { uid: meta.uid, resource_version: meta.resource_version }
}
