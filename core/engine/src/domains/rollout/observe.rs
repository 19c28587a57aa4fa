//! Observes the fleet's default versions.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::meta::Meta;
use seaworthy_model::package_version::PackageVersionObject;
use seaworthy_model::report::Subject;

use crate::runtime::queue::Priority;
use crate::runtime::retry::Retry;
use crate::world::World;
use crate::world::index::rollouts::Reach;

pub(crate) fn observe(world: &mut World, object: Option<Box<PackageVersionObject>>) {
    let seen = world.fleet.tracked.meta();
    let meta = object.as_ref().map(|object| &object.meta);
    let newest = seen.map(|seen| seen.resource_version);
    if newest.zip(meta).is_some_and(|(newest, meta)| world.is_outdated(StoreId::HOME, meta, newest)) {
        return;
    }
    let fleet = &mut world.fleet;
    let known = |meta: Option<&Meta>| (meta.map(|meta| meta.uid), meta.map(|meta| meta.generation));
    let (seen, new) = (known(fleet.tracked.meta()), known(meta));
    if seen.0 != new.0 {
        fleet.tracked.writes.written = None;
    }
    if seen.1 != new.1 {
        fleet.tracked.writes.retry = Retry::default();
    }
    let respecified = fleet.spec() != object.as_ref().and_then(|o| o.spec.as_ref().ok()).map(AsRef::as_ref);
    let records = |object: &Option<Box<PackageVersionObject>>| {
        object.as_ref().map(|object| (object.meta.uid, object.status.epoch, object.status.rollouts.clone()))
    };
    let recorded = records(&fleet.tracked.object) != records(&object);
    let only_grants = !respecified && fleet.is_only_granting(object.as_deref());
    let same_terms = fleet.has_terms_of(object.as_deref());
    let (audit_interval, pause_when_unavailable) = (fleet.audit_interval(), fleet.pause_when_unavailable());
    let uses = world.fleet_uses();
    let fleet = &mut world.fleet;
    fleet.tracked.see(object);
    let are_audits_moved = fleet.audit_interval() != audit_interval;
    if only_grants {
        world.apply_grants();
    } else if respecified || recorded {
        world.rebuild_rollouts(if same_terms { Reach::Concerned } else { Reach::Everybody });
    }
    if respecified || recorded {
        world.release_stopped();
        world.touch_fleet_uses(&uses);
    }
    if world.fleet.pause_when_unavailable() != pause_when_unavailable {
        world.reset_breaker();
    }
    if are_audits_moved {
        forget_audits(world);
    }
    world.touch(Subject::PackageVersion, Priority::Urgent);
}

/// Plans every audit again: the old date may be a day away.
fn forget_audits(world: &mut World) {
    let planned: Vec<MachineId> = world
        .machines()
        .filter(|(_, machine)| machine.progress.contact.audit_at.is_some())
        .map(|(id, _)| id)
        .collect();
    for id in planned {
        world.note(id, |progress| progress.contact.audit_at = None);
        world.touch(Subject::Machine(id), Priority::Low);
    }
}
