//! The names of actions and outcomes in logs and metrics. All are closed lists.

use seaworthy_api::names::Names;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::event::Outcome;
use seaworthy_model::host_order::{Claim, HostOrder};
use seaworthy_model::id::Kind;
use seaworthy_model::machine::Truth;

use crate::flight::Label;

/// The label of `action`.
pub(crate) fn action(action: &Action, names: &Names) -> Label {
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
    Label { effect, object: object.to_owned(), quiet: !loud }
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
