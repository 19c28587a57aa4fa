//! What is to be looked at, and what is free for those that wait.

use alloc::vec::Vec;

use seaworthy_model::report::Subject;

use super::World;
use crate::queue::Priority;

/// Room for so many subjects is kept.
const TOUCHED_KEPT: usize = 4_096;

impl World {
    pub(crate) fn touch(&mut self, subject: Subject, priority: Priority) {
        self.touched.push((subject, priority));
    }

    /// Whether something has to be looked at that is not in the queue yet.
    pub(crate) const fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Whether there is something to look at, or to hand out.
    pub(crate) fn has_work(&self, sessions_max: u32) -> bool {
        self.has_touched()
            || self.leadership.outdated
            || (self.slots() > self.occupied && self.waiting() > 0)
            || (sessions_max > self.sessions && !self.sessionless.is_empty())
    }

    pub(crate) fn take_touched(&mut self) -> Vec<(Subject, Priority)> {
        core::mem::take(&mut self.touched)
    }

    /// Goes on using the room of a list that was worked off, unless that was an uncommonly long one.
    pub(crate) fn reuse_touched(&mut self, worked_off: Vec<(Subject, Priority)>) {
        if worked_off.is_empty() && self.touched.is_empty() && worked_off.capacity() <= TOUCHED_KEPT {
            self.touched = worked_off;
        }
    }

    /// Hands out free slots: touches as many of those that wait as there are slots.
    pub(crate) fn offer_slots(&mut self) {
        let free = self.slots().saturating_sub(self.occupied);
        if free > 0 && self.waiting() > 0 {
            // After them: what they leave may be admitted.
            self.touch(Subject::PackageVersion, Priority::Low);
        }
        for _ in 0..free.min(self.waiting()) {
            self.warm_line(&self.waiting);
            let Some(id) = self.waiting.pop() else { return };
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Hands out free sessions: touches as many of those that wait as there are sessions.
    pub(crate) fn offer_sessions(&mut self, sessions_max: u32) {
        for _ in 0..sessions_max.saturating_sub(self.sessions) {
            self.warm_line(&self.sessionless);
            let Some(id) = self.sessionless.pop() else { return };
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }
}
