//! Starts and settles writes of the Lease, and `Watch`.

use alloc::boxed::Box;
use core::time::Duration;

use seaworthy_model::draw::below;
use seaworthy_model::effect::{ActionId, Effect};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::lease::Epoch;

use super::{Reset, observe};
use crate::rows::ticket::{InFlight, Ticket};
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;

/// A write of the Lease, or a list, is ordered.
pub(crate) fn start(world: &mut World, action: ActionId, effect: &Effect) {
    world.leadership.action = Some(action);
    if let Effect::WriteLease(record) = effect {
        world.leadership.ordered = Some(Box::new(record.clone()));
    }
}

/// Settles it. Returns what every domain has to forget, if that gives us an epoch.
pub(crate) fn finish(
    world: &mut World,
    in_flight: &InFlight,
    outcome: Outcome,
    terms: &Terms<'_>,
) -> Option<Reset> {
    let now = world.now;
    let leadership = &mut world.leadership;
    leadership.action = None;
    if let Ticket::Watch(store) = in_flight.ticket {
        if !matches!(outcome, Outcome::Done(_)) {
            world.stores.open(store).watching = false;
            terms.back_off(&mut leadership.retry, now, 0);
        }
        return None;
    }
    let outcome = match outcome {
        Outcome::Done(receipt) => {
            leadership.retry = Retry::default();
            if let Receipt::Written { resource_version } = receipt {
                leadership.wrote(resource_version);
            }
            return leadership.taking.filter(|epoch| *epoch != Epoch::VACANT).map(Reset::Epoch);
        }
        failed @ (Outcome::Stale | Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown) => failed,
    };
    leadership.retry.failures = leadership.retry.failures.saturating_add(1);
    let key = [terms.seed.0, 5, now.millis(), u64::from(leadership.retry.failures)];
    let fifth = u64::try_from(terms.config.retry_period.as_millis() / 5).unwrap_or(u64::MAX);
    leadership.retry.not_before =
        now + terms.config.retry_period + Duration::from_millis(below(&key, fifth.max(1)));
    // The reply was lost: the Lease is going to show whether the write succeeded.
    if outcome == Outcome::Unknown {
        return None;
    }
    leadership.ordered = None;
    if outcome == Outcome::Stale {
        // Another process has written it: its holder is alive, even if our watch does not show that.
        leadership.seen_at = None;
        // The watch may not even show that there is one.
        world.stores.home.watching &= leadership.lease.is_some();
        if let Some(behind) = leadership.behind.take_if(|_| leadership.overdue) {
            // The watch was right after all: the store was restored from a backup.
            leadership.written = None;
            return observe::take_in(world, Some(behind));
        }
        // The write in between was an earlier renewal of ours, and the watch has shown it: no other process has written.
        if leadership.is_holder() && leadership.version() > in_flight.resource_version {
            leadership.retry.look_again();
        }
    }
    None
}
