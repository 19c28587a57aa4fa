//! Takes the Lease when it is free or expired, renews it and releases it; and lists everything again once it is ours.
//!
//! ```text
//!   Lease seen --> held by another --> stand by until it has not changed for its duration --\
//!              \-> names an epoch, free -----------------------------------------------------+-> take the next epoch
//!              \-> absent or vacant --> Watch --> no machine known -------------------------/         |
//!                                            \-> machines known: hold it vacant, StoreRegressed        v
//!                                                                     \-- a person adopts --> Watch --> act, renew
//! ```
//!
//! Only lists that follow the taking count: they contain everything that an older operator wrote before it.
//!
//! client-go ends a process that could not renew in time, since it cannot know what else the process is doing. Here
//! everything passes one gate. The engine closes the gate, and opens it again if no other process has taken the Lease
//! meanwhile.

mod finish;
mod observe;

use alloc::string::String;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::id::{Kind, StoreId};
use seaworthy_model::lease::{Epoch, LeaseObject, LeaseRecord};
use seaworthy_model::report::{Blocker, Subject, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::domains::draft::Draft;
use crate::rows::leadership::Leadership;
use crate::rows::note::LeadershipNote;
use crate::rows::ticket::Ticket;
use crate::runtime::queue::Priority;
use crate::world::World;

pub(super) use finish::{finish, start};
pub(super) use observe::{observe, open, stop, synced};

/// What every domain has to forget at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reset {
    /// This epoch is ours: what is known of hosts was learnt under an older fence.
    Epoch(Epoch),
    /// A store is listed again.
    Lists(StoreId),
}

/// The duration in a released Lease: client-go's `release` writes one second, too.
const RELEASED: Duration = Duration::from_secs(1);

/// A new epoch begins.
pub(super) fn begin_epoch(world: &mut World) {
    let leadership = &mut world.leadership;
    leadership.began_at = world.now;
    leadership.taking = None;
    leadership.sequence = 0;
    leadership.lost = false;
    leadership.ahead = None;
    for store in world.stores.ids() {
        world.stores.open(store).watching = false;
    }
    observe::look_for_successor(world);
    world.touch(Subject::Leadership, Priority::Urgent);
}

/// Earlier lists of a store do not count any more.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    world.stores.open(store).unsync();
}

/// A turn begins.
pub(super) fn begin_turn(world: &mut World, now: Timestamp, config: &Config) {
    let before = core::mem::replace(&mut world.now, now);
    // This comes before any decision: a process that slept past its renewals must not act on what it believed before.
    if world.leadership.tell_time(before, now, config) {
        world.touch_held_up();
    }
}

/// Orders new lists if a decision asked for them. This happens at the start of a turn, before anything is decided.
pub(super) fn take_up_lists(world: &mut World) {
    if !world.stores.is_outdated() {
        return;
    }
    for store in world.stores.ids() {
        let store = world.stores.open(store);
        store.watching &= !core::mem::take(&mut store.outdated);
    }
    world.touch(Subject::Leadership, Priority::Urgent);
}

/// `Watch` of a store is ordered.
fn begin_lists(world: &mut World, id: StoreId) -> Reset {
    let now = world.now;
    let store = world.stores.open(id);
    store.watching = true;
    store.lists += 1;
    store.listed_at = now;
    Reset::Lists(id)
}

/// Applies a note of a decision.
pub(super) fn remember(world: &mut World, note: LeadershipNote) -> Option<Reset> {
    match note {
        LeadershipNote::Lost => observe::lose_lease(world),
        LeadershipNote::Taking(epoch) => world.leadership.taking = epoch,
        LeadershipNote::Released => world.leadership.released = true,
        LeadershipNote::Outdated(store) => world.stores.open(store).outdated = true,
        LeadershipNote::Watch(store) => return Some(begin_lists(world, store)),
    }
    None
}

/// Orders the driver to list and watch everything in a store.
fn watch(draft: &mut Draft<'_>, store: StoreId) {
    draft.note(LeadershipNote::Watch(store));
    draft.store = store;
    draft.order(Target::Driver, Fence::None, Effect::Watch, Ticket::Watch(store));
}

/// Writes the Lease, with a deadline that leaves time for the next try.
fn write_lease(draft: &mut Draft<'_>, fence: Fence, record: LeaseRecord) {
    let patience = if record.is_renewal() { draft.config.retry_period } else { draft.config.api_deadline };
    let within = patience.min(draft.config.api_deadline);
    draft.order_within(within, (Target::Lease, fence), Effect::WriteLease(record), Ticket::Write);
}

pub(super) fn reconcile(world: &World, draft: &mut Draft<'_>) {
    let leadership = &world.leadership;
    if let Some(by) = leadership.stepped_down {
        return draft.wait(Blocker::SteppedDown { by });
    }
    if leadership.action.is_some() {
        return draft.wait(Blocker::InFlight);
    }
    if leadership.stopping {
        return release(leadership, draft);
    }
    if draft.now < leadership.retry.not_before {
        return draft.back_off(leadership.retry.not_before);
    }
    if !leadership.lease_seen {
        return draft.wait(Blocker::NotSynced(Kind::Lease));
    }
    let Some(lease) = leadership.lease.as_deref() else {
        return make(world, leadership, draft);
    };
    if let Some(at) = leadership.runs_out_at(draft.config).filter(|at| draft.now < *at) {
        draft.wake_at(at, WakeReason::Lease);
        return draft.wait(Blocker::Standby { of: lease.record.epoch });
    }
    if leadership.epoch.is_none() || leadership.lost || leadership.ahead.is_some() {
        take(world, lease, draft);
    } else if !renew(leadership, lease, draft) {
        match (world.stores.unwatched(), world.stores.home.unsynced()) {
            (Some(store), _) => watch(draft, store),
            (None, Some(kind)) => draft.wait(Blocker::NotSynced(kind)),
            (None, None) => {}
        }
    }
}

/// There is no Lease: creates one. It is vacant if any Machine has a recorded host, since then there must have been
/// another Lease.
fn make(world: &World, leadership: &Leadership, draft: &mut Draft<'_>) {
    if !world.stores.home.watching {
        // The list contains the Lease too, even one that we have created and that the watch misses: without its uid we
        // could not renew it.
        return watch(draft, StoreId::HOME);
    }
    if leadership.written.is_some() {
        return draft.wait(Blocker::AwaitingOwnWrite);
    }
    if let (None, Some(kind)) = (leadership.epoch, world.stores.home.unsynced()) {
        return draft.wait(Blocker::NotSynced(kind));
    }
    let forgotten = leadership.lost || world.imported() > 0;
    let epoch = if forgotten { Epoch::VACANT } else { Epoch::FIRST };
    if forgotten {
        draft.note(LeadershipNote::Lost);
    }
    draft.note(LeadershipNote::Taking(Some(epoch)));
    let record = taken(draft, epoch);
    write_lease(draft, Fence::Absent, record);
}

/// Takes a Lease that no other process holds any more, unless the store has lost operators that hosts or Machines still
/// know of.
fn take(world: &World, lease: &LeaseObject, draft: &mut Draft<'_>) {
    let leadership = &world.leadership;
    let epoch_known = leadership.epoch.unwrap_or_default();
    if let Some(adopted) = leadership.adoption() {
        return take_over(lease, adopted.max(lease.record.epoch).max(epoch_known), draft);
    }
    if leadership.lost || leadership.ahead.is_some() {
        return hold(world, lease, draft);
    }
    if lease.record.epoch > Epoch::VACANT {
        return take_over(lease, lease.record.epoch, draft);
    }
    if !world.stores.home.watching {
        return watch(draft, StoreId::HOME);
    }
    if let Some(kind) = world.stores.home.unsynced() {
        return draft.wait(Blocker::NotSynced(kind));
    }
    if world.imported() > 0 {
        draft.note(LeadershipNote::Lost);
        return hold(world, lease, draft);
    }
    take_over(lease, Epoch::VACANT, draft);
}

/// Takes the Lease with the epoch after `last`.
fn take_over(lease: &LeaseObject, last: Epoch, draft: &mut Draft<'_>) {
    let Some(epoch) = last.next() else { return draft.wait(Blocker::EpochsExhausted { last }) };
    draft.note(LeadershipNote::Taking(Some(epoch)));
    let record = taken(draft, epoch);
    write_lease(draft, unchanged(lease), record);
}

/// Holds the Lease until a person adopts: so one process reports, and the others stand by. No two processes ever share
/// an epoch, even if neither acts.
fn hold(world: &World, lease: &LeaseObject, draft: &mut Draft<'_>) {
    let leadership = &world.leadership;
    draft.wait(match leadership.refused_adoption() {
        Some(asked) => Blocker::AdoptionRefused { asked },
        None => Blocker::StoreRegressed { seen: leadership.ahead.unwrap_or_default() },
    });
    if leadership.is_holder() {
        if !renew(leadership, lease, draft) && !world.stores.home.watching {
            // Without the objects there is no status to report the wait in.
            watch(draft, StoreId::HOME);
        }
    } else {
        let last = lease.record.epoch;
        let next = if last == Epoch::VACANT { Some(last) } else { last.next() };
        let Some(epoch) = next else { return draft.wait(Blocker::EpochsExhausted { last }) };
        draft.note(LeadershipNote::Taking(None));
        let record = taken(draft, epoch);
        write_lease(draft, unchanged(lease), record);
    }
}

/// Renews the Lease if that is due. True if the renewal is ordered.
fn renew(leadership: &Leadership, lease: &LeaseObject, draft: &mut Draft<'_>) -> bool {
    let due = leadership.confirmed.map(|since| since + draft.config.renew_interval());
    if let Some(at) = due.filter(|at| draft.now < *at) {
        draft.wake_at(at, WakeReason::Lease);
        return false;
    }
    let acquired = lease.record.acquired.filter(|_| leadership.is_holder());
    let record = taken(draft, lease.record.epoch);
    let acquired = acquired.or(record.acquired);
    write_lease(draft, unchanged(lease), LeaseRecord { acquired, ..record });
    true
}

/// Releases the Lease, so that another process need not wait. Orders that are still in flight do no harm: hosts refuse
/// them once they have seen the next epoch.
fn release(leadership: &Leadership, draft: &mut Draft<'_>) {
    draft.wait(Blocker::Stopping);
    let Some(lease) = leadership.lease.as_deref() else { return };
    if leadership.is_to_let_go() {
        if draft.now < leadership.retry.not_before {
            return draft.wake_at(leadership.retry.not_before, WakeReason::BackOff);
        }
        draft.note(LeadershipNote::Taking(None));
        draft.note(LeadershipNote::Released);
        let record = taken(draft, lease.record.epoch);
        let record = LeaseRecord { holder: String::new(), duration: Some(RELEASED), ..record };
        write_lease(draft, unchanged(lease), record);
    }
}

/// The record of a Lease that we take now.
fn taken(draft: &Draft<'_>, epoch: Epoch) -> LeaseRecord {
    LeaseRecord {
        holder: draft.config.holder.clone(),
        epoch,
        duration: Some(draft.config.lease_duration),
        acquired: Some(draft.now),
        renewed: Some(draft.now),
    }
}

const fn unchanged(lease: &LeaseObject) -> Fence {
    Fence::Unchanged { uid: lease.meta.uid, resource_version: lease.meta.resource_version }
}
