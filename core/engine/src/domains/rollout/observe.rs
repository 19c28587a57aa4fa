//! Observes what owns rollouts: the fleet's default versions, the sets and the canaries.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seaworthy_model::component_set::SetObject;
use seaworthy_model::id::{MachineId, StoreId, Uid};
use seaworthy_model::lease::Epoch;
use seaworthy_model::meta::Meta;
use seaworthy_model::package_version::{PackageVersionObject, Rollout};
use seaworthy_model::report::Subject;

use crate::rows::set::{Charter, Owner, Reselection, Set};
use crate::runtime::queue::Priority;
use crate::runtime::retry::Retry;
use crate::runtime::tracked::Writes;
use crate::world::World;
use crate::world::index::rollouts::Reach;
use crate::world::index::users::FleetUse;

/// How an owner has changed.
struct Change {
    owner: Owner,
    /// Only its records have, and they only in grants and completions.
    only_grants: bool,
    /// What it wants has changed, or its records have.
    matters: bool,
    /// Whom that may concern.
    reach: Reach,
    /// What the owners named before.
    uses: BTreeSet<FleetUse>,
}

/// The `ClusterPackageVersion` as it is now.
pub(crate) fn observe(world: &mut World, object: Option<Box<PackageVersionObject>>) {
    let meta = object.as_ref().map(|object| &object.meta);
    if is_old(world, world.fleet.tracked.meta(), meta) {
        return;
    }
    let seen = known(world.fleet.tracked.meta());
    let respecified =
        world.fleet.spec() != object.as_ref().and_then(|o| o.spec.as_ref().ok()).map(AsRef::as_ref);
    let same_terms = world.fleet.has_terms_of(object.as_deref());
    let new = object.as_deref().map(Charter::from);
    let reach = if same_terms { Reach::Concerned } else { Reach::Everybody };
    let change = change(world, Owner::Fleet, new, respecified, reach);
    let (audit_interval, pause_when_unavailable) =
        (world.fleet.audit_interval(), world.fleet.pause_when_unavailable());
    forget(&mut world.fleet.tracked.writes, seen, known(meta));
    world.fleet.tracked.see(object);
    take_over(world, &change);
    if world.fleet.pause_when_unavailable() != pause_when_unavailable {
        world.reset_breaker();
    }
    if world.fleet.audit_interval() != audit_interval {
        forget_audits(world);
    }
    world.touch_owners(Priority::Urgent);
}

/// A set or a canary as it is now.
pub(crate) fn observe_set(world: &mut World, owner: Owner, object: Option<Box<SetObject>>) {
    let meta = object.as_ref().map(|object| &object.meta);
    world.set_mut(owner);
    let Some(set) = world.set(owner) else { return };
    if is_old(world, set.tracked.meta(), meta) {
        return;
    }
    let seen = known(set.tracked.meta());
    let respecified = set.spec() != object.as_ref().and_then(|o| o.spec.as_ref().ok()).map(AsRef::as_ref);
    let resorted = !set.selects_as(object.as_deref());
    let selector = |set: &Set| set.spec().map(|spec| spec.selector.clone());
    let (before, had_members) = (selector(set), world.members.contains_key(&owner));
    let was_paused = world.is_owner_paused(owner);
    let new = object.as_deref().map(Charter::from);
    let is_paused = new.is_some_and(|new| new.paused);
    let reach = if resorted || was_paused != is_paused { Reach::Everybody } else { Reach::Concerned };
    let change = change(world, owner, new, respecified || resorted, reach);
    let Some(set) = world.set_mut(owner) else { return };
    forget(&mut set.tracked.writes, seen, known(meta));
    set.tracked.see(object);
    let after = selector(set);
    if resorted {
        world.resort_all();
    }
    if before.is_some() && after.is_some() && before != after {
        let has_members = world.members.contains_key(&owner);
        let Some(set) = world.set_mut(owner) else { return };
        set.reselection = if had_members && !has_members { Reselection::Nobody } else { Reselection::Others };
    }
    take_over(world, &change);
    world.touch_owners(Priority::Urgent);
}

/// An incarnation and its generation.
type Known = (Option<Uid>, Option<u64>);

fn known(meta: Option<&Meta>) -> Known {
    (meta.map(|meta| meta.uid), meta.map(|meta| meta.generation))
}

/// Whether an observation is older than what was seen.
fn is_old(world: &World, seen: Option<&Meta>, meta: Option<&Meta>) -> bool {
    let newest = seen.map(|seen| seen.resource_version);
    newest.zip(meta).is_some_and(|(newest, meta)| world.is_outdated(StoreId::HOME, meta, newest))
}

/// Forgets what was awaited of another incarnation, and the back-off of another spec.
fn forget(writes: &mut Writes, seen: Known, new: Known) {
    if seen.0 != new.0 {
        writes.written = None;
    }
    if seen.1 != new.1 {
        writes.retry = Retry::default();
    }
}

fn change(world: &World, owner: Owner, new: Option<Charter<'_>>, respecified: bool, reach: Reach) -> Change {
    let seen = world.charter(owner);
    let recorded = seen.map(records) != new.map(records);
    let only_grants = !respecified
        && seen.zip(new).is_some_and(|(seen, new)| world.differs_in_grants_only(owner, seen, new));
    Change { owner, only_grants, matters: respecified || recorded, reach, uses: world.fleet_uses() }
}

/// What of an owner's status rollouts are derived from.
const fn records<'w>(charter: Charter<'w>) -> (Uid, Epoch, &'w [Rollout]) {
    (charter.meta.uid, charter.status.epoch, charter.status.rollouts.as_slice())
}

/// Derives the rollouts anew, now that an owner has changed.
fn take_over(world: &mut World, change: &Change) {
    if change.only_grants {
        world.apply_grants(change.owner);
    } else if change.matters {
        world.rebuild_rollouts(change.reach);
    }
    if change.matters {
        world.release_stopped();
        world.touch_fleet_uses(&change.uses);
    }
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
