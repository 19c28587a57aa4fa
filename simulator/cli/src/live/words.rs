//! Rollouts in words.

use seaworthy_api::v1alpha1::{
    CanaryMachine, ClusterPackageVersionStatus, Condition, CourseStatus, GateStatus, IntOrString,
    RolloutStatus, WantStatus,
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
        (batch, None) if course.catches_up => format!("batch {batch}, of machines that came later"),
        (batch, None) => format!("batch {batch}, up to {}", end_of(course, batch)),
    }
}

/// What a rollout waits for, as far as its own record says that.
fn wait(rollout: &RolloutStatus) -> Option<String> {
    let is_active = |course: &&CourseStatus| rollout.completed_at.is_none() && course.reverted_at.is_none();
    let course = rollout.course.as_ref().filter(is_active)?;
    if let Some(gate) = &course.failed_gate {
        return Some(format!("  it waits for a person: the gate has failed: {}", evidence(gate)));
    }
    let done_at = course.done_at.as_ref()?;
    Some(format!("  it waits for the gate: the machines of the batch are watched since {done_at}"))
}

/// What a gate goes by.
fn evidence(gate: &GateStatus) -> String {
    let mut words = format!("{} changed", gate.changed);
    for (count, what) in [
        (gate.failed, "failed"),
        (gate.unavailable, "went down"),
        (gate.silent, "silent"),
        (gate.series, "series of the query"),
        (gate.unstarted, "probe pods did not start"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    }
    words
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

/// The reasons that `rollout confirm` ends.
pub(super) const UNCONFIRMED: [&str; 3] = ["ConfirmationNeeded", "RollbackUnsafe", "SetEmptied"];

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
        reason if UNCONFIRMED.contains(&reason) => Some("seaworthy rollout confirm lets it begin"),
        _ => None,
    }
}

/// The rollouts of a record, and what goes on. The condition has the reason of one rollout. Of several that are under way each
/// one's record says what that one waits for.
pub(super) fn progress(status: Option<&ClusterPackageVersionStatus>, is_taken_up: bool) -> String {
    let Some(status) = status else { return "the operator has not looked at it yet".to_owned() };
    let are_several = status.rollouts.iter().filter(|rollout| rollout.completed_at.is_none()).count() > 1;
    let told = |of: &RolloutStatus| [Some(rollout(of)), wait(of).filter(|_| are_several)];
    let mut lines: Vec<String> = status.rollouts.iter().flat_map(told).flatten().collect();
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

    /// A rollout in its second batch.
    fn under_way(component: &str, course: &serde_json::Value) -> serde_json::Value {
        let mut rollout = serde_json::json!({
            "component": component, "generation": 7, "to": { "state": "Present", "version": "1.1.0" }, "admittedBelow": 5,
            "startedAt": "2026-11-26T08:00:00Z", "total": 10, "updated": 2, "course": { "strategy": {}, "batch": 2 },
        });
        for (name, value) in course.as_object().unwrap() {
            rollout["course"][name] = value.clone();
        }
        rollout
    }

    #[test]
    fn each_of_several_rollouts_says_what_it_waits_for() {
        let failed = under_way(
            "webd",
            &serde_json::json!({ "doneAt": "2026-11-26T08:30:00Z", "failedGate": {
                "at": "2026-11-26T09:00:00Z", "changed": 2, "failed": 1, "unavailable": 0, "silent": 1, "untouched": 8,
                "untouchedUnavailable": 0,
            } }),
        );
        let baking = under_way("dnsd", &serde_json::json!({ "doneAt": "2026-11-26T08:45:00Z" }));
        let moving = under_way("sshd", &serde_json::json!({}));
        let mut complete = under_way("timed", &serde_json::json!({ "doneAt": "2026-11-26T08:45:00Z" }));
        complete["completedAt"] = "2026-11-26T09:00:00Z".into();
        let told = |rollouts: &[&serde_json::Value]| {
            let status = serde_json::json!({ "rollouts": rollouts });
            let told = progress(Some(&serde_json::from_value(status).unwrap()), true);
            told.lines().filter(|line| line.contains("it waits")).map(str::to_owned).collect::<Vec<_>>()
        };
        let expected = [
            "  it waits for a person: the gate has failed: 2 changed, 1 failed, 1 silent",
            "  it waits for the gate: the machines of the batch are watched since 2026-11-26T08:45:00Z",
        ];
        assert_eq!(told(&[&failed, &baking, &moving, &complete]), expected);
        assert!(told(&[&failed, &complete]).is_empty(), "the condition tells the reason of the only one");
    }
}
