//! The fleet's rollouts, as they follow from the record, and the machines that a change of them concerns.
//!
//! A fleet is large and its record changes often: a batch is admitted, a rollout begins, is superseded, or is complete.
//! Few of these mean anything to a machine that has what it should have.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::Installed;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Subject;

use crate::rows::fleet::{Counts, Fleet, Inherited, RolloutState};
use crate::rows::rank::RankKey;
use crate::rows::set::{Charter, Owner};
use crate::rows::standing::{Derived, Standing};
use crate::runtime::queue::Priority;
use crate::world::World;

/// A Node that has been ready for so long is not one of those that come and go.
const STEADY_AFTER: Duration = Duration::from_secs(3600);

/// The machines that are requeued after a change of the rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Every machine.
    Everybody,
    /// Machines to which the change means something.
    Concerned,
}

impl World {
    /// Applies a record in which only grants and completions have changed: requeues just the machines that are newly
    /// granted.
    pub(crate) fn apply_grants(&mut self, owner: Owner) {
        let Some(charter) = self.charter(owner) else { return };
        let records: Vec<Rollout> = charter.status.rollouts.clone();
        let mut is_any_completed = false;
        for record in records {
            let Some(index) = self.rollout_of(owner, record.component) else { continue };
            let component = record.component;
            let state = &mut self.fleet.rollouts[index];
            is_any_completed |= state.record.completed_at != record.completed_at;
            let before = core::mem::replace(&mut state.record, record).granted.unwrap_or_default();
            let after = state.record.granted.as_deref().unwrap_or_default();
            let is_in = |list: &[u32], rank: &u32| list.binary_search(rank).is_ok();
            let machines = |ranks: Vec<u32>| ranks.into_iter().flat_map(|rank| state.of_rank(rank)).collect();
            let granted: Vec<MachineId> =
                machines(after.iter().copied().filter(|rank| !is_in(&before, rank)).collect());
            let dropped: Vec<MachineId> =
                machines(before.iter().copied().filter(|rank| !is_in(after, rank)).collect());
            for id in dropped {
                self.refresh(id);
            }
            self.with_each(&granted, |world, id| {
                world.change(id, |machine| machine.take_grant(component));
                world.touch(Subject::Machine(id), Priority::Normal);
            });
        }
        if is_any_completed {
            for id in self.machines.ids() {
                self.refresh(id);
            }
        }
    }

    /// Whether a new record of an owner differs from its rollouts only in grants and completions.
    pub(crate) fn differs_in_grants_only(&self, owner: Owner, seen: Charter<'_>, new: Charter<'_>) -> bool {
        let count = self.fleet.rollouts.iter().filter(|rollout| rollout.owner == owner).count();
        seen.meta.uid == new.meta.uid
            && seen.status.epoch == new.status.epoch
            && seen.meta.is_terminating() == new.meta.is_terminating()
            && new.status.rollouts.len() == count
            && new.status.rollouts.iter().all(|record| {
                let index = self.rollout_of(owner, record.component);
                index.is_some_and(|index| self.fleet.rollouts[index].is_only_granting(record))
            })
    }

    /// A machine gives its grants back, or the one for a component. Its unit comes back unused, and the next machine may
    /// have to yield as well: the next wave takes its time.
    pub(crate) fn yield_grants(&mut self, id: MachineId, only: Option<ComponentId>) {
        let mut components = Vec::new();
        for (index, rollout) in self.fleet.rollouts.iter_mut().enumerate() {
            let component = rollout.record.component;
            if only.is_some_and(|only| only != component) {
                continue;
            }
            if self.machines[id].standing(index) == Standing::Granted {
                rollout.hindered_at = Some(self.now);
            }
            components.push(component);
        }
        self.change(id, |machine| {
            components.into_iter().for_each(|component| machine.yield_grant(component));
        });
    }

    /// Rebuilds the rollouts from the record, and requeues the machines within `reach`.
    pub(crate) fn rebuild_rollouts(&mut self, reach: Reach) {
        let rollouts = self.recorded_rollouts();
        if self.fleet.object().is_none() {
            let action = self.fleet.tracked.writes.action;
            self.fleet = Fleet { rollouts, ..Fleet::default() };
            self.fleet.tracked.writes.action = action;
            return self.touch_machines();
        }
        let past = core::mem::replace(&mut self.fleet.rollouts, rollouts);
        let mut changes = core::mem::take(&mut self.changes);
        changes.keep(|component| self.has_gates(component));
        self.changes = changes;
        let mut restarts = core::mem::take(&mut self.restarts);
        restarts.keep(|component| self.has_gates(component));
        self.restarts = restarts;
        let place = |rollout: &RolloutState| (rollout.owner, rollout.record.component);
        let same_places = past.iter().map(place).eq(self.fleet.rollouts.iter().map(place));
        if reach == Reach::Everybody || !same_places {
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
            if world.machine(id).is_decided() {
                world.touch(Subject::Machine(id), Priority::Low);
            }
        });
    }

    /// A machine is about to get another release of a component. It matters to the gates of rollouts that bring one.
    pub(crate) fn note_change(&mut self, id: MachineId, component: ComponentId, new: Installed) {
        let is_same =
            self.machine(id).installed(component).is_some_and(|installed| installed.release == new.release);
        if !is_same && self.has_gates(component) {
            let node = self.machine(id).node.as_ref();
            let is_unsteady = node.is_some_and(|node| self.now < node.since + STEADY_AFTER);
            self.changes.begins((component, id), new.release, (self.now, is_unsteady));
        }
    }

    /// Whether some rollout of a component goes through gates.
    pub(crate) fn has_gates(&self, component: ComponentId) -> bool {
        self.fleet.rollouts.iter().any(|rollout| {
            rollout.record.component == component && rollout.is_active() && rollout.record.course.is_some()
        })
    }

    /// The rollouts of the records, in the order of the components in the defaults: a runtime is listed before what runs on
    /// it.
    fn recorded_rollouts(&self) -> Vec<RolloutState> {
        let charters = self.owners().filter_map(|owner| Some((owner, self.charter(owner)?)));
        let rollouts = charters.flat_map(|(owner, charter)| {
            let records = charter.status.rollouts.iter().cloned();
            records.map(move |record| self.recorded_rollout(owner, charter, record))
        });
        let mut rollouts: Vec<RolloutState> = rollouts.collect();
        let place = |owner: Owner, component: ComponentId| {
            let settings = self.charter(owner).and_then(|charter| charter.components).unwrap_or_default();
            settings.iter().position(|setting| setting.component == component).unwrap_or(usize::MAX)
        };
        rollouts.sort_by_key(|rollout| {
            let component = rollout.record.component;
            (place(Owner::Fleet, component), place(rollout.owner, component))
        });
        rollouts
    }

    fn recorded_rollout(&self, owner: Owner, charter: Charter<'_>, record: Rollout) -> RolloutState {
        let (to_releases, from_releases) = self.prepare(&record);
        let name = self.component_name(record.component);
        let key_of = |generation| RankKey::new(charter.meta.uid, generation, name);
        let superseded_keys: Vec<RankKey> =
            record.superseded.iter().map(|superseded| key_of(superseded.generation)).collect();
        let key = key_of(record.generation);
        let known = self.rollout_of(owner, record.component).map(|index| &self.fleet.rollouts[index]);
        // What another owner changes does not start the pace of this one anew.
        let paced = known.filter(|known| known.record == record);
        let inquiry = known.filter(|known| known.record.generation == record.generation);
        let inquiry = inquiry.and_then(|known| known.inquiry.as_ref());
        let sample = known.and_then(|known| known.sample.as_ref()).filter(|sample| sample.is_for(&record));
        RolloutState {
            owner,
            key,
            inherited: self.inherited(charter, (&record, known), key, &superseded_keys),
            superseded_holders: superseded_keys.iter().map(|_| Vec::new()).collect(),
            superseded_keys,
            superseded: charter.meta.is_terminating() || charter.want(record.component) != Some(&record.to),
            counts: Counts::default(),
            waiting: BTreeSet::new(),
            holders: BTreeSet::new(),
            hindered_at: paced.and_then(|known| known.hindered_at),
            waves: paced.map(|known| known.waves.clone()).unwrap_or_default(),
            inquiry: inquiry.cloned(),
            sample: sample.cloned(),
            to_releases,
            from_releases,
            record,
        }
    }

    /// The grants that a predecessor has recorded: all that the record lists, until we have written our own epoch into it.
    /// From then on those that were listed before.
    fn inherited(
        &self,
        charter: Charter<'_>,
        (record, known): (&Rollout, Option<&RolloutState>),
        key: RankKey,
        superseded_keys: &[RankKey],
    ) -> Inherited {
        if charter.status.epoch != self.epoch() || self.epoch() == Epoch::VACANT {
            return Inherited::of(record, superseded_keys);
        }
        match known {
            Some(known) if known.key == key => known.inherited.clone(),
            Some(known) => known.inherited.superseded(known.key),
            None => Inherited::default(),
        }
    }

    /// A new epoch is ours: all that the records list was granted before it.
    pub(crate) fn inherit_grants(&mut self) {
        for rollout in &mut self.fleet.rollouts {
            rollout.inherited = Inherited::of(&rollout.record, &rollout.superseded_keys);
        }
    }

    /// Finds the machines that the superseded rollouts list.
    fn find_superseded(&mut self) {
        let rows = &self.machines;
        for rollout in &mut self.fleet.rollouts {
            let superseded = rollout.record.superseded.iter().zip(&rollout.superseded_keys);
            for ((superseded, key), holders) in superseded.zip(&mut rollout.superseded_holders) {
                let listed = rows.iter().filter(|row| {
                    row.uid().is_some_and(|uid| superseded.granted.binary_search(&key.rank(uid)).is_ok())
                });
                *holders = listed.map(|row| row.id).collect();
            }
        }
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
            rollout.holders.clear();
        }
        self.find_superseded();
        self.is_recounting = true;
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
        self.is_recounting = false;
        if core::mem::take(&mut self.fleet.recalls) {
            self.recall_breaker();
            self.recall_begun();
        }
        self.weigh_breaker();
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
            && (before.claims, before.unresolved, before.lost)
                == (after.claims, after.unresolved, after.lost);
        let idles = past.iter().zip(&self.fleet.rollouts).enumerate().all(|(index, (past, rollout))| {
            let standing = |derived: &Derived| derived.standings.get(index).unwrap_or_default();
            let (before, after) = (standing(before), standing(after));
            // A machine that is not permitted and lacks the component gets the version from before the rollout.
            let lacks_it = after == Standing::Waiting
                && rollout.record.from.is_some()
                && machine.installed(rollout.record.component).is_none();
            if past.asks_the_same_as(rollout) {
                before == after && !after.is_granted()
            } else {
                before.is_idle() && after.is_idle() && !lacks_it
            }
        });
        !(is_at_rest && idles)
    }
}
