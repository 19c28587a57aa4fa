//! Drains that several rollouts share: one disruption of a machine carries every change that is permitted there.
//!
//! Each rollout goes through its machines in an order of its own. So two rollouts would drain most Nodes twice, and evict
//! the same pods twice. Therefore a rollout grants first those of its permitted machines whose Nodes are drained, or are
//! about to be, for something else. They take no further unit of the budget, so they are granted even when no unit is
//! left. Nothing else changes: the grant is in the record of its own owner before the work begins, and each rollout counts
//! the machine as one of its own.
//!
//! A drain that a disruption budget holds up is not shared before the pods have left. Otherwise the second rollout would
//! use up what it may have at work on machines where nothing goes on.
//!
//! The work of one rollout may end before the next grant is written. Then the Node stays drained for a moment, if another
//! rollout can grant the machine at once: see [`World::awaits_shared_drain`].

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::Rollout;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::standing::Standing;
use crate::world::World;
use crate::world::index::policies::Work;

impl World {
    /// The ranks of the permitted machines that a rollout can grant without a further drain. `picked` are granted in the
    /// same write for other rollouts that drain them.
    pub(crate) fn shared_drains(
        &self,
        (index, state): (usize, &RolloutState),
        record: &Rollout,
        picked: &BTreeSet<MachineId>,
    ) -> Vec<u32> {
        if !self.may_drain(state) {
            return Vec::new();
        }
        let rollouts = self.fleet.rollouts.iter().enumerate();
        let others = rollouts.filter(|(other, _)| *other != index);
        let granted = others.flat_map(|(_, other)| other.holders.iter().map(|(_, id)| *id));
        let ids = granted.chain(self.nodes.kept()).chain(picked.iter().copied());
        // The cheapest question comes first: this goes through every machine that is at work, at each decision.
        let rank_of = |id: MachineId| {
            let machine = self.machine(id);
            let standing = machine.standing(index);
            let is_shared = standing.is_unfinished()
                && !standing.is_granted()
                && self.is_drained_for(state, machine)
                && (picked.contains(&id) || self.is_drained_besides(index, machine))
                && !machine.is_drain_held_up();
            let rank = state.key.rank(machine.uid().filter(|_| is_shared)?);
            (rank < record.admitted_below).then_some(rank)
        };
        let mut ranks: Vec<u32> = ids.filter_map(rank_of).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Whether the Node of a machine is drained, or is about to be, for anything but this rollout.
    fn is_drained_besides(&self, index: usize, machine: &Machine) -> bool {
        let is_granted = |(other, rollout): (usize, &RolloutState)| {
            other != index
                && machine.standing(other) == Standing::Granted
                && self.is_drained_for(rollout, machine)
        };
        machine.claims() && (machine.holds_node() || self.fleet.rollouts.iter().enumerate().any(is_granted))
    }

    /// Whether another rollout that needs the drain of a machine's Node can grant the machine its turn at once.
    pub(crate) fn awaits_shared_drain(&self, machine: &Machine) -> bool {
        self.fleet.rollouts.iter().enumerate().any(|(index, rollout)| {
            machine.standing(index) == Standing::Eligible
                && self.is_drained_for(rollout, machine)
                && self.may_grant(rollout, machine)
        })
    }

    /// Whether nothing keeps a rollout from granting a permitted machine its turn, apart from the budget.
    fn may_grant(&self, rollout: &RolloutState, machine: &Machine) -> bool {
        let record = &rollout.record;
        let mut course = record.course.iter().filter(|course| course.reverted_at.is_none());
        let is_open = course.all(|course| course.failure.is_none() && course.done_at.is_none());
        let work = Work::on(machine, record.goes_back());
        !rollout.superseded
            && record.granted.is_some()
            && is_open
            && !self.is_owner_paused(rollout.owner)
            && rollout.counts.room(self.failures_max()) > 0
            && rollout.left_of_batch() > 0
            && (record.goes_back() || self.breaker().is_none())
            && self.policy_stop(machine, work).is_none()
            && self.too_disruptive(rollout, machine).is_none()
            && self.unconfirmed_mistake(rollout, machine).is_none()
    }
}
