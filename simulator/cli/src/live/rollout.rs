//! `seaworthy rollout status`, `watch`, `history`, `pause`, `resume` and `confirm`.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use comfy_table::{Table, presets};
use seaworthy_api::v1alpha1::{CONFIRM_ANNOTATION, ClusterPackageVersionStatus, RESUME_ANNOTATION};
use seaworthy_kube::Terminal;
use serde_json::json;

use super::subject::{OwnerArguments, Subject};
use super::words::{self, version};
use super::{Problem, say};
use crate::printing::{Output, Printing};

/// Arguments of `rollout status`.
#[derive(Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    of: OwnerArguments,
    /// Go on showing it until every rollout is complete, or one has stopped, as `watch` does.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    printing: Printing,
}

/// Arguments of `rollout watch`.
#[derive(Args)]
pub(super) struct WatchArguments {
    #[command(flatten)]
    of: OwnerArguments,
    #[command(flatten)]
    printing: Printing,
}

/// Arguments of `rollout history`.
#[derive(Args)]
pub(super) struct HistoryArguments {
    #[command(flatten)]
    of: OwnerArguments,
    /// Only this component.
    component: Option<String>,
    #[command(flatten)]
    printing: Printing,
}

/// Arguments of `rollout resume`.
#[derive(Args)]
pub(super) struct ResumeArguments {
    #[command(flatten)]
    of: OwnerArguments,
    /// The gate to go on in spite of: component, generation and batch, as `status` names it. By default the one that has
    /// failed now.
    #[arg(long, value_name = "COMPONENT/GENERATION/BATCH")]
    gate: Option<String>,
}

/// How often `resume` asks whether the operator has taken it up, at most: for ten seconds.
const TAKEN_UP_WITHIN: u32 = 20;

/// How often a watch asks.
const INTERVAL: Duration = Duration::from_secs(2);

/// How often in a row a watch asks again when there is no answer: for a minute. What was deleted does not come back.
const PATIENCE: usize = 30;

/// Whether rollouts go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Complete,
    Moving,
    Stopped,
}

impl State {
    fn of(subject: &Subject) -> Self {
        let status = subject.status.as_ref().filter(|_| subject.is_taken_up());
        let Some(status) = status else { return Self::Moving };
        let holds =
            |kind: &str| status.conditions.iter().any(|told| told.r#type == kind && told.status == "True");
        if holds("Stalled") || holds("Paused") {
            Self::Stopped
        } else if holds("Complete") {
            Self::Complete
        } else {
            Self::Moving
        }
    }
}

/// `rollout status`.
pub(super) async fn status(terminal: &Terminal, arguments: &StatusArguments) -> Result<ExitCode, Problem> {
    let every = arguments.watch.then_some(INTERVAL);
    show(terminal, &arguments.of, arguments.printing, every).await
}

/// `rollout watch`.
pub(super) async fn watch(terminal: &Terminal, arguments: &WatchArguments) -> Result<ExitCode, Problem> {
    show(terminal, &arguments.of, arguments.printing, Some(INTERVAL)).await
}

/// Shows how far rollouts are: once, or again and again until they are complete or one has stopped.
async fn show(
    terminal: &Terminal,
    of: &OwnerArguments,
    printing: Printing,
    every: Option<Duration>,
) -> Result<ExitCode, Problem> {
    // What cannot be read from the beginning is told at once.
    let (mut shown, mut patience) = (String::new(), 0);
    loop {
        let subject = match (of.subject(terminal).await, every) {
            // An API server that is restarted does not end a watch.
            (Err(Problem(problem)), Some(every)) if patience > 0 => {
                eprintln!("{problem}; asking again");
                patience -= 1;
                shown.clear();
                tokio::time::sleep(every).await;
                continue;
            }
            (subject, _) => subject?,
        };
        patience = PATIENCE;
        let text = match printing.output {
            Output::Table => {
                let progress = words::progress(subject.status.as_ref(), subject.is_taken_up());
                [progress, words::machines(&subject.machines)].concat()
            }
            Output::Json => serde_json::to_string_pretty(&subject.status)?,
        };
        if text != shown {
            let is_over_it = every.is_some() && !shown.is_empty() && stdout().is_terminal();
            if is_over_it {
                // The lines before are replaced.
                print!("\x1b[{}A\x1b[J", rows(&shown));
            }
            say(&text)?;
            shown = text;
        }
        match (State::of(&subject), every) {
            (State::Stopped, _) => return Ok(ExitCode::FAILURE),
            (State::Complete, _) | (State::Moving, None) => return Ok(ExitCode::SUCCESS),
            (State::Moving, Some(every)) => tokio::time::sleep(every).await,
        }
    }
}

/// How many rows of the terminal a text takes: long lines are wrapped.
fn rows(text: &str) -> usize {
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0).max(1));
    text.lines().map(|line| line.chars().count().div_ceil(width).max(1)).sum()
}

/// `rollout history`.
pub(super) async fn history(terminal: &Terminal, arguments: &HistoryArguments) -> Result<ExitCode, Problem> {
    let status = arguments.of.subject(terminal).await?.status.unwrap_or_default();
    let is_meant = |component: &str| arguments.component.as_deref().is_none_or(|it| it == component);
    let past: Vec<_> = status.history.iter().filter(|past| is_meant(&past.component)).collect();
    let now: Vec<_> = status.rollouts.iter().filter(|rollout| is_meant(&rollout.component)).collect();
    if arguments.printing.output == Output::Json {
        say(&serde_json::to_string_pretty(&json!({ "history": past, "rollouts": now }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["COMPONENT", "VERSION", "STARTED", "END", "MACHINES", "BY", "CAUSE"]);
    for past in past {
        table.add_row([
            past.component.clone(),
            version(Some(&past.to)).to_owned(),
            past.started_at.to_string(),
            past.end.clone(),
            format!("{} of {}", past.updated, past.total),
            past.by.clone().unwrap_or_default(),
            past.cause.clone().unwrap_or_default(),
        ]);
    }
    for rollout in now {
        let end = if rollout.completed_at.is_some() { "Completed" } else { "under way" };
        table.add_row([
            rollout.component.clone(),
            version(Some(&rollout.to)).to_owned(),
            rollout.started_at.to_string(),
            end.to_owned(),
            format!("{} of {}", rollout.updated, rollout.total),
            rollout.by.clone().unwrap_or_default(),
            rollout.cause.clone().unwrap_or_default(),
        ]);
    }
    say(&table.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// `rollout pause`.
pub(super) async fn pause(terminal: &Terminal, of: &OwnerArguments) -> Result<ExitCode, Problem> {
    let subject = of.subject(terminal).await?;
    subject.change(terminal, &json!({ "spec": { "paused": true } })).await?;
    println!("paused: nothing new is started {}", subject.whom());
    Ok(ExitCode::SUCCESS)
}

/// `rollout resume`.
pub(super) async fn resume(terminal: &Terminal, arguments: &ResumeArguments) -> Result<ExitCode, Problem> {
    let subject = arguments.of.subject(terminal).await?;
    if subject.is_paused && arguments.gate.is_none() {
        subject.change(terminal, &json!({ "spec": { "paused": false } })).await?;
        println!("not paused any more");
        return Ok(ExitCode::SUCCESS);
    }
    let closed: Vec<String> = subject.status.iter().flat_map(closed_gates).collect();
    let Some(gate) = arguments.gate.as_ref().or(closed.first()) else {
        return Err(Problem("nothing is paused, and no gate is closed".to_owned()));
    };
    if !closed.contains(gate) {
        let closed = closed.join(", ");
        return Err(Problem(format!("the gate {gate} is not closed; those that are: {closed}")));
    }
    let annotation = json!({ "metadata": { "annotations": { RESUME_ANNOTATION: gate } } });
    subject.change(terminal, &annotation).await?;
    if takes_up(terminal, arguments, gate).await? {
        println!("the rollout goes on in spite of the gate {gate}");
    } else {
        println!(
            "the rollout will go on in spite of the gate {gate}; the operator has not taken that up yet"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// `rollout confirm`.
pub(super) async fn confirm(terminal: &Terminal, of: &OwnerArguments) -> Result<ExitCode, Problem> {
    let subject = of.subject(terminal).await?;
    let told = subject.status.as_ref().and_then(words::progressing);
    let waits = |reason: &str| words::UNCONFIRMED.contains(&reason);
    let Some(told) = told.filter(|told| subject.is_taken_up() && waits(&told.reason)) else {
        return Err(Problem("nothing waits for a confirmation".to_owned()));
    };
    let generation = subject.generation().to_string();
    subject
        .change(terminal, &json!({ "metadata": { "annotations": { CONFIRM_ANNOTATION: generation } } }))
        .await?;
    println!("confirmed: {}", told.message);
    Ok(ExitCode::SUCCESS)
}

/// Whether the operator takes up soon that a gate is overridden: whoever asks next sees the rollout go on.
async fn takes_up(terminal: &Terminal, arguments: &ResumeArguments, gate: &String) -> Result<bool, Problem> {
    for _ in 0..TAKEN_UP_WITHIN {
        tokio::time::sleep(INTERVAL / 4).await;
        let status = arguments.of.subject(terminal).await?.status;
        if !status.iter().flat_map(closed_gates).any(|closed| closed == *gate) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The gates that keep rollouts from going on, as the annotation names them: they have failed, or know too little, or the artefact of
/// the first batch is not to be had.
fn closed_gates(status: &ClusterPackageVersionStatus) -> impl Iterator<Item = String> {
    let tells = |reason: &str| words::progressing(status).is_some_and(|told| told.reason == reason);
    let (is_in_doubt, is_unavailable) = (tells("GateInconclusive"), tells("ArtefactUnavailable"));
    status.rollouts.iter().filter_map(move |rollout| {
        let course = rollout.course.as_ref().filter(|course| course.reverted_at.is_none())?;
        let is_active = rollout.completed_at.is_none();
        let is_baked = is_active && course.done_at.is_some();
        let is_first = is_active && course.batch == 0;
        if course.failed_gate.is_none() && !(is_in_doubt && is_baked) && !(is_unavailable && is_first) {
            return None;
        }
        Some(format!("{}/{}/{}", rollout.component, rollout.generation, course.batch))
    })
}

#[cfg(test)]
mod tests;
