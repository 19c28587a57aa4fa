//! What follows from the rows: the state of each machine in each rollout, whether it occupies a slot of the budget, and
//! the counters over all of them. Kept incrementally: a change of a row changes the counters by the difference.

use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::report::Subject;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::standing::{Derived, Standing, Standings};
use crate::runtime::queue::Priority;
use crate::world::World;

impl World {
    /// Recomputes what follows from a row, and changes the counters by the difference. While lists are in flight
    /// nothing is decided, and this does nothing: their completion recomputes every row.
    pub(crate) fn refresh(&mut self, id: MachineId) {
        if self.stores.home.is_listing() {
            return;
        }
        self.refresh_node(id);
        let derived = self.derive(id);
        let row = &mut self.machines[id];
        let is_blocked = row.blocked.is_some();
        // A reservation ends with the state that it was made for.
        row.parked |= derived.standings.iter().all(|standing| standing != Standing::Reserved);
        if row.derived == derived {
            return;
        }
        let before = core::mem::replace(&mut row.derived, derived);
        let uid = row.uid();
        let failures_before = self.failures_max();
        let derived = &self.machines[id].derived;
        self.live = self.live + u32::from(derived.live) - u32::from(before.live);
        self.occupied = self.occupied + u32::from(derived.occupies) - u32::from(before.occupies);
        let failures_max = if derived.live == before.live { failures_before } else { self.failures_max() };
        // A row usually changes state in one rollout only: the others are skipped.
        let is_alike = failures_max == failures_before
            && (before.uid, before.unresolved, before.lost) == (uid, derived.unresolved, derived.lost);
        let mut opens = false;
        for (index, rollout) in self.fleet.rollouts.iter_mut().enumerate() {
            let old = before.standings.get(index).unwrap_or_default();
            let new = derived.standings.get(index).unwrap_or_default();
            if is_alike && old == new {
                continue;
            }
            let had_room = rollout.counts.room(failures_before) > 0;
            rollout.counts.uncount(old, &before);
            rollout.counts.count(new, derived);
            if is_blocked && (old, new) == (Standing::Reserved, Standing::Excused) {
                rollout.hindered_at = Some(self.now);
            }
            opens |= !had_room && rollout.counts.room(failures_max) > 0;
            if old != new || before.uid != uid {
                // A new incarnation has another rank.
                if old == Standing::Waiting {
                    rollout.leave(id, before.uid);
                }
                if let (Standing::Waiting, Some(uid)) = (new, uid) {
                    let place = (rollout.key.rank(uid), id);
                    match self.gathered.get_mut(index) {
                        Some(gathered) => gathered.push(place),
                        None => {
                            rollout.waiting.insert(place);
                        }
                    }
                }
            }
        }
        if opens {
            self.release_stopped();
        }
        self.touch(Subject::PackageVersion, Priority::Urgent);
    }

    /// What follows from a row.
    fn derive(&self, id: MachineId) -> Derived {
        let machine = self.machine(id);
        let standings: Standings =
            self.fleet.rollouts.iter().map(|rollout| self.stand(machine, rollout)).collect();
        let live = machine.is_live();
        let unresolved = machine.is_busy() || machine.may_be_busy(&standings);
        let fell = live
            && machine
                .unavailable_since()
                .is_some_and(|since| self.fleet.active_since().is_some_and(|start| since > start));
        let holds =
            standings.iter().any(|standing| matches!(standing, Standing::Reserved | Standing::Failed));
        let lost = !unresolved && machine.may_be_lost(&standings);
        let occupies = unresolved || fell || holds || machine.holds_node();
        Derived { live, occupies, unresolved, lost, standings, uid: machine.uid() }
    }

    fn stand(&self, machine: &Machine, rollout: &RolloutState) -> Standing {
        let component = rollout.record.component;
        let (Some(uid), Some(spec)) = (machine.uid(), machine.spec()) else { return Standing::Outside };
        if !machine.is_live() || spec.pins.iter().any(|pin| pin.component == component) {
            return Standing::Outside;
        }
        let wanted = match rollout.prepared_for(machine) {
            Some(release) => Some(release.id),
            None => match self.wanted(machine, component, &rollout.record.to) {
                Ok(wanted) => wanted.map(|release| release.id),
                Err(_) => return self.stand_unfinished(machine, rollout, uid),
            },
        };
        let installed = machine.installed(component).map(|installed| installed.release);
        let failed = machine.failed_release(component).map(|failed| failed.release);
        // A failed release that could not be rolled back is installed, even intact, and counts as failed.
        if failed.is_some() && failed == wanted && !rollout.superseded {
            return Standing::Failed;
        }
        // A release is installed before it is probed: the machine is not done until the host reports the result.
        if installed == wanted && !machine.is_changing(component) {
            return if failed.is_some() { Standing::Restored } else { Standing::Done };
        }
        self.stand_unfinished(machine, rollout, uid)
    }

    /// On how many machines the release of a rollout has failed. A superseded rollout counts too.
    pub(crate) fn failed_on(&self, rollout: &RolloutState) -> u32 {
        let component = rollout.record.component;
        let failed = self.machines().filter(|(_, machine)| {
            machine.failed_release(component).is_some_and(|failed| {
                let wanted = self.wanted(machine, component, &rollout.record.to);
                wanted.is_ok_and(|wanted| wanted.is_some_and(|wanted| wanted.id == failed.release))
                    && self.stand(machine, rollout) != Standing::Outside
            })
        });
        u32::try_from(failed.count()).unwrap_or(u32::MAX)
    }

    fn stand_unfinished(&self, machine: &Machine, rollout: &RolloutState, uid: Uid) -> Standing {
        if !rollout.admits(rollout.key.rank(uid)) {
            Standing::Waiting
        } else if machine.host.unreachable_since.is_some()
            || (machine.host.facts.is_none() && machine.is_recorded_unreachable())
            || machine.blocked.is_some()
        {
            Standing::Excused
        } else if machine.parked || rollout.superseded || self.fleet.is_paused() {
            Standing::Parked
        } else {
            Standing::Reserved
        }
    }
}
