//! Holds each version by a finalizer until it is deleted and nothing uses it any more: so a version in use cannot
//! vanish.
//!
//! The cache cannot prove that nothing uses it: a pin that was set before the deletion may be observed after it. So,
//! like Kubernetes' own protection of volume claims, the engine asks the API server itself last: it lists everything
//! again. A pin that is set after the deletion may be too late.
//!
//! What people are told of a version is in `status`, and holds up none of this.

mod status;

use alloc::boxed::Box;
use core::time::Duration;

use seaworthy_model::component::VersionObject;
use seaworthy_model::effect::{ActionId, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::id::{Kind, StoreId, VersionId};
use seaworthy_model::report::{Blocker, Subject, WakeReason};

use status::{InUse, Look};

use crate::domains::draft::{Draft, write_finalizers};
use crate::rows::note::LeadershipNote;
use crate::rows::ticket::InFlight;
use crate::runtime::queue::Priority;
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;
use crate::world::index::rollouts::Reach;

/// How often a deleted version is reconciled while it is in use, how often the number of its users is told, and how often
/// everything may be listed because of deleted versions.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

pub(super) fn reconcile(world: &World, id: VersionId, draft: &mut Draft<'_>) {
    let Some(version) = world.version(id) else { return };
    let Some(object) = draft.ready(&version.tracked) else { return };
    if let Some(blocker) = world.gate(world.stores.of(Subject::Version(id))) {
        return draft.wait(blocker);
    }
    let meta = &object.meta;
    let look = Look { id, object, telling: version.telling, pace: LOOK_AGAIN };
    match (meta.is_terminating(), meta.is_held()) {
        (false, false) => write_finalizers(draft, Target::Version(id), meta, meta.finalizers_with_ours()),
        (true, true) => {
            if may_go(world, look, draft) {
                write_finalizers(draft, Target::Version(id), meta, meta.finalizers_without_ours());
            }
        }
        (false, true) | (true, false) => look.tell(draft, InUse::of(world, id)),
    }
}

/// Whether nothing uses a deleted version. If that is not known yet, the draft asks for new lists.
fn may_go(world: &World, look: Look<'_>, draft: &mut Draft<'_>) -> bool {
    let id = look.id;
    let found = world.count_users(id);
    let users = found.count();
    if users > 0 {
        draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
        draft.wait(Blocker::InUse(users));
        look.tell(draft, InUse::keeping(world, found));
        return false;
    }
    if world.is_listed_since_leaving(id) {
        return true;
    }
    let store = world.stores.of(Subject::Version(id));
    let listed_at = world.stores.get(store).map_or(draft.now, |store| store.listed_at);
    let next = draft.now.max(listed_at + LOOK_AGAIN);
    draft.wake_at(next, WakeReason::BackOff);
    draft.wait(Blocker::NotSynced(Kind::Machine));
    if next == draft.now {
        // The finalizer goes once the lists are complete: no write of the status may be on its way then.
        draft.note(LeadershipNote::Outdated(store));
    } else {
        look.tell(draft, InUse::keeping(world, found));
    }
    false
}

/// A write is ordered.
pub(super) fn start(world: &mut World, id: VersionId, action: ActionId, effect: &Effect) {
    let now = world.now;
    let version = world.version_mut(id);
    version.tracked.writes.action = Some(action);
    if matches!(effect, Effect::WriteVersionStatus(_)) {
        version.telling.is_in_flight = true;
        version.telling.at = Some(now);
    }
}

/// A write has ended.
pub(super) fn finish(
    world: &mut World,
    id: VersionId,
    in_flight: &InFlight,
    outcome: &Outcome,
    terms: &Terms<'_>,
) {
    let now = world.now;
    let back_off = |retry: &mut Retry| terms.back_off(retry, now, 2 + u64::from(id.0));
    let version = world.version_mut(id);
    let is_status = core::mem::take(&mut version.telling.is_in_flight);
    if is_status && matches!(outcome, Outcome::Stale | Outcome::Retryable(_) | Outcome::Refused(_)) {
        // Nothing happened, and only the status has to wait.
        version.tracked.writes.action = None;
        back_off(&mut version.telling.retry);
        if version.tracked.meta().map(|meta| meta.resource_version) != in_flight.resource_version {
            version.telling.retry.look_again();
        }
        return;
    }
    if is_status {
        version.telling.retry = Retry::default();
    }
    version.tracked.settle(outcome, in_flight.resource_version, back_off);
}

/// Forgets the awaited echoes: a store is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    for (id, version) in (0..).map(VersionId).zip(&mut world.versions) {
        if world.stores.of(Subject::Version(id)) == store {
            version.tracked.writes.written = None;
        }
    }
}

/// A `MachineComponent` as it is now.
pub(super) fn observe(world: &mut World, id: VersionId, object: Option<Box<VersionObject>>) {
    let store = world.stores.of(Subject::Version(id));
    let lists = world.stores.get(store).map_or(0, |store| store.lists);
    let spec = object.as_ref().and_then(|object| object.spec.as_ref().ok());
    world.makes_nodes |= spec.is_some_and(|spec| spec.node_identity.is_some());
    if let Some(spec) = spec.filter(|spec| spec.disruption.drains() || spec.node_identity.is_some()) {
        world.draining.insert(spec.component);
    }
    world.ruled |= spec.is_some_and(|spec| !spec.requires.is_empty());
    world.ordered |= world.ruled || spec.is_some_and(|spec| !spec.depends_on.is_empty());
    let version = world.version_mut(id);
    let leaving = object.as_ref().filter(|object| object.meta.is_terminating());
    let uid = |object: &VersionObject| object.meta.uid;
    let known = version.leaving_since.filter(|_| version.object().map(uid) == leaving.map(|it| uid(it)));
    version.leaving_since = leaving.map(|_| known.unwrap_or(lists));
    let usable = |object: Option<&VersionObject>| object.is_some_and(|object| object.spec.is_ok());
    let changed = usable(version.object()) != usable(object.as_deref())
        || version.object().map(uid) != object.as_deref().map(uid);
    let seen = version.tracked.see(object).map(|seen| seen.meta.resource_version);
    if seen != version.tracked.meta().map(|meta| meta.resource_version) {
        version.telling.retry.look_again();
    }
    world.touch(Subject::Version(id), Priority::Normal);
    if !changed {
        return;
    }
    if world.is_wanted_by_fleet(id) {
        world.rebuild_rollouts(Reach::Everybody);
        world.touch_owners(Priority::Urgent);
    }
    // Before everything is listed no machine waits for a version.
    if world.stores.unsynced(store).is_none() {
        world.touch_blocked();
    }
}
