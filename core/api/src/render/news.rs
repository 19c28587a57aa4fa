//! What people are told by Events: that a machine failed, drifted, was lost or is well again; that a rollout began, went on to its
//! next batch, stopped or ended; and that a version cannot be used. It is told with the write of a status that says so. The success
//! of a single machine is not told.

use std::borrow::Cow;

use seaworthy_model::component::{VersionConditionKind, VersionStatus};
use seaworthy_model::digest::Digest;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::machine::{Condition, ConditionKind, MachineStatus, Reason, Truth, Want};
use seaworthy_model::package_version::{
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionStatus, Progress, Rollout,
};
use seaworthy_model::time::Timestamp;

use super::event::event;
use super::kstatus::{self, State};
use super::{fleet_words, version_words, words};
use crate::names::{Names, UnknownId};
use crate::object::Event;
use crate::prefix::prefix;

/// Longest note of an Event, in bytes: the limit of the API server.
const NOTE_MAX: usize = 1024;

/// The same is said of one object at most once in so many milliseconds.
const ONCE_IN: u64 = 600_000;

/// Something that people are told about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// In one word.
    pub reason: Cow<'static, str>,
    /// In words.
    pub note: String,
    /// Which component and release it is about, so that two of them are not taken for the same. Empty for the whole object.
    topic: String,
}

impl News {
    pub(super) fn new(is_warning: bool, reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_warning, reason: reason.into(), note: note.into(), topic: String::new() }
    }

    fn about(self, topic: String) -> Self {
        Self { topic, ..self }
    }
}

/// What a new status of a Machine says that the old one did not.
///
/// # Errors
/// When an id is not in `names`.
pub fn machine_news(
    before: &MachineStatus,
    after: &MachineStatus,
    names: &Names,
) -> Result<Vec<News>, UnknownId> {
    let mut news = Vec::new();
    let mut failed = Vec::new();
    for status in after.components.iter() {
        let Some(release) = &status.failed else { continue };
        if before.component(status.component).is_some_and(|before| before.failed == status.failed) {
            continue;
        }
        let reason = Reason::Cause(release.cause);
        let version = names.version_text(status.component, release.version)?;
        let told = after.condition(ConditionKind::InSync).filter(|told| told.reason == reason);
        let note = told.map_or_else(|| words::explanation(reason).into(), in_words);
        let component = names.component_name(status.component)?;
        let topic = format!("{component} {version}");
        news.push(News::new(true, words::reason(reason), format!("{topic}: {note}")).about(topic));
        failed.push(reason);
    }
    for kind in [ConditionKind::Reachable, ConditionKind::InSync, ConditionKind::Paused] {
        let [before, after] = [before, after].map(|status| status.condition(kind));
        let is_told = after.is_some_and(|after| failed.contains(&after.reason));
        news.extend(changed(kind, before, after).filter(|_| !is_told));
    }
    Ok(news)
}

/// What a condition of a Machine says that it did not say before.
fn changed(kind: ConditionKind, before: Option<&Condition>, after: Option<&Condition>) -> Option<News> {
    let said = |condition: Option<&Condition>| condition.map(|it| (it.truth, it.reason));
    if said(before) == said(after) {
        return None;
    }
    let was = before.and_then(is_warning);
    let Some(after) = after else {
        return (kind == ConditionKind::Paused).then(|| News::new(false, "Resumed", "not paused any more"));
    };
    if let Some(is_warning) = is_warning(after) {
        return Some(News::new(is_warning, words::reason(after.reason), in_words(after)));
    }
    let (before, _) = before.zip(was)?;
    let is_well = after.truth == Truth::True;
    let word = match (kind, before.reason) {
        (ConditionKind::InSync, Reason::Drifted) => "Repaired",
        (ConditionKind::InSync, Reason::Paused | Reason::Terminating) => return None,
        _ => "Recovered",
    };
    let note = || format!("{} (was {})", words::explanation(after.reason), words::reason(before.reason));
    is_well.then(|| News::new(false, word, note()))
}

/// Whether a condition is told, and whether as a warning. What is only on its way is not told.
fn is_warning(condition: &Condition) -> Option<bool> {
    let Condition { truth, reason, .. } = *condition;
    let is_wanted = matches!(reason, Reason::Paused | Reason::Terminating | Reason::HostReleased);
    let passes =
        matches!(reason, Reason::Drifted | Reason::Contested | Reason::OperationLost | Reason::DrainOverdue);
    let is_wrong = passes || kstatus::state_of_machine(truth, reason) == State::Stalled;
    (is_wanted || is_wrong).then_some(is_wrong)
}

fn in_words(condition: &Condition) -> String {
    super::status::condition(condition).message.into_owned()
}

/// What a new status of the `ClusterPackageVersion` says that the old one did not.
///
/// # Errors
/// When an id is not in `names`.
pub fn fleet_news(
    before: &PackageVersionStatus,
    after: &PackageVersionStatus,
    names: &Names,
) -> Result<Vec<News>, UnknownId> {
    let mut news = Vec::new();
    for rollout in &after.rollouts {
        let known = before.rollout(rollout.component);
        let known = known.filter(|known| known.generation == rollout.generation);
        let was_under_way = known.is_some_and(|known| known.completed_at.is_none());
        // A catch-up batch is told when the rollout begins anew for it.
        let number = |rollout: &Rollout| rollout.course.as_ref().map_or(0, |course| course.batch);
        let batch = number(rollout).min(if catches_up(rollout) { 0 } else { u32::MAX });
        if was_under_way && known.is_some_and(|known| number(known) > 0 && number(known) < batch) {
            news.push(next_batch(rollout, batch, names)?);
        }
        match rollout.completed_at {
            None if known.is_none() => news.push(begun(rollout, names)?),
            None if !was_under_way => news.push(reopened(rollout, names)?),
            // Nothing is rolled out to a fleet without machines.
            Some(_) if was_under_way && rollout.progress.total > 0 => news.push(completed(rollout, names)?),
            None | Some(_) => {}
        }
    }
    let [before, after] = [before, after].map(|status| {
        status.conditions.iter().find(|condition| condition.kind == FleetConditionKind::Progressing)
    });
    news.extend(after.and_then(|after| stopped(before, after)));
    Ok(news)
}

fn begun(rollout: &Rollout, names: &Names) -> Result<News, UnknownId> {
    let component = names.component_name(rollout.component)?;
    let from = rollout.from.as_ref().map_or(Ok("nothing"), |from| version(rollout, from, names))?;
    let to = version(rollout, &rollout.to, names)?;
    let note = if rollout.from.as_ref() == Some(&rollout.to) {
        // The version in between has failed.
        format!("{component}: back to {to}")
    } else if from == to {
        format!("{component}: {to} with other parameters")
    } else {
        format!("{component}: from {from} to {to}")
    };
    Ok(News::new(false, "RolloutStarted", note).about(topic(rollout, component)))
}

/// Machines came to a rollout that was complete.
fn reopened(rollout: &Rollout, names: &Names) -> Result<News, UnknownId> {
    let component = names.component_name(rollout.component)?;
    let to = version(rollout, &rollout.to, names)?;
    let Progress { updated, total, .. } = rollout.progress;
    let how = if catches_up(rollout) { "a batch of machines catches up" } else { "begins anew" };
    let note = format!("{component} {to}: {how}, {updated} of {total} machines have it");
    Ok(News::new(false, "RolloutReopened", note).about(topic(rollout, component)))
}

fn catches_up(rollout: &Rollout) -> bool {
    rollout.course.as_ref().is_some_and(|course| course.catches_up)
}

fn completed(rollout: &Rollout, names: &Names) -> Result<News, UnknownId> {
    let component = names.component_name(rollout.component)?;
    let to = version(rollout, rollout.target(), names)?;
    let progress = &rollout.progress;
    let left = progress.total.saturating_sub(progress.updated);
    let left = if left == 0 {
        String::new()
    } else {
        format!("; {left} left out for now: kubectl get machines shows them")
    };
    let note = format!("{component} {to}: {} of {} machines have it{left}", progress.updated, progress.total);
    let word = if rollout.is_reverted() { "RollbackCompleted" } else { "RolloutCompleted" };
    Ok(News::new(false, word, note).about(topic(rollout, component)))
}

/// The gate after a batch has passed, or people let the rollout go on.
fn next_batch(rollout: &Rollout, batch: u32, names: &Names) -> Result<News, UnknownId> {
    let component = names.component_name(rollout.component)?;
    let to = version(rollout, &rollout.to, names)?;
    let progress = &rollout.progress;
    let note = format!(
        "{component} {to}: batch {batch} begins, {} of {} machines have it",
        progress.updated, progress.total
    );
    Ok(News::new(false, "BatchStarted", note).about(format!("{} {batch}", topic(rollout, component))))
}

fn topic(rollout: &Rollout, component: &str) -> String {
    format!("{component} {}", rollout.generation)
}

fn version<'n>(rollout: &Rollout, want: &Want, names: &'n Names) -> Result<&'n str, UnknownId> {
    want.version().map_or(Ok("nothing"), |version| names.version_text(rollout.component, version))
}

/// Whether the rollouts have come to a stop, or go on again.
fn stopped(before: Option<&FleetCondition>, after: &FleetCondition) -> Option<News> {
    let was = before.map(|before| before.reason);
    if was == Some(after.reason) {
        return None;
    }
    // People need not do anything about these.
    let is_harmless = |reason| matches!(reason, FleetReason::Paused | FleetReason::GateInconclusive);
    let is_stop = |reason| is_harmless(reason) || kstatus::state_of_fleet(reason) == State::Stalled;
    let note = || super::status::fleet_condition(after).message.into_owned();
    if is_stop(after.reason) {
        return Some(News::new(!is_harmless(after.reason), fleet_words::reason(after.reason), note()));
    }
    let was = was.filter(|was| is_stop(*was))?;
    Some(News::new(false, "Resumed", format!("{} (was {})", note(), fleet_words::reason(was))))
}

/// What a new status of a `MachineComponent` says that the old one did not: that its spec is refused.
#[must_use]
pub fn version_news(before: &VersionStatus, after: &VersionStatus) -> Vec<News> {
    let refused = |status: &VersionStatus| {
        let accepted = status.condition(VersionConditionKind::Accepted);
        accepted.filter(|accepted| accepted.truth == Truth::False).cloned()
    };
    let news = refused(after).filter(|_| refused(before).is_none()).map(|refused| {
        let note = super::status::version_condition(&refused).message;
        News::new(true, version_words::reason(refused.reason), note)
    });
    news.into_iter().collect()
}

/// The Event that tells it of an object: its kind, its name, its uid. `said` is when, and by whom. What is told again of the same within ten minutes has the same name,
/// so the API server refuses it.
#[must_use]
pub fn news_event(news: &News, regarding: (Kind, &str, Uid), said: (Timestamp, &str)) -> Event {
    let (word, about) = (news.reason.to_ascii_lowercase(), Digest::of(news.topic.as_bytes()).short());
    let topic = format!("{word}.{about}.{:x}", said.0.millis() / ONCE_IN);
    // A host's own words are not trusted.
    let note = news.note.replace(char::is_control, " ");
    Event {
        action: "Reconcile".to_owned(),
        reason: news.reason.clone().into_owned(),
        note: prefix(&note, NOTE_MAX).to_owned(),
        r#type: if news.is_warning { "Warning" } else { "Normal" }.into(),
        ..event(regarding, &topic, said)
    }
}

#[cfg(test)]
mod tests;
