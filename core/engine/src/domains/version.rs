//! Keeps a version from when it is first seen, so that nobody can begin to use what is about to vanish, until it was
//! deleted and nobody uses it any more.
//!
//! That nobody uses it is not believed of a cache: a pin that was set before the deletion may be seen after it. So, as
//! Kubernetes' own protection of volume claims does, the last question goes to the API server itself: everything is listed
//! anew. Whoever pins a version after it was deleted may be too late.

use core::time::Duration;

use seaworthy_model::effect::Target;
use seaworthy_model::id::{Kind, VersionId};
use seaworthy_model::report::{Blocker, WakeReason};

use crate::runtime::draft::{Draft, Note};
use crate::world::World;

/// How often a version that is to go is looked at while somebody uses it, and how often everything may be listed for the
/// sake of versions that are to go.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

pub(super) fn reconcile(world: &World, id: VersionId, draft: &mut Draft<'_>) {
    let Some(version) = world.version(id) else { return };
    let Some(object) = &version.object else { return };
    if version.action.is_some() {
        return draft.wait(Blocker::InFlight);
    }
    if version.written.is_some() {
        return draft.wait(Blocker::AwaitingOwnWrite);
    }
    if draft.now < version.retry.not_before {
        return draft.back_off(version.retry.not_before);
    }
    if let Some(blocker) = world.gate() {
        return draft.wait(blocker);
    }
    let meta = &object.meta;
    match (meta.is_terminating(), meta.is_held()) {
        (false, false) => draft.write_finalizers(Target::Version(id), meta, meta.finalizers_with_ours()),
        (true, true) => {
            if may_go(world, id, draft) {
                draft.write_finalizers(Target::Version(id), meta, meta.finalizers_without_ours());
            }
        }
        (false, true) | (true, false) => {}
    }
}

/// Whether nobody uses a version that was deleted. If that is not known yet, it is found out.
fn may_go(world: &World, id: VersionId, draft: &mut Draft<'_>) -> bool {
    let users = world.users_of(id);
    if users > 0 {
        draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
        draft.wait(Blocker::InUse(users));
        return false;
    }
    if world.is_listed_since_leaving(id) {
        return true;
    }
    let next = draft.now.max(world.leadership.listed_at + LOOK_AGAIN);
    if next == draft.now {
        draft.note(Note::ListAnew);
    }
    draft.wake_at(next, WakeReason::BackOff);
    draft.wait(Blocker::NotSynced(Kind::Machine));
    false
}
