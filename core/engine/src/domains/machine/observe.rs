//! Observes Machines.

use alloc::boxed::Box;
use alloc::sync::Arc;

use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::machine::MachineObject;
use seaworthy_model::meta::Meta;
use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::set::Owner;
use crate::runtime::queue::Priority;
use crate::runtime::retry::Retry;
use crate::world::World;

/// The recorded host key and the reported one nearly always are the same: they are kept once.
pub(super) fn share_host_key(machine: &mut Machine) {
    let identity = machine.object.as_ref().and_then(|object| object.status.identity.as_ref());
    let recorded = identity.and_then(|identity| identity.host_key.as_ref());
    if let (Some(recorded), Some(facts)) = (recorded, &mut machine.host.facts)
        && facts.host_key.as_ref() == Some(recorded)
    {
        facts.host_key = Some(Arc::clone(recorded));
    }
}

fn replace(machine: &mut Machine, object: Option<Box<MachineObject>>) {
    machine.object = object.map(|object| *object);
    share_host_key(machine);
}

pub(crate) fn observe(world: &mut World, id: MachineId, object: Option<Box<MachineObject>>) {
    world.ensure_machine(id);
    let store = world.stores.of(Subject::Machine(id));
    let listed = world.stores.get(store).map_or(0, |store| store.listed);
    let row = world.machine(id);
    let seen = row.object.as_ref().map(|object| &object.meta);
    let meta = object.as_ref().map(|object| &object.meta);
    let newest = seen.map(|seen| seen.resource_version).or_else(|| world.departed.get(&id).copied());
    if meta.is_some_and(|meta| world.is_outdated(store, meta, newest.unwrap_or(listed))) {
        return;
    }
    match (meta, newest) {
        (None, Some(newest)) => world.departed.insert(id, newest),
        (Some(_), _) => world.departed.remove(&id),
        (None, None) => None,
    };
    let row = world.machine(id);
    let seen = row.object.as_ref().map(|object| &object.meta);
    let was_imported = row.object.as_ref().is_some_and(|object| object.status.identity.is_some());
    let is_imported = object.as_ref().is_some_and(|object| object.status.identity.is_some());
    let reborn = seen.map(|seen| seen.uid) != meta.map(|meta| meta.uid);
    let respecified = seen.map(|seen| seen.generation) != meta.map(|meta| meta.generation);
    let replaced = reborn && seen.is_some();
    let spec = object.as_ref().and_then(|object| object.spec.as_ref().ok());
    let [newest_seen, version] = [seen, meta].map(|meta| meta.map(|meta| meta.resource_version));
    let moved = row.spec().zip(spec).is_some_and(|(seen, new)| seen.connection != new.connection);
    let is_reset = asks_for_reset(row.object.as_ref(), object.as_deref());
    let leaves = meta.is_some_and(Meta::is_terminating) && !seen.is_some_and(Meta::is_terminating);
    if store == StoreId::HOME {
        world.imported = world.imported + u32::from(is_imported) - u32::from(was_imported);
    }
    if replaced {
        give_up_host(world, id);
    }
    if reborn || respecified {
        world.repairs.forget(id);
        world.touch_pinned(id, object.as_deref());
    }
    if let Some(identity) = object.as_ref().and_then(|object| object.status.identity.as_ref())
        && !world.machine(id).owns(identity.host)
    {
        world.hosts.entry(identity.host).or_insert(id);
    }
    let row = world.machine(id);
    if row.progress.writes.written.is_none() && object.is_some() && row.object.as_ref() == object.as_deref() {
        // A list repeats what was observed before: nothing changes.
        return;
    }
    let sets = sets_of(world, row, object.as_deref());
    world.note_sets(id, sets.as_deref());
    world.change(id, |machine| {
        if reborn {
            machine.forget_contact();
        } else if respecified {
            machine.failed.clear();
            machine.unblock();
            machine.progress.writes.retry = Retry::default();
            machine.progress.contact.retry = Retry::default();
            machine.drain.iter_mut().for_each(|drain| drain.rests_until = Timestamp::ZERO);
            // The new address may be that of another host.
            machine.progress.contact.stale |= moved;
        }
        if is_reset {
            machine.progress.contact.retry.look_again();
        }
        // The finalizer may be removed only if the host was read after the deletion: a successor may have worked there.
        machine.progress.contact.stale |= leaves;
        machine.progress.writes.see(newest_seen, version);
        machine.sets = sets;
        replace(machine, object);
    });
    // No requeue while an action is in flight: its end requeues the machine.
    if world.machine(id).progress.writes.action.is_none() {
        world.touch(Subject::Machine(id), Priority::Normal);
    }
}

/// The sets and canaries of a machine, now that it is as it is.
fn sets_of(world: &World, seen: &Machine, new: Option<&MachineObject>) -> Option<Arc<[Owner]>> {
    let labels = new.map(|object| &object.labels)?;
    if seen.object.as_ref().is_some_and(|object| object.labels == *labels) {
        return seen.sets.clone();
    }
    world.sets_of(seen.id, labels)
}

/// Whether a person has just asked that the host forget its fences.
fn asks_for_reset(seen: Option<&MachineObject>, new: Option<&MachineObject>) -> bool {
    let asked = new.and_then(|object| object.reset_fences);
    asked.is_some() && seen.is_some_and(|seen| seen.reset_fences != asked)
}

/// Forgets that this machine owns its hosts: the recorded one, and one that was reached before it could be recorded. What
/// their services did does not count any more.
fn give_up_host(world: &mut World, id: MachineId) {
    world.restarts.forget(id);
    let machine = world.machine(id);
    let recorded = machine.recorded_host();
    let reached = machine.host.facts.as_ref().map(|facts| facts.host);
    for host in [recorded, reached].into_iter().flatten() {
        if world.hosts.get(&host) == Some(&id) {
            world.hosts.remove(&host);
        }
    }
}
