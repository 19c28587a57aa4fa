//! The machines of a `CanaryRelease`: which ones it picks, what became of each, and when it is over.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::component_set::{Canary, PickResult, Picked, SetSpec};
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::report::WakeReason;

use super::Step;
use super::standstill::Standstill;
use crate::domains::draft::Draft;
use crate::rows::machine::Machine;
use crate::rows::set::{Owner, Spec};
use crate::rows::standing::Standing;

/// How often a canary looks for machines that finds none: whatever makes one fit requeues no canary.
const PICKS_AGAIN: Duration = Duration::from_secs(60);

impl<'w> Step<'w> {
    /// Whether it is a canary that has yet to record its machines: it rolls out nothing before.
    pub(super) fn has_to_pick(self) -> bool {
        self.canary().is_some() && self.object.status.picked.is_empty() && !self.is_over()
    }

    /// The machines of a canary as they are to be recorded: picked once, each with what became of it. None of other owners.
    pub(super) fn picked(self) -> Vec<Picked> {
        let recorded = &self.object.status.picked;
        let Owner::Canary(id) = self.owner else { return recorded.clone() };
        if self.canary().is_none() || self.is_over() {
            return recorded.clone();
        }
        if recorded.is_empty() {
            let waiting = |machine| Picked { machine, result: PickResult::Waiting };
            return self.world.choice(id).machines.into_iter().map(waiting).collect();
        }
        let machines = recorded.iter().map(|picked| picked.machine);
        machines.map(|machine| Picked { machine, result: self.result(machine) }).collect()
    }

    /// How a canary stands that does not go on; `None` when it goes on as any other owner.
    pub(super) fn end(self) -> Option<Standstill> {
        let (spec, canary) = self.canary()?;
        if canary.aborted {
            Some(Standstill::Aborted)
        } else if self.is_over() || self.is_promoted(spec) {
            Some(Standstill::Promoted)
        } else {
            None
        }
    }

    /// How a canary stands that has recorded no machines yet.
    pub(super) fn before_the_pick(self, draft: &mut Draft<'_>) -> Standstill {
        if !self.picked().is_empty() {
            return Standstill::Moving;
        }
        draft.wake_at(draft.now + PICKS_AGAIN, WakeReason::Admission);
        Standstill::Stopped(FleetReason::NoMachines)
    }

    /// The set that all machines of a canary belong to besides; `None` if there is none, or more than one.
    pub(super) fn base(self) -> Option<Owner> {
        let picked = self.object.status.picked.iter().map(|picked| self.world.machine(picked.machine));
        let of = |machine: &Machine| {
            let mut sets = machine.sets.iter().flat_map(|sets| sets.iter().copied());
            sets.find(|owner| matches!(owner, Owner::Set(_)))
        };
        let mut bases = picked.map(of);
        let first = bases.next()??;
        bases.all(|base| base == Some(first)).then_some(first)
    }

    /// What would decide about a component of the machines of this owner without it; `None` if that differs from machine to
    /// machine.
    pub(super) fn governor_below(self, component: ComponentId) -> Option<Owner> {
        let machines = self.world.machines().map(|(_, machine)| machine);
        let is_ours = |machine: &&Machine| self.world.governor(machine, component) == self.owner;
        let below = |machine: &Machine| self.world.governor_without(Some(self.owner), machine, component);
        let mut owners = machines.filter(is_ours).map(below);
        let Some(first) = owners.next() else { return Some(Owner::Fleet) };
        owners.all(|owner| owner == first).then_some(first)
    }

    fn canary(self) -> Option<(&'w SetSpec, &'w Canary)> {
        let spec = self.world.set(self.owner)?.spec()?;
        Some((spec, spec.canary.as_ref()?))
    }

    fn is_over(self) -> bool {
        self.world.set(self.owner).and_then(|set| set.object()).is_some_and(SetSpec::is_over)
    }

    /// Whether its machines get the same without it: then nothing is left to be tried.
    fn is_promoted(self, spec: &SetSpec) -> bool {
        let machines = self.object.status.picked.iter().map(|picked| self.world.machine(picked.machine));
        let mut machines = machines.filter(|machine| machine.object.is_some()).peekable();
        let gets_the_same = |machine: &Machine| {
            spec.components.iter().all(|setting| {
                let owner = self.world.governor_without(Some(self.owner), machine, setting.component);
                let want = self.world.charter(owner).and_then(|charter| charter.want(setting.component));
                want == Some(&setting.want)
            })
        };
        machines.peek().is_some() && machines.all(gets_the_same)
    }

    /// What became of a machine: the worst of its components.
    fn result(self, id: MachineId) -> PickResult {
        let machine = self.world.machine(id);
        let results = self.rollouts().map(|(index, _)| match machine.standing(index) {
            Standing::Done | Standing::Restored => PickResult::Updated,
            Standing::Waiting | Standing::Eligible => PickResult::Waiting,
            Standing::Granted => PickResult::Updating,
            Standing::Held | Standing::Deferred | Standing::Outside => PickResult::Unavailable,
            Standing::Failed => PickResult::Failed,
        });
        results.max().unwrap_or(PickResult::Waiting)
    }
}
