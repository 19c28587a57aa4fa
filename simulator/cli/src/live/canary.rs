//! `seaworthy rollout promote` and `seaworthy rollout abort`: how a CanaryRelease ends.

use std::process::ExitCode;

use clap::Args;
use seaworthy_api::object::{CanaryRelease, MachineComponentSet, Metadata};
use seaworthy_api::v1alpha1::{CAUSE_ANNOTATION, ComponentSetting};
use seaworthy_kube::Terminal;
use seaworthy_model::id::Kind;
use serde_json::json;

use super::{Problem, fleet, retry_on_conflict};

/// Arguments of `rollout promote`.
#[derive(Args)]
pub(super) struct PromoteArguments {
    /// The CanaryRelease.
    name: String,
    /// Also when not all of its machines have its versions, or a gate has not passed.
    #[arg(long)]
    force: bool,
    /// Only say what would be changed.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `rollout abort`.
#[derive(Args)]
pub(super) struct AbortArguments {
    /// The CanaryRelease.
    name: String,
}

/// Reads a CanaryRelease.
pub(super) async fn canary(terminal: &Terminal, name: &str) -> Result<CanaryRelease, Problem> {
    match terminal.get(Kind::CanaryRelease, name).await {
        Err(failure) if failure.is_not_found() => {
            Err(Problem(format!("there is no CanaryRelease `{name}`, or the kind is not installed")))
        }
        read => Ok(read?),
    }
}

/// `rollout promote`.
pub(super) async fn promote(terminal: &Terminal, arguments: &PromoteArguments) -> Result<ExitCode, Problem> {
    retry_on_conflict(async || promote_once(terminal, arguments).await).await
}

/// Promotes the canary into what there is now; `None` when that was changed in the meantime.
async fn promote_once(
    terminal: &Terminal,
    arguments: &PromoteArguments,
) -> Result<Option<ExitCode>, Problem> {
    let canary = canary(terminal, &arguments.name).await?;
    if let Some(objection) = objection(&canary).filter(|_| !arguments.force) {
        return Err(Problem(format!("{objection}; --force promotes it nevertheless")));
    }
    let (kind, metadata, settings) = match &canary.spec.promote_into {
        Some(set) => {
            let set: MachineComponentSet = terminal.get(Kind::MachineComponentSet, set).await?;
            (Kind::MachineComponentSet, set.metadata, set.spec.components)
        }
        None => {
            let fleet = fleet(terminal).await?;
            (Kind::ClusterPackageVersion, fleet.metadata, fleet.spec.components)
        }
    };
    let versions = canary.spec.components.iter().map(words).collect::<Vec<_>>().join(", ");
    let into = format!("the {} {}", kind.name(), metadata.name);
    let promoted = promoted(&settings, &canary.spec.components);
    if promoted == settings {
        println!("{into} has {versions} already");
        return Ok(Some(ExitCode::SUCCESS));
    }
    if arguments.dry_run {
        println!("{into} would get {versions}");
        return Ok(Some(ExitCode::SUCCESS));
    }
    let Metadata { name, resource_version, .. } = &metadata;
    // The list is replaced as a whole: only that which was read may be.
    let patch = json!({
        "metadata": {
            "annotations": { CAUSE_ANNOTATION: format!("promoted from canary {}: {versions}", arguments.name) },
        },
        "spec": { "components": promoted },
    });
    if !terminal.patch_unchanged((kind, name), &resource_version.to_string(), patch).await? {
        return Ok(None);
    }
    println!("{into} gets {versions}");
    Ok(Some(ExitCode::SUCCESS))
}

/// `rollout abort`.
pub(super) async fn abort(terminal: &Terminal, arguments: &AbortArguments) -> Result<ExitCode, Problem> {
    let canary = canary(terminal, &arguments.name).await?;
    terminal
        .patch(Kind::CanaryRelease, &canary.metadata.name, &json!({ "spec": { "aborted": true } }))
        .await?;
    println!("the machines of {} get back what they had before", canary.metadata.name);
    Ok(ExitCode::SUCCESS)
}

/// Why a canary is not ready to be promoted.
fn objection(canary: &CanaryRelease) -> Option<String> {
    let name = &canary.metadata.name;
    if canary.spec.aborted {
        return Some(format!("{name} was aborted"));
    }
    let record = canary.status.as_ref().map(|status| &status.record);
    let record = record.filter(|record| record.observed_generation >= canary.metadata.generation);
    let told = |kind: &str| record?.conditions.iter().find(|told| told.r#type == kind);
    let Some(complete) = told("Complete") else {
        return Some(format!("the operator has not looked at {name} as it is now"));
    };
    if complete.status == "True" {
        return None;
    }
    let why = told("Progressing").unwrap_or(complete);
    Some(format!("{name} is not complete: {}: {}", why.reason, why.message))
}

/// The settings with those that were tried in place of what there was for their components.
fn promoted(settings: &[ComponentSetting], tried: &[ComponentSetting]) -> Vec<ComponentSetting> {
    let trial = |name: &str| tried.iter().find(|setting| setting.name == name);
    let replaced = settings.iter().map(|setting| trial(&setting.name).unwrap_or(setting));
    let is_new = |trial: &&ComponentSetting| settings.iter().all(|setting| setting.name != trial.name);
    replaced.chain(tried.iter().filter(is_new)).cloned().collect()
}

fn words(setting: &ComponentSetting) -> String {
    match &setting.version {
        Some(version) => format!("{} {version}", setting.name),
        None => format!("no {}", setting.name),
    }
}

#[cfg(test)]
mod tests;
