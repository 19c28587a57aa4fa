//! Host exclusivity: a change is ordered only from a host that belongs to this machine alone, one change at a time, and only
//! when the record lets the next leader find it. A Machine does not report Ready for a host that belongs to another owner.

use alloc::format;

use seaworthy_engine::{Machine, Ticket, World};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::host::Owner;
use seaworthy_model::host_order::{Claim, HostCommandKind};
use seaworthy_model::machine::{ConditionKind, MachineStatus, Truth};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "exclusivity", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if let (Target::Machine(id), Effect::WriteMachineStatus(status)) = (action.target, &action.effect) {
            judge_status(world.machine(id), status, action, findings);
        }
        let Target::Host(id) = action.target else { continue };
        let machine = world.machine(id);
        if machine.progress.writes.action != Some(action.id) {
            findings.against(
                action,
                format!("the action under way there is {:?}", machine.progress.writes.action),
            );
        }
        let ticket = world.in_flight().get(&action.id).map(|in_flight| in_flight.ticket);
        let kind = ticket.and_then(Ticket::host_command);
        let is_change = kind.is_some_and(HostCommandKind::is_destructive);
        // The record need not mention other work: the next leader finds its result on the host.
        let is_other = |kind: HostCommandKind| kind.claim() == Claim::Takes || kind == HostCommandKind::Fetch;
        let changes = is_change || kind.is_some_and(is_other);
        let (Some(facts), Some(object), true) = (&machine.host.facts, &machine.object, changes) else {
            continue;
        };
        let owner_is_us = match &facts.owner {
            Owner::Nobody => true,
            Owner::Machine(uid) => *uid == object.meta.uid,
            Owner::Foreign { .. } => false,
        };
        if !owner_is_us {
            findings.against(action, format!("the host belongs to {:?}", facts.owner));
        }
        if object.status.identity.as_ref().is_some_and(|identity| identity.host != facts.host) {
            findings.against(action, "the host is another than the recorded one".into());
        }
        if object.status.identity.is_none() && !object.meta.is_terminating() {
            findings.against(action, "the host's identity is not recorded yet".into());
        }
        if !object.meta.is_held() {
            findings.against(action, "the Machine carries no finalizer of ours".into());
        } else if is_change && !machine.is_recorded_at_work() {
            findings.against(action, "the record would hide this change from the next leader".into());
        }
    }
}

fn judge_status(machine: &Machine, status: &MachineStatus, action: &Action, findings: &mut Findings<'_>) {
    let is_anothers = machine.host.facts.as_ref().is_some_and(|facts| match &facts.owner {
        Owner::Nobody => false,
        Owner::Machine(uid) => Some(*uid) != machine.uid(),
        Owner::Foreign { .. } => true,
    });
    let ready = status.condition(ConditionKind::Ready);
    if is_anothers && ready.is_some_and(|ready| ready.truth == Truth::True) {
        findings.against(action, "the Machine is Ready, and its host belongs to another owner".into());
    }
}
