//! A change that reaches many machines waits for a person: a selector that is wider than meant, or a version for the wrong object.

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::MachineSpec;
use seaworthy_model::package_version::FleetReason;

use super::Step;
use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::set::{Charter, Owner, Reselection};
use crate::world::World;

/// So many machines may come to any set.
const FEW: u32 = 10;

/// Why a person would have to confirm what an owner wants of a component, as far as that shows before a rollout begins. `coming` is
/// how many machines do not have it yet.
pub(crate) fn unconfirmed(
    world: &World,
    owner: Owner,
    component: ComponentId,
    coming: u32,
) -> Option<(FleetReason, Option<FleetDetail>)> {
    let object = world.charter(owner).filter(|object| !object.is_confirmed)?;
    let step = Step { world, owner, object };
    if world.is_emptied(owner) {
        return Some((FleetReason::SetEmptied, None));
    }
    let known = world.rollout_of(owner, component).map(|index| &world.fleet.rollouts[index]);
    let complete = known.filter(|state| !state.superseded && !state.is_active());
    let reach = step.beyond(component).or_else(|| step.grown(complete?, coming));
    if let Some(reach) = reach {
        return Some((FleetReason::ConfirmationNeeded, Some(step.told_reach(component, reach))));
    }
    let want = object.want(component)?;
    let before = known.filter(|state| state.superseded).and_then(|state| state.record.from.as_ref());
    let is_unsafe = world.goes_back_unsafely(owner, (component, want), before == Some(want));
    is_unsafe.then_some((FleetReason::RollbackUnsafe, None))
}

impl Step<'_> {
    /// Why a change of a component does not begin: it reaches too many machines, and nobody has confirmed it.
    pub(super) fn unconfirmed(self, component: ComponentId) -> Option<FleetReason> {
        self.beyond(component).map(|_| FleetReason::ConfirmationNeeded)
    }

    /// Why a completed rollout does not begin anew with the machines that came.
    pub(super) fn unconfirmed_anew(self, state: &RolloutState) -> Option<FleetReason> {
        let grown = || self.grown(state, self.came(state)).map(|_| FleetReason::ConfirmationNeeded);
        self.unconfirmed(state.record.component).or_else(grown)
    }

    /// The first change that waits for a confirmation.
    pub(super) fn reach(self) -> Option<FleetDetail> {
        let components = self.object.components.unwrap_or_default().iter().map(|setting| setting.component);
        let mut reaches = components.filter_map(|component| {
            let index = self.world.rollout_of(self.owner, component);
            let known = index.map(|index| &self.world.fleet.rollouts[index]);
            let anew = known.filter(|state| !state.superseded);
            if anew.is_some_and(|state| !self.has_many_more(state)) {
                return None;
            }
            let grown = || anew.and_then(|state| self.grown(state, self.came(state)));
            let reach = self.beyond(component).or_else(grown);
            reach.map(|reach| self.told_reach(component, reach))
        });
        reaches.next()
    }

    fn told_reach(self, component: ComponentId, (machines, limit): (u32, u32)) -> FleetDetail {
        FleetDetail::Reach { component: self.world.name_of_component(component), machines, limit }
    }

    /// How many machines came to a completed rollout of a set since its selector was edited, and how many may come without a
    /// confirmation, if it is more: as many as it had. A selector that is far wider than before may be a mistake.
    fn grown(self, state: &RolloutState, came: u32) -> Option<(u32, u32)> {
        let Charter { status, is_confirmed, .. } = self.object;
        let is_told = status.conditions.iter().any(|told| told.reason == FleetReason::ConfirmationNeeded);
        let is_seen = self.world.set(self.owner).is_some_and(|set| set.reselection == Reselection::Others);
        let is_edited = is_seen || is_told;
        let limit = state.record.progress.total.max(FEW);
        let is_set = matches!(self.owner, Owner::Set(_));
        (is_set && is_edited && !is_confirmed && came > limit).then_some((came, limit))
    }

    /// How many machines a change of a component reaches, and how many may be reached without a confirmation, if it is more.
    fn beyond(self, component: ComponentId) -> Option<(u32, u32)> {
        if self.object.is_confirmed {
            return None;
        }
        let limit = self.object.strategy?.confirm_above?.of(self.world.live());
        let is_reached = |machine: &&Machine| {
            let spec = machine.spec().filter(|_| machine.is_live());
            let is_pinned = |spec: &MachineSpec| spec.pins.iter().any(|pin| pin.component == component);
            spec.is_some_and(|spec| !is_pinned(spec)) && self.world.governor(machine, component) == self.owner
        };
        let machines = self.world.machines().map(|(_, machine)| machine).filter(is_reached).count();
        let machines = u32::try_from(machines).unwrap_or(u32::MAX);
        (machines > limit).then_some((machines, limit))
    }
}
