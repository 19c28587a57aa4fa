//! No machine starves: one that waits for a slot or a session is not overtaken forever (`starvation`). And no work
//! queue is longer than the number of objects (`queueLength`).
//!
//! A waiting machine must be started before all other machines together have been started twice, and twice more for
//! every component. Counting starts instead of time makes the bound independent of faults. A retry keeps its slot and
//! overtakes no machine.

use std::collections::{BTreeSet, VecDeque};

use super::recount::{Miscounts, Truth};
use seaworthy_engine::World;
use seaworthy_model::effect::Target;
use seaworthy_model::id::MachineId;
use seaworthy_model::report::{Blocker, Subject, Turn};

/// The waiting machines of one operator process.
#[derive(Clone, Debug, Default)]
pub(super) struct Starvation {
    process: u32,
    starts: u64,
    /// By machine: the number of starts when it began to wait; [`WAITS_NOT`] if it does not wait.
    since: Vec<u64>,
    /// The number of waiting machines.
    waiting: usize,
    /// The machines with the number of starts when they began to wait, longest wait first. A machine that stops waiting
    /// stays here until such entries outnumber the others.
    order: VecDeque<(u64, MachineId)>,
}

/// Marks a machine that does not wait. No run has so many starts.
const WAITS_NOT: u64 = u64::MAX;
/// Up to this length, the order is not cleaned of machines that have stopped waiting.
const ORDER_MIN: usize = 64;

impl Starvation {
    /// Applies a turn. Returns a machine that has waited too long, with the number of starts of others meanwhile.
    pub(super) fn turn(
        &mut self,
        (process, subjects): (u32, usize),
        world: &World,
        turn: &Turn,
    ) -> Option<(MachineId, u64)> {
        if self.process != process {
            *self = Self { process, ..Self::default() };
        }
        if self.waiting > 0 {
            self.count_starts(world, turn);
        }
        for blocked in &turn.report.blocked {
            let Subject::Machine(id) = blocked.subject else { continue };
            if is_turn_awaited(blocked.blocker) {
                self.join(id);
            } else {
                self.leave(id);
            }
        }
        let most = 2 * subjects as u64 * (world.fleet.rollouts.len() as u64 + 1);
        self.longest(most, |id| world.blocker(Subject::Machine(id)).is_some_and(is_turn_awaited))
    }

    fn count_starts(&mut self, world: &World, turn: &Turn) {
        for action in &turn.actions {
            let Target::Host(id) = action.target else { continue };
            let in_flight = world.in_flight().get(&action.id);
            let changes = in_flight.is_some_and(|in_flight| in_flight.ticket.is_change());
            if changes && world.machine(id).progress.contact.retry.failures == 0 {
                self.starts += 1;
            }
            self.leave(id);
        }
    }

    /// Prefetches the entry of a machine.
    pub(super) fn warm(&self, id: MachineId) -> u64 {
        self.since.get(id.index()).copied().unwrap_or_default()
    }

    fn join(&mut self, id: MachineId) {
        let index = id.0 as usize;
        if self.since.len() <= index {
            self.since.resize(index + 1, WAITS_NOT);
        }
        if self.since[index] != WAITS_NOT {
            return;
        }
        if self.order.len() > ORDER_MIN.max(2 * self.waiting) {
            self.order.retain(|&(since, id)| self.since[id.0 as usize] == since);
        }
        self.since[index] = self.starts;
        self.waiting += 1;
        self.order.push_back((self.starts, id));
    }

    fn is_followed(&self, id: MachineId) -> bool {
        self.since.get(id.0 as usize).is_some_and(|since| *since != WAITS_NOT)
    }

    fn leave(&mut self, id: MachineId) {
        if self.waiting == 0 {
            return;
        }
        if let Some(since) = self.since.get_mut(id.0 as usize).filter(|since| **since != WAITS_NOT) {
            *since = WAITS_NOT;
            self.waiting -= 1;
        }
    }

    /// Recounts the waiting machines, if the process that was followed last leads: every waiting machine must be
    /// recorded. Recorded machines may have stopped waiting without a report.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        let follows = |(since, id): &(u64, MachineId)| self.since.get(id.0 as usize) == Some(since);
        let order: BTreeSet<(u64, MachineId)> = self.order.iter().copied().filter(follows).collect();
        let waiting = (0..).map(MachineId).zip(&self.since).filter(|(_, since)| **since != WAITS_NOT);
        let waiting: BTreeSet<(u64, MachineId)> = waiting.map(|(id, since)| (*since, id)).collect();
        found.compare("machines that wait", self.waiting, waiting.len());
        found.compare("who waits longest", order, waiting);
        let Some((_, cache)) = truth.leader.filter(|(process, _)| *process == self.process) else { return };
        let waits = |id: MachineId| cache.blocker(Subject::Machine(id)).is_some_and(is_turn_awaited);
        let missing = cache.machines().filter(|(id, _)| waits(*id) && !self.is_followed(*id)).count();
        found.compare("machines that wait and are not followed", missing, 0);
    }

    /// Loses the order of the waiting machines, for tests.
    #[cfg(test)]
    pub(super) fn muddle(&mut self) {
        self.join(MachineId(0));
        self.order.clear();
    }

    /// The machine that has waited longest, if it still waits and others were started more than `most` times meanwhile.
    fn longest(&mut self, most: u64, waits: impl Fn(MachineId) -> bool) -> Option<(MachineId, u64)> {
        loop {
            let &(since, id) = self.order.front()?;
            let overtaken = self.starts - since;
            if overtaken <= most {
                return None;
            }
            self.order.pop_front();
            if self.since[id.0 as usize] != since {
                continue;
            }
            self.leave(id);
            // A machine may have stopped waiting without a report.
            if waits(id) {
                return Some((id, overtaken));
            }
        }
    }
}

/// Whether the machine waits for a slot or a session that others hold.
const fn is_turn_awaited(blocker: Blocker) -> bool {
    matches!(blocker, Blocker::MaxUnavailable { .. } | Blocker::MaxFailures { .. } | Blocker::SessionLimit)
}

#[cfg(test)]
mod tests {
    use seaworthy_model::report::{Blocked, Report};

    use super::*;

    #[test]
    fn who_comes_and_goes_does_not_pile_up() {
        let mut starvation = Starvation::default();
        starvation.join(MachineId(0));
        for _ in 0..10 * ORDER_MIN {
            starvation.starts += 1;
            starvation.join(MachineId(1));
            starvation.leave(MachineId(1));
        }
        assert!(starvation.order.len() <= ORDER_MIN + 1);
        assert_eq!(starvation.longest(1, |_| true), Some((MachineId(0), 10 * ORDER_MIN as u64)));
        assert_eq!(starvation.waiting, 0);
    }

    /// A turn that reports these machines as waiting for a slot.
    fn waiting(machines: &[u32]) -> Turn {
        let blocker = Blocker::MaxUnavailable { occupied: 1, limit: 1 };
        let blocked = |id: &u32| Blocked { subject: Subject::Machine(MachineId(*id)), blocker };
        Turn {
            report: Report { reconciled: 1, blocked: machines.iter().map(blocked).collect() },
            ..Turn::default()
        }
    }

    #[test]
    fn who_is_overtaken_for_ever_is_found() {
        let (mut starvation, world) = (Starvation::default(), World::default());
        assert_eq!(starvation.turn((0, 10), &world, &waiting(&[3, 1])), None);
        starvation.starts = 5;
        assert_eq!(starvation.turn((0, 10), &world, &waiting(&[3, 2])), None);
        let order: Vec<(u64, u32)> = starvation.order.iter().map(|(since, id)| (*since, id.0)).collect();
        assert_eq!(order, [(0, 3), (0, 1), (5, 2)]);
        starvation.starts = 24;
        assert_eq!(starvation.longest(24, |_| true), None);
        assert_eq!(starvation.longest(20, |id| id.0 == 1), Some((MachineId(1), 24)), "the first has left");
        assert_eq!(starvation.longest(20, |_| true), None);
        assert_eq!(starvation.turn((1, 10), &world, &waiting(&[])), None);
        assert!(starvation.order.is_empty(), "another process starts anew");
    }
}
