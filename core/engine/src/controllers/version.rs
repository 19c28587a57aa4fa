//! Keeps a version while it is in use: a finalizer from the first use on, taken off when it was deleted and nobody
//! uses it any more.

use seaworthy_model::effect::Target;
use seaworthy_model::id::VersionId;
use seaworthy_model::report::{Blocker, WakeReason};

use crate::draft::Draft;
use crate::sabotage::Sabotage;
use crate::world::World;

/// How often a version that is to go is looked at while somebody uses it.
const LOOK_AGAIN: core::time::Duration = core::time::Duration::from_secs(60);

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
    if meta.is_terminating() && meta.is_held() {
        let users = world.users_of(id);
        if users > 0 && !world.is_sabotaged(Sabotage::VersionLetGo) {
            draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
            return draft.wait(Blocker::InUse(users));
        }
        draft.write_finalizers(Target::Version(id), meta, meta.finalizers_without_ours());
    } else if !meta.is_terminating() && !meta.is_held() && world.users_of(id) > 0 {
        draft.write_finalizers(Target::Version(id), meta, meta.finalizers_with_ours());
    }
}
