//! Nobody starves: a machine that waits for a slot or a session is not overtaken for ever (`starvation`). And no work queue
//! is longer than there are things to look at (`queueLength`).
//!
//! In the time in which everybody else was started twice, and twice more for every component, it must have had its turn.
//! Counted in starts and not in time, this holds whatever goes wrong. Who tries again has kept its slot, and overtakes
//! nobody.

use std::collections::{BTreeSet, VecDeque};

use super::recount::{Miscounts, Truth};
use seaworthy_engine::World;
use seaworthy_model::effect::Target;
use seaworthy_model::id::MachineId;
use seaworthy_model::report::{Blocker, Subject, Turn};

/// The machines that wait in one operator process.
#[derive(Clone, Debug, Default)]
pub(super) struct Starvation {
    process: u32,
    starts: u64,
    /// By machine: the number of starts when it began to wait, and [`WAITS_NOT`].
    since: Vec<u64>,
    /// So many wait.
    waiting: usize,
    /// Who began to wait and at how many starts, longest first. Who has left since is still there, until there are more of
    /// those than of the others.
    order: VecDeque<(u64, MachineId)>,
}

/// No run sees so many starts.
const WAITS_NOT: u64 = u64::MAX;
/// So few that are in the order for nothing are no trouble.
const ORDER_MIN: usize = 64;

impl Starvation {
    /// Follows a turn. The answer is who has waited too long: the machine, and so many starts of others.
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

    /// Reads what there is of a machine, to have it near.
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

    /// Counts again who waits, if the process that was followed last leads: whoever waits is followed. Others may have
    /// left without a word.
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

    /// Loses the order of who waits.
    #[cfg(test)]
    pub(super) fn muddle(&mut self) {
        self.join(MachineId(0));
        self.order.clear();
    }

    /// Who has waited longest, if others were started more often than `most` meanwhile, and if it still waits.
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
            // Who does not wait any more may have left without a word.
            if waits(id) {
                return Some((id, overtaken));
            }
        }
    }
}

/// Whether it waits for something that others have.
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

    /// A turn in which these machines wait for a slot.
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
