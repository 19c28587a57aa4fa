//! Takes the Lease, and has everything listed anew once it is ours.
//!
//! ```text
//!   Lease seen --> names an epoch ------------------------------> take the next epoch --> Watch --> act
//!              \-> absent or vacant --> Watch --> no machine known --^            ^
//!                                            \-> machines known: StoreRegressed --/ a person adopts
//! ```
//!
//! The lists that count are those that follow the taking: what an older operator wrote before that is in them.

use alloc::string::String;

use seaworthy_model::effect::Fence;
use seaworthy_model::id::Kind;
use seaworthy_model::lease::{Epoch, LeaseObject};
use seaworthy_model::report::Blocker;

use crate::draft::{Draft, Note};
use crate::world::{Leadership, World};

pub(super) fn reconcile(world: &World, draft: &mut Draft<'_>) {
    let leadership = &world.leadership;
    if let Some(by) = leadership.stepped_down {
        return draft.wait(Blocker::SteppedDown { by });
    }
    if leadership.stopping {
        return draft.wait(Blocker::Stopping);
    }
    if leadership.action.is_some() {
        return draft.wait(Blocker::InFlight);
    }
    if draft.now < leadership.retry.not_before {
        return draft.back_off(leadership.retry.not_before);
    }
    if !leadership.lease_seen {
        return draft.wait(Blocker::NotSynced(Kind::Lease));
    }
    if leadership.written.is_some() {
        return draft.wait(Blocker::AwaitingOwnWrite);
    }
    if leadership.epoch.is_none() || leadership.lost || leadership.ahead.is_some() {
        return take(world, leadership, draft);
    }
    if !leadership.watching {
        return draft.watch();
    }
    if let Some(kind) = leadership.unsynced() {
        draft.wait(Blocker::NotSynced(kind));
    }
}

/// Takes the Lease, unless the store has forgotten operators that hosts or machines remember.
fn take(world: &World, leadership: &Leadership, draft: &mut Draft<'_>) {
    let epoch_known = leadership.epoch.unwrap_or_default();
    let Some(lease) = leadership.lease.as_deref() else {
        if leadership.epoch.is_none() && !leadership.watching {
            return draft.watch();
        }
        if let (None, Some(kind)) = (leadership.epoch, leadership.unsynced()) {
            return draft.wait(Blocker::NotSynced(kind));
        }
        let forgotten = leadership.lost || world.imported() > 0;
        if forgotten {
            draft.note(Note::LeaseLost);
            return draft.write_lease(Fence::Absent, String::new(), Epoch::VACANT);
        }
        return draft.write_lease(Fence::Absent, draft.config.holder.clone(), Epoch::VACANT.next());
    };
    if let Some(adopted) = leadership.adoption() {
        let next = adopted.max(lease.epoch).max(epoch_known).next();
        return take_over(lease, next, draft);
    }
    if leadership.lost || leadership.ahead.is_some() {
        return draft.wait(Blocker::StoreRegressed { seen: leadership.ahead.unwrap_or_default() });
    }
    if lease.epoch > Epoch::VACANT {
        return take_over(lease, lease.epoch.next(), draft);
    }
    if !leadership.watching {
        return draft.watch();
    }
    if let Some(kind) = leadership.unsynced() {
        return draft.wait(Blocker::NotSynced(kind));
    }
    if world.imported() > 0 {
        draft.note(Note::LeaseLost);
        return draft.wait(Blocker::StoreRegressed { seen: Epoch::VACANT });
    }
    take_over(lease, Epoch::VACANT.next(), draft);
}

fn take_over(lease: &LeaseObject, epoch: Epoch, draft: &mut Draft<'_>) {
    let fence = Fence::Unchanged { uid: lease.meta.uid, resource_version: lease.meta.resource_version };
    draft.write_lease(fence, draft.config.holder.clone(), epoch);
}
