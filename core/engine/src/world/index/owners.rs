//! What owns rollouts: the fleet's defaults, and the sets. Each component of a machine belongs to one of them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::id::{ComponentId, SetId};
use seaworthy_model::labels::Labels;

use crate::rows::machine::Machine;
use crate::rows::set::{Charter, Doubt, Owner, Set};
use crate::runtime::queue::Priority;
use crate::runtime::tracked::Writes;
use crate::world::World;

impl World {
    /// A set; `None` if it was never named.
    #[must_use]
    pub fn set(&self, id: SetId) -> Option<&Set> {
        self.sets.get(id.index())
    }

    /// A set, to be changed.
    pub(crate) fn set_mut(&mut self, id: SetId) -> &mut Set {
        if self.sets.len() <= id.index() {
            self.sets.resize_with(id.index() + 1, Set::default);
        }
        &mut self.sets[id.index()]
    }

    /// The sets that exist, with their ids.
    pub fn sets(&self) -> impl Iterator<Item = (SetId, &Set)> {
        (0..).map(SetId).zip(&self.sets).filter(|(_, set)| set.object().is_some())
    }

    /// Everything that owns rollouts and exists.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner> {
        let fleet = self.fleet.object().map(|_| Owner::Fleet);
        fleet.into_iter().chain(self.sets().map(|(id, _)| Owner::Set(id)))
    }

    /// The object of an owner, if it exists.
    #[must_use]
    pub fn charter(&self, owner: Owner) -> Option<Charter<'_>> {
        match owner {
            Owner::Fleet => self.fleet.object().map(Charter::from),
            Owner::Set(id) => self.set(id)?.object().map(Charter::from),
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
            Owner::Set(id) => self.set(id)?.doubt,
        };
        let seen = self.charter(owner).map(|charter| charter.meta.resource_version);
        doubt.filter(|doubt| doubt.until > self.now && doubt.against == seen)
    }

    /// The state of our writes of an owner.
    pub(crate) fn writes_of(&self, owner: Owner) -> Option<&Writes> {
        match owner {
            Owner::Fleet => Some(&self.fleet.tracked.writes),
            Owner::Set(id) => self.set(id).map(|set| &set.tracked.writes),
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
        let Some(sets) = &machine.sets else { return Owner::Fleet };
        let mut sets = sets.iter().copied();
        let first = sets.find(|id| self.set(*id).is_some_and(|set| set.mentions(component)));
        first.map_or(Owner::Fleet, Owner::Set)
    }

    /// The sets that select a machine with these labels, those that decide before others first.
    pub(crate) fn sets_of(&self, labels: &Labels) -> Option<Arc<[SetId]>> {
        let mut selecting: Vec<SetId> =
            self.sets().filter(|(_, set)| set.selects(labels)).map(|(id, _)| id).collect();
        let name = |id: SetId| self.set_names.get(id.index()).map_or("", AsRef::as_ref);
        selecting.sort_by(|one, other| {
            let priority = |id: &SetId| self.set(*id).map_or(i32::MAX, Set::priority);
            priority(other).cmp(&priority(one)).then_with(|| name(*one).cmp(name(*other)))
        });
        (!selecting.is_empty()).then(|| selecting.into())
    }

    /// Finds the sets of every machine again. What follows from that is recomputed later.
    pub(crate) fn resort_all(&mut self) {
        for id in self.machine_ids() {
            let labels = self.machine(id).object.as_ref().map(|object| &object.labels);
            let sets = labels.and_then(|labels| self.sets_of(labels));
            self.machines[id].sets = sets;
        }
    }

    /// Requeues everything that owns rollouts: what one of them may grant depends on what the others have granted.
    pub(crate) fn touch_owners(&mut self, priority: Priority) {
        self.touch(Owner::Fleet.subject(), priority);
        for index in 0..self.sets.len() {
            if self.sets[index].object().is_some() {
                self.touch(Owner::Set(SetId(index as u32)).subject(), priority);
            }
        }
    }

    /// Whether another owner may be granting machines their turn just now: the units that these take do not show yet.
    pub(crate) fn is_another_granting(&self, owner: Owner) -> bool {
        let mut others = self.owners().filter(|other| *other != owner);
        others.any(|other| {
            let writes = self.writes_of(other);
            let is_open = writes.is_some_and(|writes| writes.action.is_some() || writes.written.is_some());
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
