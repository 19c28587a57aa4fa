//! Removal: software is removed only for `state: Absent` or for the deletion of its Machine. A list entry that is missing
//! removes nothing, so a truncated list or a careless edit cannot uninstall a fleet.

use alloc::format;

use seaworthy_engine::{Aim, World, targets};
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::host::Change;
use seaworthy_model::host_order::{Claim, HostCommand};
use seaworthy_model::machine::Want;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "removal", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let (Target::Host(id), Effect::Host(order)) = (action.target, &action.effect) else { continue };
        let machine = world.machine(id);
        let is_leaving = machine.object.as_ref().is_some_and(|object| object.meta.is_terminating());
        if let HostCommand::Apply(operation) = &order.command
            && operation.change == Change::Remove
        {
            let is_absent = targets(world, machine).any(|target| {
                target.component == operation.component && target.aim == Aim::Set(&Want::Absent)
            });
            if !is_leaving && !is_absent {
                let component = world.component_name(operation.component);
                findings.against(action, format!("nobody asked for the removal of {component}"));
            }
            continue;
        }
        let kind = order.command.kind();
        match (kind.claim(), is_leaving) {
            (Claim::Takes, true) => {
                findings.against(action, format!("{} for a Machine that is being deleted", kind.name()));
            }
            (Claim::GivesUp, false) => {
                findings
                    .against(action, "a host is given up although its Machine is not being deleted".into());
            }
            (Claim::Reads | Claim::Needs | Claim::Keeps, _)
            | (Claim::Takes, false)
            | (Claim::GivesUp, true) => {}
        }
    }
}
