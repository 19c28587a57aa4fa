//! `seaworthy rollout undo`.

use std::process::ExitCode;

use clap::Args;
use seaworthy_api::v1alpha1::{CAUSE_ANNOTATION, ComponentSetting, WantStatus};
use seaworthy_kube::Terminal;
use serde_json::json;

use super::subject::{OwnerArguments, Subject};
use super::words::version;
use super::{Problem, retry_on_conflict};

/// Arguments of `rollout undo`.
#[derive(Args)]
pub(super) struct UndoArguments {
    /// The component.
    component: String,
    #[command(flatten)]
    owner: OwnerArguments,
    /// The version to go back to, with the parameters that it had. By default the one before.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Only say what would be changed.
    #[arg(long)]
    dry_run: bool,
}

/// `rollout undo`.
pub(super) async fn undo(terminal: &Terminal, arguments: &UndoArguments) -> Result<ExitCode, Problem> {
    retry_on_conflict(async || undo_once(terminal, arguments).await).await
}

/// Sets the component back in what there is now; `None` when that was changed in the meantime.
async fn undo_once(terminal: &Terminal, arguments: &UndoArguments) -> Result<Option<ExitCode>, Problem> {
    let subject = arguments.owner.subject(terminal).await?;
    let (settings, target) = undone(&subject, &arguments.component, arguments.to.as_deref())?;
    let (component, to) = (&arguments.component, version(Some(&target)));
    if arguments.dry_run {
        println!("{component} would go back to {to}");
        return Ok(Some(ExitCode::SUCCESS));
    }
    // The list is replaced as a whole: only that which was read may be.
    let patch = json!({
        "metadata": {
            "annotations": { CAUSE_ANNOTATION: format!("undo: {component} back to {to}") },
        },
        "spec": { "components": settings },
    });
    if !subject.change_unchanged(terminal, patch).await? {
        return Ok(None);
    }
    println!("{component} goes back to {to}");
    Ok(Some(ExitCode::SUCCESS))
}

/// The settings of an owner with one component set back, and what it is set back to.
fn undone(
    owner: &Subject,
    component: &str,
    to: Option<&str>,
) -> Result<(Vec<ComponentSetting>, WantStatus), Problem> {
    let mut settings = owner.components.clone();
    let Some(setting) = settings.iter_mut().find(|setting| setting.name == component) else {
        let known: Vec<&str> = owner.components.iter().map(|setting| setting.name.as_str()).collect();
        let whose = owner.whose();
        return Err(Problem(format!(
            "{component} is no component of {whose}; those are: {}",
            known.join(", ")
        )));
    };
    let status = owner.status.clone().unwrap_or_default();
    let rollout = status.rollouts.iter().find(|rollout| rollout.component == component);
    let before = rollout.and_then(|rollout| rollout.from.clone());
    let completed = status.history.iter().rev().filter(|past| past.component == component);
    let completed = completed.filter(|past| past.end == "Completed").map(|past| past.to.clone());
    let is_meant = |want: &WantStatus| match to {
        Some(to) => want.version.as_deref() == Some(to),
        None => want.version != setting.version || want.parameters != setting.parameters,
    };
    let Some(target) = before.into_iter().chain(completed).find(is_meant) else {
        return Err(Problem(match to {
            Some(to) => {
                format!("{component} {to} was never rolled out completely, as far as the record shows")
            }
            None => format!("the record shows nothing that {component} could go back to"),
        }));
    };
    setting.state.clone_from(&target.state);
    setting.version.clone_from(&target.version);
    setting.parameters.clone_from(&target.parameters);
    Ok((settings, target))
}

#[cfg(test)]
mod tests;
