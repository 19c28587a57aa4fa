//! The draft of one subject's decision: a controller fills it in, and the engine then puts it into effect.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::id::StoreId;
use seaworthy_model::meta::Meta;
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::runtime::tracked::{Object, Tracked, Writes};

/// A decision about one subject. It holds at most one action, since the next one depends on how this one ends.
///
/// `N` is the type of the notes that the engine remembers, `T` the ticket of the action while it is in flight.
#[derive(Debug)]
pub(crate) struct Draft<'a, N, T> {
    pub(crate) config: &'a Config,
    /// The store of the subject.
    pub(crate) store: StoreId,
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
    pub(crate) store: StoreId,
    pub(crate) target: Target,
    pub(crate) fence: Fence,
    pub(crate) deadline: Timestamp,
    pub(crate) effect: Effect,
    pub(crate) ticket: T,
}

impl<'a, N, T> Draft<'a, N, T> {
    /// An empty draft. `notes` is an empty buffer for its notes.
    pub(crate) const fn new(
        (config, seed): (&'a Config, Seed),
        store: StoreId,
        now: Timestamp,
        notes: Vec<N>,
    ) -> Self {
        Self { config, store, seed, now, order: None, blocker: None, wake: None, notes }
    }

    pub(crate) const fn wait(&mut self, blocker: Blocker) {
        self.blocker = Some(blocker);
    }

    /// Waits for something, unless the draft already waits for something else: an earlier blocker may be the cause.
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

    /// The object, if the engine may decide about it now. If not, the draft records the blocker.
    pub(crate) fn ready<'t, O: Object>(&mut self, tracked: &'t Tracked<O>) -> Option<&'t O> {
        let object = tracked.object.as_ref()?;
        self.is_ready(&tracked.writes).then_some(object)
    }

    /// Whether the engine may decide now about an object with these writes. If not, the draft records the blocker.
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

    /// Orders an effect of the API server or the driver, with the usual deadline.
    pub(crate) fn order(&mut self, target: Target, fence: Fence, effect: Effect, ticket: T) {
        self.order_within(self.config.api_deadline, (target, fence), effect, ticket);
    }

    /// Orders an effect with a deadline of its own.
    pub(crate) fn order_within(
        &mut self,
        within: Duration,
        (target, fence): (Target, Fence),
        effect: Effect,
        ticket: T,
    ) {
        let (store, deadline) = (self.store, self.now + within);
        self.order = Some(Order { store, target, fence, deadline, effect, ticket });
    }
}

/// The fence of a write that holds only while the object is as it is now.
pub(crate) const fn unchanged(meta: &Meta) -> Fence {
    Fence::Unchanged { uid: meta.uid, resource_version: meta.resource_version }
}
