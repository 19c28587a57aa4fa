//! The names of actions and outcomes in logs and metrics. All are closed lists.

use seaworthy_api::names::{Names, UnknownId};
use seaworthy_engine::{Machine, World};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::{Change, Operation};
use seaworthy_model::host_order::{Claim, HostCommand, HostOrder};
use seaworthy_model::id::Kind;
use seaworthy_model::machine::Truth;

use crate::flight::Label;

/// The label of `action`.
pub(crate) fn action(action: &Action, world: &World, names: &Names) -> Label {
    let effect = action.effect.name();
    let object = match action.target.named() {
        Some(id) => names.name(id).unwrap_or("unknown"),
        None => action.target.kind().map_or("watches", Kind::name),
    };
    let is_work = |order: &HostOrder| matches!(order.command.kind().claim(), Claim::Takes | Claim::GivesUp);
    let loud = matches!(&action.effect, Effect::Host(order) if is_work(order))
        || matches!(
            effect,
            "write_lease"
                | "approve_certificate_request"
                | "write_event"
                | "cordon_node"
                | "uncordon_node"
                | "repair_node_attributes"
                | "delete_node"
                | "evict_pod"
        );
    let work = match (&action.effect, action.target) {
        (
            Effect::Host(HostOrder { command: HostCommand::Apply(operation), .. }),
            Target::Machine(machine),
        ) => work(operation, world.machine(machine), names).unwrap_or_default(),
        _ => String::new(),
    };
    Label { effect, object: object.to_owned(), work, quiet: !loud }
}

/// What an operation does to a machine, for people: `change webd 1.0.0 to 1.1.0`.
fn work(operation: &Operation, machine: &Machine, names: &Names) -> Result<String, UnknownId> {
    let component = operation.component;
    let name = names.component_name(component)?;
    let present = machine.installed(component);
    let version = |id| names.version_text(component, id);
    Ok(match (&operation.change, present) {
        (Change::Remove, Some(present)) => format!("remove {name} {}", version(present.version)?),
        (Change::Remove, None) => format!("remove {name}"),
        (Change::Install(new), None) => format!("install {name} {}", version(new.version)?),
        (Change::Install(new), Some(present)) if present.version != new.version => {
            format!("change {name} {} to {}", version(present.version)?, version(new.version)?)
        }
        (Change::Install(new), Some(present)) if present.release != new.id => {
            format!("configure {name} {}", version(new.version)?)
        }
        (Change::Install(new), Some(_)) => format!("repair {name} {}", version(new.version)?),
    })
}

/// How an action ended.
pub(crate) const fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Stale => "stale",
        Outcome::Retryable(_) => "retryable",
        Outcome::Refused(_) => "refused",
        Outcome::Unknown => "unknown",
    }
}

/// Whether a condition holds.
pub(crate) const fn truth(truth: Truth) -> &'static str {
    match truth {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    }
}
