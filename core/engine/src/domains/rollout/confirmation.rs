//! A change that reaches many machines waits for a person: a selector that is wider than meant, or a version for the wrong object.

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::MachineSpec;
use seaworthy_model::package_version::FleetReason;

use super::Step;
use crate::rows::machine::Machine;
use crate::rows::set::Owner;
use crate::world::World;

/// How many machines a change of a component of an owner reaches, if so many need the confirmation of a person.
pub(crate) fn reach(world: &World, owner: Owner, component: ComponentId) -> Option<FleetDetail> {
    let object = world.charter(owner)?;
    Step { world, owner, object }.reach_of(component)
}

impl Step<'_> {
    /// Why a change of a component does not begin: it reaches too many machines, and nobody has confirmed it.
    pub(super) fn unconfirmed(self, component: ComponentId) -> Option<FleetReason> {
        self.beyond(component).map(|_| FleetReason::ConfirmationNeeded)
    }

    /// The first change that waits for a confirmation.
    pub(super) fn reach(self) -> Option<FleetDetail> {
        let components = self.object.components.unwrap_or_default();
        let is_new = |component| {
            let index = self.world.rollout_of(self.owner, component);
            let known = index.map(|index| &self.world.fleet.rollouts[index]);
            known.is_none_or(|state| state.superseded || self.has_many_more(state))
        };
        let mut new = components.iter().map(|setting| setting.component).filter(|one| is_new(*one));
        new.find_map(|component| self.reach_of(component))
    }

    fn reach_of(self, component: ComponentId) -> Option<FleetDetail> {
        let (machines, limit) = self.beyond(component)?;
        let component = self.world.name_of_component(component);
        Some(FleetDetail::Reach { component, machines, limit })
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
