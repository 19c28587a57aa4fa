//! Observes the Lease, and completed lists.

use alloc::boxed::Box;

use seaworthy_model::id::{Kind, StoreId};
use seaworthy_model::lease::{Epoch, LeaseObject};
use seaworthy_model::report::Subject;

use super::Reset;
use crate::runtime::queue::Priority;
use crate::world::World;

/// Observes the Lease. Returns what every domain has to forget, if the Lease gives us an epoch.
pub(crate) fn observe(world: &mut World, lease: Option<Box<LeaseObject>>) -> Option<Reset> {
    let leadership = &mut world.leadership;
    if let (Some(written), Some(seen), Some(_)) = (leadership.written, &lease, &leadership.lease)
        && seen.meta.resource_version < written
    {
        // Between our write and its echo the watch may still show the former state.
        leadership.behind = lease;
        return None;
    }
    leadership.behind = None;
    if let (Some(written), Some(lease)) = (leadership.written, &lease)
        && lease.meta.resource_version >= written
    {
        leadership.written = None;
    }
    take_in(world, lease)
}

/// Applies the Lease as observed.
pub(super) fn take_in(world: &mut World, lease: Option<Box<LeaseObject>>) -> Option<Reset> {
    let leadership = &mut world.leadership;
    let was_there = leadership.lease.is_some() || leadership.written.is_some();
    if lease.is_none() {
        // It was deleted after our write. If this event is older than our write after all, the echo will show that.
        leadership.written = None;
    }
    // If we have just created the Lease, the watch may still show an older incarnation.
    let fell_back = leadership.written.is_none()
        && lease.as_ref().is_none_or(|lease| Some(lease.record.epoch) < leadership.epoch);
    let confirmed = lease.as_ref().filter(|lease| leadership.confirms(lease));
    let confirmed = confirmed.map(|lease| lease.record.epoch);
    let is_ours = lease.as_ref().is_some_and(|lease| leadership.holds(lease));
    // A person has allowed some process to go on after the store had lost the Lease: its successors need not wait for a
    // person.
    let goes_on =
        leadership.epoch.is_none() && lease.as_ref().is_some_and(|lease| lease.record.epoch > Epoch::VACANT);
    leadership.lost &= !goes_on;
    let before = leadership.version();
    leadership.replace_lease(lease);
    if is_ours && leadership.version() > before {
        // The store answers, and the next renewal is fenced with this version.
        leadership.retry.look_again();
    }
    if let Some(epoch) = confirmed {
        return Some(Reset::Epoch(epoch));
    }
    if is_ours && world.leadership.lost {
        world.leadership.lost = false;
        world.touch_everything();
    } else if was_there && fell_back && world.leadership.epoch.is_some() {
        lose_lease(world);
    }
    look_for_successor(world);
    world.touch(Subject::Leadership, Priority::Urgent);
    None
}

/// We held the Lease and it is gone, or there must have been one.
pub(super) fn lose_lease(world: &mut World) {
    if !world.leadership.lost {
        world.leadership.lost = true;
        world.touch_everything();
    }
}

/// Steps down if the Lease names a higher epoch than ours, or another holder in ours.
pub(super) fn look_for_successor(world: &mut World) {
    let leadership = &mut world.leadership;
    let (Some(record), Some(ours)) = (leadership.record(), leadership.epoch) else { return };
    let usurped = record.epoch == ours && leadership.other_holder().is_some();
    if record.epoch > ours || usurped {
        leadership.stepped_down = Some(record.epoch);
    }
}

/// The driver works with a further store.
pub(crate) fn open(world: &mut World, id: StoreId) {
    world.stores.open(id);
    world.touch(Subject::Leadership, Priority::Urgent);
}

/// A kind of a store was listed completely.
pub(crate) fn synced(world: &mut World, id: StoreId, kind: Kind) {
    let was_unsynced = world.stores.unsynced(id).is_some();
    if kind == Kind::Lease {
        world.leadership.lease_seen |= id == StoreId::HOME;
    } else {
        world.stores.open(id).synced(kind);
    }
    world.touch(Subject::Leadership, Priority::Urgent);
    if world.stores.unsynced(id).is_none() {
        world.touch_owners(Priority::Urgent);
        // If everything was listed before, a repeated list has requeued each difference when it was observed.
        if was_unsynced {
            world.stores.open(id).listed = newest_machine(world, id);
            world.touch_store(id);
        }
    }
}

/// The newest `resourceVersion` of the machines of a store.
fn newest_machine(world: &World, id: StoreId) -> u64 {
    let machines = world.machines().filter(|(machine, _)| world.stores.of(Subject::Machine(*machine)) == id);
    let objects = machines.filter_map(|(_, machine)| machine.object.as_ref());
    objects.map(|object| object.meta.resource_version).max().unwrap_or_default()
}

/// The process was asked to stop.
pub(crate) fn stop(world: &mut World) {
    world.leadership.stopping = true;
    world.touch(Subject::Leadership, Priority::Urgent);
}
