//! The names of actions and outcomes in logs and metrics. All are closed lists.

use seaworthy_api::names::Names;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::HostCommand;
use seaworthy_model::machine::Truth;

use crate::flight::Label;

/// The label of `action`.
pub(crate) fn action(action: &Action, names: &Names) -> Label {
    let effect = match &action.effect {
        Effect::Watch => "watch",
        Effect::WriteLease(record) if record.is_renewal() => "renew_lease",
        Effect::WriteLease(_) => "write_lease",
        Effect::WriteFinalizers(_) => "write_finalizers",
        Effect::WriteMachineStatus(_) => "write_machine_status",
        Effect::WritePackageVersionStatus(_) => "write_package_version_status",
        Effect::CreateCertificateRequest(_) => "create_certificate_request",
        Effect::ApproveCertificateRequest => "approve_certificate_request",
        Effect::WriteEvent(_) => "write_event",
        Effect::Host(order) => match order.command {
            HostCommand::Facts => "host_facts",
            HostCommand::Status(_) => "host_status",
            HostCommand::Confirm(_) => "host_confirm",
            HostCommand::Apply(_) => "host_apply",
            HostCommand::Disown => "host_disown",
            HostCommand::RequestCertificate { .. } => "host_request_certificate",
            HostCommand::InstallCertificate { .. } => "host_install_certificate",
        },
        Effect::Cordon(_) => "cordon_node",
        Effect::Uncordon(_) => "uncordon_node",
        Effect::WriteNodeAttributes(change) if change.is_repair => "repair_node_attributes",
        Effect::WriteNodeAttributes(_) => "write_node_attributes",
        Effect::DeleteNode => "delete_node",
        Effect::ListPods => "list_pods",
        Effect::Evict(_) => "evict_pod",
    };
    let object = match action.target {
        Target::Driver => "watches",
        Target::Lease => "Lease",
        Target::PackageVersion => "ClusterPackageVersion",
        Target::CertificateRequest(id) => names.certificate_request_name(id).unwrap_or("unknown request"),
        Target::Machine(id) | Target::Host(id) | Target::Node(id) | Target::NewCertificateRequest(id) => {
            names.machine_name(id).unwrap_or("unknown machine")
        }
        Target::Version(id) => names.version_object_name(id).unwrap_or("unknown version"),
    };
    let loud = matches!(
        effect,
        "write_lease"
            | "host_apply"
            | "host_disown"
            | "host_request_certificate"
            | "host_install_certificate"
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
