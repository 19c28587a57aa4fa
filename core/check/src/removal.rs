//! Removal: software is removed only for `state: Absent`, for the deletion of its Machine, or because the Machine has left a set
//! with `onLeave: Remove` that gave it. A list entry that is missing removes nothing, so a truncated list or a careless edit
//! cannot uninstall a fleet.

use alloc::format;

use seaworthy_engine::{Aim, Machine, Origin, Owner, Target as Aimed, World, targets};
use seaworthy_model::component_set::OnLeave;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::host::Change;
use seaworthy_model::host_order::{Claim, HostCommand};
use seaworthy_model::machine::Want;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "removal", judge };

/// Whether the set exists that takes a component back from a machine, if one does: it names the component, and selects other
/// machines but not this one.
fn is_sound(world: &World, machine: &Machine, target: &Aimed<'_>) -> bool {
    let Origin::Left(id) = target.origin else { return true };
    let owner = Owner::Set(id);
    let Some(spec) = world.set(owner).and_then(|set| set.spec()) else { return false };
    let labels = machine.object.as_ref().map(|object| &object.labels);
    let is_named = spec.components.iter().any(|setting| setting.component == target.component);
    let selects = |machine: &Machine| {
        machine.object.as_ref().is_some_and(|object| spec.selector.matches(&object.labels))
    };
    let has_others = world.machines().any(|(_, other)| selects(other));
    spec.on_leave == OnLeave::Remove
        && is_named
        && has_others
        && labels.is_some_and(|labels| !spec.selector.matches(labels))
        && world.fleet.want(target.component).is_none()
}

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let (Target::Host(id), Effect::Host(order)) = (action.target, &action.effect) else { continue };
        let machine = world.machine(id);
        let is_leaving = machine.object.as_ref().is_some_and(|object| object.meta.is_terminating());
        if let HostCommand::Apply(operation) = &order.command
            && operation.change == Change::Remove
        {
            let is_absent = targets(world, machine).any(|target| {
                target.component == operation.component
                    && target.aim == Aim::Set(&Want::Absent)
                    && is_sound(world, machine, &target)
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
