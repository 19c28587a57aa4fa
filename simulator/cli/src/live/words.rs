//! Rollouts in words.

use seaworthy_api::v1alpha1::{
    CanaryMachine, ClusterPackageVersionStatus, Condition, CourseStatus, IntOrString, RolloutStatus,
    WantStatus,
};

/// The length of a progress bar, in characters.
const BAR: usize = 20;

/// The version that is wanted, or `nothing`.
pub(super) fn version(want: Option<&WantStatus>) -> &str {
    want.and_then(|want| want.version.as_deref()).unwrap_or("nothing")
}

/// A rollout in two lines.
pub(super) fn rollout(rollout: &RolloutStatus) -> String {
    let (from, to) = (version(rollout.from.as_ref()), version(Some(&rollout.to)));
    let course = rollout.course.as_ref();
    let is_reverted = course.is_some_and(|course| course.reverted_at.is_some());
    let way = if is_reverted { format!("{to} taken back, to {from}") } else { format!("{from} -> {to}") };
    let state = match &rollout.completed_at {
        Some(at) => format!("complete since {at}"),
        None => course.map_or_else(|| "under way".to_owned(), batch),
    };
    let mut counts = format!("{} of {} machines", rollout.updated, rollout.total);
    for (count, what) in
        [(rollout.at_work, "at work"), (rollout.failed, "failed"), (rollout.lost, "lost at work")]
    {
        if count > 0 {
            counts.push_str(&format!(", {count} {what}"));
        }
    }
    for deferred in &rollout.deferred {
        counts.push_str(&format!(", {} {}", deferred.machines, deferred.reason));
    }
    format!("{}: {way}, {state}\n  {} {counts}", rollout.component, bar(rollout.updated, rollout.total))
}

fn batch(course: &CourseStatus) -> String {
    match (course.batch, &course.failed_gate) {
        (0, _) => "before its first batch".to_owned(),
        (batch, Some(_)) => format!("stopped by the gate after batch {batch}"),
        (batch, None) => format!("batch {batch}, up to {}", end_of(course, batch)),
    }
}

/// Up to how many machines a batch goes, as its strategy says it. Gates that people overrode and batches without a machine
/// shift it.
fn end_of(course: &CourseStatus, batch: i64) -> String {
    let index = usize::try_from(batch - 1).unwrap_or(usize::MAX);
    match course.strategy.batches.get(index) {
        Some(IntOrString::Int(1)) => "1 machine".to_owned(),
        Some(IntOrString::Int(count)) => format!("{count} machines"),
        Some(IntOrString::String(percent)) => format!("{percent} of all machines"),
        None => "all machines".to_owned(),
    }
}

fn bar(done: i64, all: i64) -> String {
    let (done, all) = (usize::try_from(done).unwrap_or(0), usize::try_from(all).unwrap_or(0).max(1));
    let filled = (done.min(all) * BAR) / all;
    format!("[{}{}]", "=".repeat(filled), " ".repeat(BAR - filled))
}

/// The condition of the fleet that tells what goes on.
pub(super) fn progressing(status: &ClusterPackageVersionStatus) -> Option<&Condition> {
    status.conditions.iter().find(|condition| condition.r#type == "Progressing")
}

/// The command that people use then.
fn hint(reason: &str) -> Option<&'static str> {
    match reason {
        "GateFailed" => {
            Some("seaworthy rollout resume lets it go on; seaworthy rollout undo COMPONENT takes it back")
        }
        "ArtefactUnavailable" => Some(
            "seaworthy rollout undo COMPONENT goes back to what worked; seaworthy rollout resume begins all the same",
        ),
        "GateInconclusive" => Some("seaworthy rollout resume lets it go on in spite of the doubt"),
        "Paused" => Some("seaworthy rollout resume ends the pause"),
        "ConfirmationNeeded" => Some("seaworthy rollout confirm lets it begin"),
        _ => None,
    }
}

/// The rollouts of a record, and what goes on.
pub(super) fn progress(status: Option<&ClusterPackageVersionStatus>, is_taken_up: bool) -> String {
    let Some(status) = status else { return "the operator has not looked at it yet".to_owned() };
    let mut lines: Vec<String> = status.rollouts.iter().map(rollout).collect();
    if let Some(told) = progressing(status) {
        lines.push(format!("{}: {}", told.reason, told.message));
        lines.extend(hint(&told.reason).map(str::to_owned));
    }
    if !is_taken_up {
        lines.push("the spec was changed since: the operator has not taken that up yet".to_owned());
    }
    lines.join("\n")
}

/// A line for each machine of a canary, each after a line break.
pub(super) fn machines(machines: &[CanaryMachine]) -> String {
    let longest = machines.iter().map(|machine| machine.name.len()).max().unwrap_or_default();
    let line = |machine: &CanaryMachine| format!("\n  {:longest$}  {}", machine.name, machine.result);
    machines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_rollout() {
        assert_eq!(bar(0, 0), format!("[{}]", " ".repeat(BAR)));
        assert_eq!(bar(5, 10).matches('=').count(), BAR / 2);
        assert_eq!(bar(12, 10).matches('=').count(), BAR);
    }
}
