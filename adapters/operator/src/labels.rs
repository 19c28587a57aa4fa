//! The names of actions and outcomes in logs and metrics. All are closed lists.

use seaworthy_api::names::{Names, UnknownId};
use seaworthy_engine::World;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::{Change, Operation};
use seaworthy_model::host_order::{Claim, HostCommand, HostOrder};
use seaworthy_model::id::Kind;
use seaworthy_model::machine::{Installed, Truth};

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
        (Effect::Host(HostOrder { command: HostCommand::Apply(operation), .. }), Target::Host(machine)) => {
            let present = world.machine(machine).installed(operation.component);
            work(operation, present, names).ok()
        }
        _ => None,
    };
    let is_api_write = action.effect.is_api_write();
    Label { effect, object: object.to_owned(), work, quiet: !loud, is_api_write }
}

/// What an operation does to a machine, for people: `change webd 1.0.0 to 1.1.0`.
fn work(operation: &Operation, present: Option<Installed>, names: &Names) -> Result<String, UnknownId> {
    let component = operation.component;
    let name = names.component_name(component)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use seaworthy_model::component::{Content, Recipe, ReleaseId};
    use seaworthy_model::digest::Digest;
    use seaworthy_model::host::{OperationId, Release};
    use seaworthy_model::lease::Epoch;

    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            version: String::new(),
            artefact: None,
            content: Content::default(),
            parameters: Arc::default(),
            machine_parameters: BTreeMap::new(),
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn work_is_told_with_component_and_versions() {
        let mut names = Names::new();
        let component = names.component("webd");
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| names.version("webd", version));
        let id = |text: &str| ReleaseId(Digest::of(text.as_bytes()));
        let installs = |version, release| {
            Change::Install(Arc::new(Release { id: id(release), version, recipe: recipe() }))
        };
        let present = |version, release| Some(Installed { version, release: id(release) });
        let told = |change, present| {
            let operation = Operation {
                id: OperationId { epoch: Epoch(1), sequence: 1 },
                generation: 1,
                component,
                change,
            };
            work(&operation, present, &names).unwrap()
        };
        assert_eq!(told(installs(old, "a"), None), "install webd 1.0.0");
        assert_eq!(told(installs(new, "b"), present(old, "a")), "change webd 1.0.0 to 1.1.0");
        assert_eq!(told(installs(new, "c"), present(new, "b")), "configure webd 1.1.0");
        assert_eq!(told(installs(new, "b"), present(new, "b")), "repair webd 1.1.0");
        assert_eq!(told(Change::Remove, present(new, "b")), "remove webd 1.1.0");
        assert_eq!(told(Change::Remove, None), "remove webd");
    }
}
