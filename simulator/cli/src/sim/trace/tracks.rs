//! The tracks of the operator, the rollouts, the budget, and the world.

use seaworthy_fleet::history::{End, History, What};
use serde_json::json;

use super::{Group, Trace};

/// The simulated duration of one `reconcile` with its bookkeeping, in microseconds.
const TURN: u64 = 1_000;

/// Operator processes: when they lived, when they led, and every turn.
pub(super) fn operator(trace: &mut Trace, history: &History) {
    trace.name_group(Group::Operator, "operator");
    for (number, process) in (0..).zip(&history.processes) {
        let track = (Group::Operator, 2 * number + 1);
        trace.name_track(track, &format!("process {number}, seat {}", process.seat));
        trace.begin(track, process.from, "runs".into());
        if let Some((at, epoch)) = process.led {
            trace.begin(track, at, format!("leads, epoch {epoch}"));
        }
        let (at, end) = process.ended.map_or((history.end, None), |(at, end)| (at, Some(end)));
        if let Some(end) = end {
            let name = match end {
                End::Crashed => "crashed",
                End::SteppedDown => "stepped down",
                End::Stopped => "stopped",
            };
            trace.instant(track, at, name.into());
        }
        trace.end_all(track, at);
        trace.name_track((Group::Operator, 2 * number + 2), &format!("process {number}, turns"));
    }
    for (id, pause) in (0..).zip(&history.pauses) {
        for (ph, at) in [("b", pause.from), ("e", pause.until.max(pause.from))] {
            let track = (Group::Operator, 2 * pause.process + 1);
            let entry = trace.push(ph, track, at, "stands still".into());
            entry.id = Some(id);
            entry.cat = Some("pause");
        }
    }
    for turn in &history.turns {
        let name = if turn.writes + turn.orders > 0 { "turn with actions" } else { "turn" };
        let entry = trace.push("X", (Group::Operator, 2 * turn.process + 2), turn.at, name.into());
        entry.dur = Some(TURN);
        entry.args = json!({ "lookedAt": turn.looked_at, "writes": turn.writes, "orders": turn.orders });
    }
}

/// The number of machines in each state of each rollout.
pub(super) fn rollouts(trace: &mut Trace, history: &History) {
    trace.name_group(Group::Rollouts, "rollouts");
    for (number, rollout) in (1..).zip(&history.rollouts) {
        let to = if rollout.to.is_empty() { "absent" } else { &rollout.to };
        let owner = history.charters.get(rollout.charter).map_or("", |charter| charter.name.as_str());
        let owner = if owner.is_empty() { String::new() } else { format!("{owner}: ") };
        let name = format!("{owner}{} to {to}", rollout.component);
        let track = (Group::Rollouts, number);
        trace.name_track(track, &name);
        trace.begin(track, rollout.since, name.clone());
        for &(at, count) in &rollout.waves {
            trace.instant(track, at, format!("{count} granted"));
        }
        trace.end_all(track, rollout.completed.unwrap_or(history.end));
        for (at, counts) in rollout.counts.points() {
            let values = json!({
                "done": counts.done,
                "at work": counts.at_work,
                "granted": counts.reserved,
                "permitted": counts.parked,
                "blocked": counts.blocked,
                "failed": counts.failed,
                "waiting": counts.waiting,
            });
            trace.counter(Group::Rollouts, *at, &name, values);
        }
    }
}

/// How much of `maxUnavailable` is used.
pub(super) fn budget(trace: &mut Trace, history: &History) {
    trace.name_group(Group::Budget, "budget");
    for (at, budget) in history.budget.points() {
        trace.counter(Group::Budget, *at, "occupied", json!({ "slots": budget.occupied }));
        trace.counter(Group::Budget, *at, "maxUnavailable", json!({ "slots": budget.limit }));
        trace.counter(Group::Budget, *at, "hosts at work", json!({ "hosts": budget.at_work }));
    }
}

/// Actions of people, breaches of invariants, and the number of lost hosts.
pub(super) fn world(trace: &mut Trace, history: &History) {
    trace.name_group(Group::World, "world");
    let (people, violations) = (1, 2);
    trace.name_track((Group::World, people), "people");
    for act in &history.acts {
        trace.instant((Group::World, people), act.at, act.what.clone());
    }
    trace.name_track((Group::World, violations), "violations");
    for violation in &history.violations {
        let track = (Group::World, violations);
        trace.instant(track, violation.at, violation.invariant.into()).args =
            json!({ "detail": violation.detail });
    }
    let (mut off, mut cut) = (0i64, 0i64);
    for event in &history.events {
        match event.what {
            What::Power(is_on) => off += if is_on { -1 } else { 1 },
            What::Network(is_connected) => cut += if is_connected { -1 } else { 1 },
            What::Phase(..)
            | What::Unit(_)
            | What::Condition(..)
            | What::Began(..)
            | What::Step(_)
            | What::Resumed
            | What::Ended(_)
            | What::Installed(..)
            | What::Spoiled(_)
            | What::Node(_) => continue,
        }
        let values = json!({ "without power": off, "cut off": cut });
        trace.counter(Group::World, event.at, "hosts lost", values);
    }
}
