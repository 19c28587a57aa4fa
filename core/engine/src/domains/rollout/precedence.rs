//! Which rollout comes before which, where versions depend on other components.
//!
//! A granted machine that has to wait for another component yields, so its unit goes to the next machine, which has to
//! wait as well: wave would follow wave, and none would be at work. So a rollout that hardly any machine could start
//! permits none until the other rollout has gone through the fleet. All of
//! this follows from the record and its counters; a new operator comes to the same answer.

use alloc::vec::Vec;

use seaworthy_model::detail::{FleetDetail, Wait};
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{ComponentSetting, Want};
use seaworthy_model::package_version::Rollout;

use super::Step;
use crate::rows::fleet::RolloutState;
use crate::rows::set::Owner;

impl<'w> Step<'w> {
    /// The component whose rollout keeps the rollout of this component from admitting machines: the last one in the
    /// chain of waits. `None` also when the chain is a cycle: then machines are admitted, and report the cycle.
    pub(super) fn predecessor(self, component: ComponentId) -> Option<ComponentId> {
        if !self.world.is_ordered() {
            return None;
        }
        let mut way = Vec::from([component]);
        let mut last = component;
        while let Some(next) = self.awaited(last) {
            if way.contains(&next) {
                return None;
            }
            way.push(next);
            last = next;
        }
        (last != component).then_some(last)
    }

    /// The rollouts that admit no machine until others have gone through the fleet, if any.
    pub(super) fn waits_detail(self) -> Option<FleetDetail> {
        if !self.world.is_ordered() {
            return None;
        }
        let waits = self.rollouts().filter_map(|(_, state)| {
            let admits = state.is_active() && !state.superseded;
            let is_granted_to_all =
                state.record.admitted_below == Rollout::EVERYBODY && state.counts.eligible == 0;
            let is_open = admits && !is_granted_to_all;
            let component = state.record.component;
            let first = self.predecessor(component).filter(|_| is_open)?;
            let name = |component| self.world.name_of_component(component);
            Some(Wait { component: name(component), first: name(first) })
        });
        let waits: Vec<_> = waits.collect();
        (!waits.is_empty()).then(|| FleetDetail::Waits(waits.into()))
    }

    /// The first component that a rollout waits for.
    fn awaited(self, component: ComponentId) -> Option<ComponentId> {
        match self.want(component)? {
            Want::Present { version, .. } => {
                let needed = &self.world.version_spec(*version)?.depends_on;
                needed.iter().copied().find(|needed| self.is_on_its_way(*needed))
            }
            Want::Absent => {
                let mut others = self.settings().filter(|other| other.component != component);
                // The record does not show for certain which versions of the other component are installed.
                let other = others.find(|other| {
                    self.lets_go(&other.want, component)
                        && self.is_unfinished(other.component)
                        && self.world.may_need(other.component, component)
                });
                other.map(|other| other.component)
            }
        }
    }

    /// Whether a component is being installed on machines that lack it: on most of the fleet, as far as is known.
    fn is_on_its_way(self, component: ComponentId) -> bool {
        let was_there = |state: &RolloutState| {
            let proven = Some(state.record.target()).filter(|_| state.record.was_complete());
            let wants = state.record.from.iter().chain(proven);
            wants.last().is_some_and(|want| *want != Want::Absent)
        };
        matches!(self.want(component), Some(Want::Present { .. }))
            && !self.rollout(component).is_some_and(was_there)
            && self.is_unfinished(component)
    }

    /// Whether a rollout has not gone through the fleet yet. Machines that failed or cannot be worked on do not count.
    fn is_unfinished(self, component: ComponentId) -> bool {
        self.rollout(component).is_none_or(|state| {
            let has_work = || state.counts.granted + state.counts.eligible > 0;
            let admits = state.record.admitted_below != Rollout::EVERYBODY;
            state.superseded || (state.is_active() && (admits || has_work()))
        })
    }

    /// Whether a machine that gets what is wanted does not need a component any more.
    fn lets_go(self, want: &Want, component: ComponentId) -> bool {
        !want.version().is_some_and(|version| self.world.needs(version, component))
    }

    /// What the machines of the owner are to have: what it says itself, and what the fleet's defaults say besides.
    pub(super) fn settings(self) -> impl Iterator<Item = &'w ComponentSetting> {
        let own = self.object.components.unwrap_or_default();
        let of = |owner: Option<Owner>| {
            let charter =
                owner.filter(|owner| *owner != self.owner).and_then(|owner| self.world.charter(owner));
            charter.and_then(|charter| charter.components).unwrap_or_default()
        };
        let (base, defaults) = (of(self.base()), of(Some(Owner::Fleet)));
        let is_in = |settings: &[ComponentSetting], component| {
            settings.iter().any(|setting| setting.component == component)
        };
        let besides = base.iter().filter(move |setting| !is_in(own, setting.component));
        let is_left = move |setting: &&ComponentSetting| {
            !is_in(own, setting.component) && !is_in(base, setting.component)
        };
        own.iter().chain(besides).chain(defaults.iter().filter(is_left))
    }

    /// What they are to have of a component.
    fn want(self, component: ComponentId) -> Option<&'w Want> {
        self.settings().find(|setting| setting.component == component).map(|setting| &setting.want)
    }

    /// The rollout that brings them a component.
    pub(super) fn rollout(self, component: ComponentId) -> Option<&'w RolloutState> {
        let mentions = |owner: &Owner| {
            self.world.charter(*owner).is_some_and(|charter| charter.want(component).is_some())
        };
        let owners = [Some(self.owner), self.base()].into_iter().flatten();
        let owner = owners.into_iter().find(mentions).unwrap_or(Owner::Fleet);
        self.world.rollout_of(owner, component).map(|index| &self.world.fleet.rollouts[index])
    }
}
