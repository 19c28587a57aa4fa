//! What owns rollouts: the fleet's defaults, the sets and the canaries. Each component of a machine belongs to one of them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use seaworthy_model::effect::ActionId;
use seaworthy_model::id::{CanaryId, ComponentId, MachineId, SetId};
use seaworthy_model::labels::Labels;
use seaworthy_model::lease::Epoch;

use crate::rows::machine::Machine;
use crate::rows::set::{Charter, Doubt, Owner, Reselection, Set};
use crate::rows::ticket::Ticket;
use crate::runtime::queue::Priority;
use crate::runtime::tracked::Writes;
use crate::world::World;

impl World {
    /// A set or a canary; `None` if it was never named, and for the fleet's defaults.
    #[must_use]
    pub fn set(&self, owner: Owner) -> Option<&Set> {
        match owner {
            Owner::Fleet => None,
            Owner::Set(id) => self.sets.get(id.index()),
            Owner::Canary(id) => self.canaries.get(id.index()),
        }
    }

    /// A set or a canary, to be changed; `None` for the fleet's defaults.
    pub(crate) fn set_mut(&mut self, owner: Owner) -> Option<&mut Set> {
        let (sets, index) = match owner {
            Owner::Fleet => return None,
            Owner::Set(id) => (&mut self.sets, id.index()),
            Owner::Canary(id) => (&mut self.canaries, id.index()),
        };
        if sets.len() <= index {
            sets.resize_with(index + 1, Set::default);
        }
        sets.get_mut(index)
    }

    /// The sets and canaries that exist.
    pub fn sets(&self) -> impl Iterator<Item = (Owner, &Set)> {
        let canaries = (0..).map(|id| Owner::Canary(CanaryId(id))).zip(&self.canaries);
        let sets = (0..).map(|id| Owner::Set(SetId(id))).zip(&self.sets);
        canaries.chain(sets).filter(|(_, set)| set.object().is_some())
    }

    /// Everything that owns rollouts and exists.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner> {
        let fleet = self.fleet.object().map(|_| Owner::Fleet);
        fleet.into_iter().chain(self.sets().map(|(owner, _)| owner))
    }

    /// The object of an owner, if it exists.
    #[must_use]
    pub fn charter(&self, owner: Owner) -> Option<Charter<'_>> {
        match owner {
            Owner::Fleet => self.fleet.object().map(Charter::from),
            Owner::Set(_) | Owner::Canary(_) => self.set(owner)?.object().map(Charter::from),
        }
    }

    /// The epoch in the record of an owner. It is asked of every machine that is granted.
    pub(crate) fn recorded_epoch(&self, owner: Owner) -> Option<Epoch> {
        match owner {
            Owner::Fleet => self.fleet.object().map(|object| object.status.epoch),
            Owner::Set(_) | Owner::Canary(_) => self.set(owner)?.object().map(|object| object.status.epoch),
        }
    }

    /// Whether a person has paused an owner.
    #[must_use]
    pub fn is_owner_paused(&self, owner: Owner) -> bool {
        self.charter(owner).is_some_and(|charter| charter.paused)
    }

    /// A write of an owner whose outcome is not known, and that may still be executed.
    pub(crate) fn doubt_about(&self, owner: Owner) -> Option<Doubt> {
        let doubt = match owner {
            Owner::Fleet => self.fleet.doubt,
            Owner::Set(_) | Owner::Canary(_) => self.set(owner)?.doubt,
        };
        let seen = self.charter(owner).map(|charter| charter.meta.resource_version);
        doubt.filter(|doubt| doubt.until > self.now && doubt.against == seen)
    }

    /// The state of our writes of an owner.
    pub(crate) fn writes_of(&self, owner: Owner) -> Option<&Writes> {
        match owner {
            Owner::Fleet => Some(&self.fleet.tracked.writes),
            Owner::Set(_) | Owner::Canary(_) => self.set(owner).map(|set| &set.tracked.writes),
        }
    }

    /// The same, to be changed.
    pub(crate) fn writes_of_mut(&mut self, owner: Owner) -> Option<&mut Writes> {
        match owner {
            Owner::Fleet => Some(&mut self.fleet.tracked.writes),
            Owner::Set(_) | Owner::Canary(_) => self.set_mut(owner).map(|set| &mut set.tracked.writes),
        }
    }

    /// The index of the rollout of a component.
    #[must_use]
    pub fn rollout_of(&self, owner: Owner, component: ComponentId) -> Option<usize> {
        let mut rollouts = self.fleet.rollouts.iter();
        rollouts.position(|rollout| rollout.owner == owner && rollout.record.component == component)
    }

    /// What decides about a component of a machine that has no pin for it.
    #[must_use]
    pub fn governor(&self, machine: &Machine, component: ComponentId) -> Owner {
        self.governor_without(None, machine, component)
    }

    /// The same as if one of them did not exist.
    pub(crate) fn governor_without(
        &self,
        absent: Option<Owner>,
        machine: &Machine,
        component: ComponentId,
    ) -> Owner {
        let Some(sets) = &machine.sets else { return Owner::Fleet };
        let mut sets = sets.iter().copied().filter(|owner| Some(*owner) != absent);
        let first = sets.find(|owner| self.set(*owner).is_some_and(|set| set.mentions(component)));
        first.unwrap_or(Owner::Fleet)
    }

    /// The canaries that have picked a machine, and the sets that select it: those that decide before others first.
    #[must_use]
    pub fn owners_of<'w>(&self, machine: &'w Machine) -> &'w [Owner] {
        machine.sets.as_deref().unwrap_or_default()
    }

    /// The canaries that have picked a machine with these labels, and the sets that select it: those that decide before
    /// others first.
    pub(crate) fn sets_of(&self, id: MachineId, labels: &Labels) -> Option<Arc<[Owner]>> {
        let is_its = |(owner, set): &(Owner, &Set)| match owner {
            Owner::Canary(_) => set.has_picked(id),
            Owner::Set(_) => set.selects(labels),
            Owner::Fleet => false,
        };
        let mut selecting: Vec<Owner> = self.sets().filter(is_its).map(|(owner, _)| owner).collect();
        selecting.sort_by_key(|owner| {
            let is_set = matches!(owner, Owner::Set(_));
            let priority = self.set(*owner).map_or(i32::MAX, Set::priority);
            (is_set, Reverse(priority), self.name_of(*owner))
        });
        (!selecting.is_empty()).then(|| selecting.into())
    }

    /// The name of a set or a canary; empty for the fleet's defaults.
    #[must_use]
    pub fn name_of(&self, owner: Owner) -> &str {
        let name = match owner {
            Owner::Fleet => None,
            Owner::Set(id) => self.set_names.get(id.index()),
            Owner::Canary(id) => self.canary_names.get(id.index()),
        };
        name.map_or("", AsRef::as_ref)
    }

    /// Finds the sets of every machine again. What follows from that is recomputed later.
    pub(crate) fn resort_all(&mut self) {
        for id in self.machine_ids() {
            let labels = self.machine(id).object.as_ref().map(|object| &object.labels);
            let sets = labels.and_then(|labels| self.sets_of(id, labels));
            self.note_sets(id, sets.as_deref());
            self.machines[id].sets = sets;
        }
    }

    /// A machine comes to other sets. Sets that begin or cease to overlap have to say so.
    pub(crate) fn note_sets(&mut self, id: MachineId, new: Option<&[Owner]>) {
        let old = self.machine(id).sets.clone();
        if old.as_deref() == new {
            return;
        }
        for owner in old.iter().flat_map(|sets| sets.iter()) {
            if let Some(members) = self.members.get_mut(owner) {
                *members -= 1;
                if *members == 0 {
                    self.members.remove(owner);
                }
            }
        }
        for owner in new.into_iter().flatten() {
            let members = self.members.entry(*owner).or_insert(0);
            *members += 1;
            if *members == 1
                && let Some(set) = self.set_mut(*owner)
            {
                set.reselection = Reselection::None;
            }
        }
        for pair in pairs(old.as_deref()) {
            if let Some(machines) = self.overlaps.get_mut(&pair) {
                *machines -= 1;
                if *machines == 0 {
                    self.overlaps.remove(&pair);
                    self.touch_pair(pair);
                }
            }
        }
        for pair in pairs(new) {
            let machines = self.overlaps.entry(pair).or_insert(0);
            *machines += 1;
            if *machines == 1 {
                self.touch_pair(pair);
            }
        }
    }

    fn touch_pair(&mut self, (first, second): (Owner, Owner)) {
        self.touch(first.subject(), Priority::Normal);
        self.touch(second.subject(), Priority::Normal);
    }

    /// A component that a set and another one mention, if some machine is in both: the component, the other set, and
    /// whether the first one decides.
    pub(crate) fn overlap(&self, owner: Owner) -> Option<(ComponentId, Owner, bool)> {
        let set = self.set(owner)?;
        let others = self.overlaps.keys().filter_map(|&(first, second)| {
            let is_second = (owner == second).then_some((first, false));
            if owner == first { Some((second, true)) } else { is_second }
        });
        let shared = others.filter_map(|(other, decides)| {
            let settings = set.object()?.spec.as_ref().ok()?.components.iter();
            let mut components = settings.map(|setting| setting.component);
            let is_shared =
                |component: &ComponentId| self.set(other).is_some_and(|it| it.mentions(*component));
            Some((components.find(is_shared)?, other, decides))
        });
        shared.min_by_key(|(_, other, _)| self.name_of(*other))
    }

    /// Requeues everything that owns rollouts: what one of them may grant depends on what the others have granted.
    pub(crate) fn touch_owners(&mut self, priority: Priority) {
        self.touch(Owner::Fleet.subject(), priority);
        for owner in self.sets().map(|(owner, _)| owner).collect::<Vec<_>>() {
            self.touch(owner.subject(), priority);
        }
    }

    /// Whether another owner may be granting machines their turn just now: the units that these take do not show yet.
    pub(crate) fn is_another_granting(&self, owner: Owner) -> bool {
        let mut others = self.owners().filter(|other| *other != owner);
        others.any(|other| {
            let writes = self.writes_of(other);
            let is_write = |action: &ActionId| {
                self.in_flight.get(action).is_some_and(|in_flight| in_flight.ticket == Ticket::Write)
            };
            let is_open = writes.is_some_and(|writes| {
                writes.action.as_ref().is_some_and(is_write) || writes.written.is_some()
            });
            is_open || self.doubt_about(other).is_some()
        })
    }

    /// Whether all others with rollouts have our epoch in their records: so no late write of a predecessor grants anything
    /// there.
    pub(crate) fn are_others_ours(&self, owner: Owner) -> bool {
        let others = self.owners().filter(|other| *other != owner);
        let mut charters = others.filter_map(|other| self.charter(other));
        charters.all(|charter| charter.status.rollouts.is_empty() || charter.status.epoch == self.epoch())
    }
}

/// Each two sets of a machine: that which decides, and the other. Canaries do not count: it is their purpose to come first.
fn pairs(sets: Option<&[Owner]>) -> Vec<(Owner, Owner)> {
    let sets: Vec<Owner> =
        sets.into_iter().flatten().copied().filter(|owner| matches!(owner, Owner::Set(_))).collect();
    let each = sets.iter().enumerate();
    each.flat_map(|(index, first)| sets[index + 1..].iter().map(|second| (*first, *second))).collect()
}
