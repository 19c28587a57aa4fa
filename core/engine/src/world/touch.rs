//! Which subjects have to be reconciled, and which waiting machines get the free units and sessions.

use alloc::vec::Vec;

use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::report::Subject;

use crate::rows::machine::Machine;
use crate::runtime::queue::Priority;
use crate::world::World;

/// A list with at most this capacity is kept.
const TOUCHED_KEPT: usize = 4_096;

impl World {
    pub(crate) fn touch(&mut self, subject: Subject, priority: Priority) {
        self.touched.push((subject, priority));
    }

    /// Whether a subject has to be reconciled that is not queued yet.
    pub(crate) const fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Whether there is a subject to reconcile, or a unit or session to hand out.
    pub(crate) fn has_work(&self, sessions_max: u32) -> bool {
        self.has_touched()
            || self.stores.is_outdated()
            || (!self.waiting.is_empty() && self.slots() > self.occupied())
            || self.free_lane() > 0
            || (!self.sessionless.is_empty() && sessions_max > self.sessions)
    }

    pub(crate) fn drain_touched(&mut self) -> impl Iterator<Item = (Subject, Priority)> {
        self.touched.drain(..)
    }

    /// Frees the list if it was an uncommonly long one.
    pub(crate) fn shrink_touched(&mut self) {
        if self.touched.capacity() > TOUCHED_KEPT {
            self.touched = Vec::new();
        }
    }

    /// Hands out free units of the budget and places of the repair lane: requeues as many waiting machines as are free.
    pub(crate) fn offer_units(&mut self) {
        for _ in 0..self.free_lane().min(self.waiting_for_lane.len()) {
            let Some(id) = self.waiting_for_lane.pop() else { return };
            self.touch(Subject::Machine(id), Priority::Normal);
        }
        if self.waiting.is_empty() {
            return;
        }
        let free = self.slots().saturating_sub(self.occupied());
        if free > 0 {
            // After those machines: the units that they leave may be granted.
            self.touch_owners(Priority::Low);
        }
        for _ in 0..free.min(self.waiting()) {
            self.prefetch_line(&self.waiting);
            let Some(id) = self.waiting.pop() else { return };
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Places of the repair lane that are free.
    fn free_lane(&self) -> u32 {
        if self.waiting_for_lane.is_empty() { 0 } else { self.slots().saturating_sub(self.laned()) }
    }

    /// Hands out free sessions: requeues as many waiting machines as there are sessions.
    pub(crate) fn offer_sessions(&mut self, sessions_max: u32) {
        if self.sessionless.is_empty() {
            return;
        }
        for _ in 0..sessions_max.saturating_sub(self.sessions) {
            self.prefetch_line(&self.sessionless);
            let Some(id) = self.sessionless.pop() else { return };
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Requeues blocked machines: a change of a version or of the fleet may have unblocked them.
    pub(crate) fn touch_blocked(&mut self) {
        let blocked: Vec<MachineId> =
            self.machines().filter(|(_, machine)| machine.blocked.is_some()).map(|(id, _)| id).collect();
        for id in blocked {
            self.change(id, Machine::unblock);
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Requeues the subjects whose decision was blocked by the state of our leadership, but none of a store whose lists
    /// are in flight: their completion requeues everything.
    pub(crate) fn touch_held_up(&mut self) {
        let is_listed = |subject: Subject| self.stores.unsynced(self.stores.of(subject)).is_none();
        let held_up = self.blockers.iter().filter(|(_, blocker)| blocker.is_of_operator());
        let held_up: Vec<Subject> =
            held_up.map(|(subject, _)| subject).filter(|subject| is_listed(*subject)).collect();
        for subject in held_up {
            self.touch(subject, Priority::Low);
        }
    }

    /// Requeues every subject, because a condition that gates all of them has changed.
    pub(crate) fn touch_everything(&mut self) {
        for store in self.stores.ids() {
            self.touch_store(store);
        }
    }

    /// Requeues every subject of a store.
    pub(crate) fn touch_store(&mut self, store: StoreId) {
        for subject in self.few() {
            if self.stores.of(subject) == store {
                self.touch(subject, Priority::Low);
            }
        }
        if store == StoreId::HOME {
            self.touch_machines();
            self.touch_owners(Priority::Urgent);
        } else {
            for id in self.machine_ids() {
                if self.stores.of(Subject::Machine(id)) == store && self.machine(id).is_decided() {
                    self.touch(Subject::Machine(id), Priority::Low);
                }
            }
        }
    }
}
