//! Components that machines have from a set with `onLeave: Remove`, and that are removed once they have left it.
//!
//! The status of a machine says from which set it has such a component: a new operator has to know that of a machine whose
//! labels have changed meanwhile.

use seaworthy_model::component_set::{OnLeave, SetSpec};
use seaworthy_model::id::{ComponentId, SetId};

use crate::rows::machine::Machine;
use crate::rows::set::{Owner, Set};
use crate::world::World;

impl World {
    /// The set with which a component of a machine goes, as it has to be recorded.
    pub(crate) fn set_to_record(&self, machine: &Machine, component: ComponentId) -> Option<SetId> {
        if is_pinned(machine, component) {
            return None;
        }
        let recorded = recorded(machine, component);
        match self.governor(machine, component) {
            Owner::Set(id) => self.takes_back(id, component).then_some(id),
            Owner::Fleet if self.fleet.want(component).is_some() => None,
            // A set that cannot be read may be corrected.
            Owner::Fleet | Owner::Canary(_) => recorded.filter(|id| {
                let set = self.set(Owner::Set(*id)).and_then(Set::object);
                set.is_some_and(|set| set.spec.is_err()) || self.takes_back(*id, component)
            }),
        }
    }

    /// The set that a machine has left, if a component is to go with it: the set still wants that, and nobody else says
    /// anything of the component.
    ///
    /// A set that selects no machine at all takes nothing back: a mistake in a selector must not empty a fleet.
    #[must_use]
    pub fn set_left(&self, machine: &Machine, component: ComponentId) -> Option<SetId> {
        let id = recorded(machine, component)?;
        let is_nobodys = !is_pinned(machine, component)
            && self.governor(machine, component) == Owner::Fleet
            && self.fleet.spec().is_some()
            && self.fleet.want(component).is_none();
        let has_others = self.members.contains_key(&Owner::Set(id));
        (is_nobodys && has_others && self.takes_back(id, component)).then_some(id)
    }

    /// Whether a set takes a component back from machines that leave it.
    fn takes_back(&self, id: SetId, component: ComponentId) -> bool {
        let takes_back = |spec: &SetSpec| {
            spec.on_leave == OnLeave::Remove
                && spec.components.iter().any(|setting| setting.component == component)
        };
        self.set(Owner::Set(id)).and_then(Set::spec).is_some_and(takes_back)
    }
}

fn recorded(machine: &Machine, component: ComponentId) -> Option<SetId> {
    machine.object.as_ref()?.status.component(component)?.set
}

fn is_pinned(machine: &Machine, component: ComponentId) -> bool {
    machine.spec().is_some_and(|spec| spec.pins.iter().any(|pin| pin.component == component))
}
