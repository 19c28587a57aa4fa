//! A Node that stays drained for a moment after the work on it, because another rollout is about to grant its machine.

use core::time::Duration;

use seaworthy_model::report::{Blocker, WakeReason};

use crate::domains::draft::Draft;
use crate::domains::machine::step::Step;
use crate::rows::note::MachineNote as Note;

/// How long a Node stays drained without work. A small wave waits 10 s for more machines (`--admission-wait`), and then
/// its write has to be seen.
const HELD_FOR: Duration = Duration::from_secs(15);

impl Step<'_> {
    /// Keeps the Node drained for a rollout that can grant the machine at once, but not for long. True while it does.
    pub(in crate::domains::machine) fn holds_drained(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref() else { return false };
        let until = drain.held_since.unwrap_or(draft.now) + HELD_FOR;
        if draft.now >= until
            || self.machine.mark(self.world.epoch()).is_none()
            || self.is_fleet_paused()
            || !self.world.awaits_shared_drain(self.machine)
        {
            return false;
        }
        if drain.held_since.is_none() {
            self.note(draft, Note::Hold(Some(draft.now)));
        }
        draft.wait(Blocker::AwaitingGrant);
        draft.wake_at(until, WakeReason::Admission);
        true
    }
}
