//! Which machines may be asked to fetch an artefact before a rollout begins, and what they fetch.

use alloc::vec::Vec;

use seaworthy_model::component::Artefact;
use seaworthy_model::event::Outcome;
use seaworthy_model::host::Owner;
use seaworthy_model::id::{MachineId, VersionId};
use seaworthy_model::report::Subject;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::ticket::{HostTicket, Ticket};
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::policies::Work;

impl World {
    /// Whether a machine may be asked now to fetch what a rollout brings.
    #[must_use]
    pub fn may_fetch(&self, machine: &Machine, state: &RolloutState) -> bool {
        let is_halted = self.halt(machine).is_some() || self.policy_halt().is_some();
        !is_halted
            && !self.is_owner_paused(state.owner)
            && self.policy_stop(machine, Work::on(machine, false)).is_none()
            && self.can_fetch(machine, state)
    }

    /// The same, whatever policies say. A machine that was never set up is not asked: nobody is disrupted there, and its host
    /// belongs to nobody who would remove what was fetched.
    pub(crate) fn can_fetch(&self, machine: &Machine, state: &RolloutState) -> bool {
        let Some(object) = &machine.object else { return false };
        let is_ours = |owner: &Owner| *owner == Owner::Machine(object.meta.uid);
        let identity = object.status.identity.as_ref();
        let is_known = match (&machine.host.facts, identity) {
            (Some(facts), Some(identity)) => is_ours(&facts.owner) && facts.host == identity.host,
            (None, Some(_)) => true,
            (Some(_) | None, None) => false,
        };
        let is_idle = !machine.is_unresolved() && !machine.is_lost() && !machine.is_granted();
        is_known
            && is_idle
            && machine.was_set_up()
            && object.meta.is_held()
            && !object.meta.is_terminating()
            // A drained Node must not wait for longer than it has to.
            && !machine.holds_node()
            && machine.is_workable(state.record.component)
            && self.artefact_for(machine, state).is_some()
    }

    /// What a rollout that has not begun wants a machine to fetch.
    pub(crate) fn to_fetch(&self, machine: &Machine) -> Option<(VersionId, &Artefact)> {
        let mut samples = self.fleet.rollouts.iter().filter(|state| state.is_awaiting(machine.id));
        samples.find_map(|state| {
            let artefact = self.artefact_for(machine, state)?;
            self.may_fetch(machine, state).then_some(artefact)
        })
    }

    /// The artefact that a rollout brings to a machine, and its version.
    fn artefact_for(&self, machine: &Machine, state: &RolloutState) -> Option<(VersionId, &Artefact)> {
        let want = state.record.target();
        let version = want.version()?;
        let artefact = self.version_spec(version)?.artefact(machine.architecture()?)?;
        self.wanted(machine, state.record.component, want).ok()??;
        Some((version, artefact))
    }

    /// Whether a machine is fetching an artefact.
    pub(crate) fn is_fetching(&self, id: MachineId) -> bool {
        let action = self.machine(id).progress.writes.action;
        let in_flight = action.and_then(|action| self.in_flight.get(&action));
        in_flight.is_some_and(|in_flight| matches!(in_flight.ticket, Ticket::Host(HostTicket::Fetch(_))))
    }

    /// A machine was asked to fetch the artefact of a version: all rollouts hear of it that want to know.
    pub(crate) fn settle_fetch(&mut self, id: MachineId, version: VersionId, outcome: &Outcome) {
        let now = self.now;
        let mut told = Vec::new();
        for state in &mut self.fleet.rollouts {
            let is_its = state.record.target().version() == Some(version) && state.is_awaiting(id);
            if let Some(sample) = state.sample.as_deref_mut().filter(|_| is_its) {
                sample.settle(id, outcome, now);
                told.push(state.owner);
            }
        }
        for owner in told {
            self.touch(owner.subject(), Priority::Normal);
        }
        // It may be asked for another rollout.
        self.touch(Subject::Machine(id), Priority::Normal);
    }
}
