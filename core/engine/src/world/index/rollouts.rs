//! The fleet's rollouts, as they follow from the record, and the machines that a change of them concerns.
//!
//! A fleet is large and its record changes often: a batch is admitted, a rollout begins, is superseded, or is complete.
//! Few of these mean anything to a machine that has what it should have.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Subject;

use crate::rows::fleet::{Counts, Fleet, RolloutState};
use crate::rows::rank::RankKey;
use crate::rows::standing::{Derived, Standing};
use crate::runtime::queue::Priority;
use crate::world::World;

/// The machines that are requeued after a change of the rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Every machine.
    Everybody,
    /// Machines to which the change means something.
    Concerned,
}

impl World {
    /// Applies a record that has only advanced. Higher thresholds requeue just the machines that they admit.
    /// Completions may free slots of the budget.
    pub(crate) fn advance_rollouts(&mut self) {
        let Some(object) = self.fleet.object() else { return };
        let since = self.fleet.active_since();
        let records: Vec<Rollout> = object.status.rollouts.clone();
        for record in records {
            let Some(index) = self.fleet.rollout_of(record.component) else { continue };
            let admitted = self.fleet.rollouts[index].advance(record);
            self.with_each(&admitted, |world, id| {
                world.change(id, |machine| machine.parked = false);
                world.touch(Subject::Machine(id), Priority::Normal);
            });
        }
        if self.fleet.active_since() != since {
            let occupying = self.machines().filter(|(_, machine)| machine.occupies());
            for id in occupying.map(|(id, _)| id).collect::<Vec<_>>() {
                self.refresh(id);
            }
        }
    }

    /// Rebuilds the rollouts from the record, and requeues the machines within `reach`.
    pub(crate) fn rebuild_rollouts(&mut self, reach: Reach) {
        if self.fleet.object().is_none() {
            let action = self.fleet.tracked.writes.action;
            self.fleet = Fleet::default();
            self.fleet.tracked.writes.action = action;
            return self.touch_machines();
        }
        let rollouts = self.recorded_rollouts();
        let past = core::mem::replace(&mut self.fleet.rollouts, rollouts);
        let same_components = past.iter().map(|past| past.record.component).eq(self
            .fleet
            .rollouts
            .iter()
            .map(|rollout| rollout.record.component));
        if reach == Reach::Everybody || !same_components {
            return self.touch_machines();
        }
        self.refresh_all(|world, id, before| {
            if world.is_concerned(id, before, &past) {
                world.touch(Subject::Machine(id), Priority::Low);
            }
        });
    }

    /// Recomputes everything and requeues every machine.
    pub(crate) fn touch_machines(&mut self) {
        self.refresh_all(|world, id, _| {
            if world.machine(id).object.is_some() {
                world.touch(Subject::Machine(id), Priority::Low);
            }
        });
    }

    /// The rollouts of the record, in the order of the components in the spec: a runtime is listed before what runs on
    /// it.
    fn recorded_rollouts(&self) -> Vec<RolloutState> {
        let Some(object) = self.fleet.object() else { return Vec::new() };
        let is_terminating = object.meta.is_terminating();
        let rollouts = object.status.rollouts.iter().cloned().map(|record| {
            let (to_releases, from_releases) = self.prepare(&record);
            let name = self.component_name(record.component);
            RolloutState {
                key: RankKey::new(object.meta.uid, record.generation, name),
                superseded: is_terminating || self.fleet.want(record.component) != Some(&record.to),
                counts: Counts::default(),
                waiting: BTreeSet::new(),
                hindered_at: None,
                to_releases,
                from_releases,
                record,
            }
        });
        let mut rollouts: Vec<RolloutState> = rollouts.collect();
        rollouts.sort_by_key(|rollout| {
            let mut settings = self.fleet.spec().into_iter().flat_map(|spec| &spec.components);
            settings.position(|setting| setting.component == rollout.record.component).unwrap_or(usize::MAX)
        });
        rollouts
    }

    /// Recomputes what follows from every row, because the fleet's rollouts have changed, and passes the former result
    /// of each row to `tell`. While lists are in flight it does nothing: their completion recomputes everything.
    fn refresh_all(&mut self, mut tell: impl FnMut(&mut Self, MachineId, &Derived)) {
        if self.stores.home.is_listing() {
            return;
        }
        for rollout in &mut self.fleet.rollouts {
            rollout.counts = Counts::default();
            rollout.waiting.clear();
        }
        // Nearly all machines may wait: sorting them once takes a fraction of the time of single inserts.
        self.gathered.resize(self.fleet.rollouts.len(), Vec::new());
        for id in self.machines.ids() {
            self.prefetch_walk(id);
            let before = self.machines[id].derived.clone();
            self.machines[id].derived.standings.clear();
            self.refresh(id);
            tell(self, id, &before);
        }
        for (rollout, mut gathered) in self.fleet.rollouts.iter_mut().zip(core::mem::take(&mut self.gathered))
        {
            // As single numbers they are compared without a branch.
            gathered.sort_unstable_by_key(|&(rank, id)| u64::from(rank) << 32 | u64::from(id.0));
            rollout.waiting = gathered.into_iter().collect();
        }
    }

    /// Whether a machine has to be requeued after the rollouts changed from `past`, of the same components: not if it
    /// waits for nothing, and the changed rollouts had and have nothing to do on it.
    fn is_concerned(&self, id: MachineId, before: &Derived, past: &[RolloutState]) -> bool {
        let machine = self.machine(id);
        if machine.object.is_none() {
            return false;
        }
        let after = &machine.derived;
        let is_at_rest = machine.blocked.is_none()
            && self.blockers.get(Subject::Machine(id)).is_none()
            && (before.occupies, before.unresolved, before.lost)
                == (after.occupies, after.unresolved, after.lost);
        let idles = past.iter().zip(&self.fleet.rollouts).enumerate().all(|(index, (past, rollout))| {
            let standing = |derived: &Derived| derived.standings.get(index).unwrap_or_default();
            let (before, after) = (standing(before), standing(after));
            // A waiting machine that lacks the component gets the version from before the rollout.
            let lacks_it = after == Standing::Waiting
                && rollout.record.from.is_some()
                && machine.installed(rollout.record.component).is_none();
            if past.asks_the_same_as(rollout) {
                before == after
            } else {
                before.is_idle() && after.is_idle() && !lacks_it
            }
        });
        !(is_at_rest && idles)
    }
}
