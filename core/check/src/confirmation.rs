//! Confirmation: only the operation is confirmed that the host reported as waiting in this epoch, on the recorded host of
//! this machine.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::host::Owner;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "confirmation", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let (Target::Host(id), Effect::Host(order)) = (action.target, &action.effect) else { continue };
        let HostCommand::Confirm(operation) = order.command else { continue };
        let machine = world.machine(id);
        let waits = machine.unconfirmed().map(|report| report.id);
        if waits != Some(operation) {
            findings.against(action, format!("{operation} is confirmed, but {waits:?} waits"));
        }
        let (Some(facts), Some(object)) = (&machine.host.facts, &machine.object) else { continue };
        if facts.owner != Owner::Machine(object.meta.uid) {
            findings.against(action, format!("the host belongs to {:?}", facts.owner));
        }
        if object.status.identity.as_ref().is_some_and(|identity| identity.host != facts.host) {
            findings.against(action, "the host is another than the recorded one".into());
        }
    }
}
