use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::scenario::Check;
use crate::{Options, Scenario, run, run_recorded};

const STORM: &str = include_str!("../../../../../scenarios/fast/storm.yaml");
const UPGRADE: &str = include_str!("../../../../../scenarios/fast/upgrade.yaml");

fn recorded() -> (crate::Summary, History) {
    let scenario = Arc::new(Scenario::read("upgrade.yaml", UPGRADE).expect("it is a scenario"));
    let (summary, history) = run_recorded(&scenario, Options::default(), |_| {});
    assert_eq!(summary, run(&scenario, Options::default(), |_| {}), "recording changes the run");
    (summary, history)
}

/// The phase of each machine at the end, as the operator saw it.
fn phases_at_the_end(history: &History, machines: u32) -> Vec<Phase> {
    let mut phases = vec![Phase::Unseen; machines as usize];
    for event in &history.events {
        if let What::Phase(phase, _) = event.what {
            phases[event.host as usize] = phase;
        }
    }
    phases
}

#[test]
fn recording_changes_no_run_and_ends_as_it_does() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fast");
    for entry in std::fs::read_dir(folder).expect("there are scenarios") {
        let file = entry.expect("it can be listed").path();
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let scenario =
            Arc::new(Scenario::read(&file.display().to_string(), &text).expect("it is a scenario"));
        let (summary, history) = run_recorded(&scenario, Options::default(), |_| {});
        let name = &summary.scenario;
        assert_eq!(summary, run(&scenario, Options::default(), |_| {}), "{name}: recording changes it");
        assert!(history.events.is_sorted_by_key(|event| event.at), "{name}");
        assert!(summary.converged, "{name}");
        let phases = phases_at_the_end(&history, summary.machines);
        // A rollout that has stopped grants no further machine its turn.
        let stops = scenario.eventually.iter().any(|check| matches!(check, Check::Stopped(_)));
        let under_way = |phase: &Phase| match phase {
            Phase::Done | Phase::Blocked | Phase::Failed | Phase::Gone => false,
            Phase::Waiting | Phase::Parked => !stops,
            Phase::Unseen | Phase::Reserved | Phase::AtWork => true,
        };
        assert!(!phases.iter().any(under_way), "{name}: {phases:?}");
    }
}

#[test]
fn what_is_recorded_agrees_with_what_is_counted() {
    let (summary, history) = recorded();
    let count = |is: fn(&What) -> bool| history.events.iter().filter(|event| is(&event.what)).count() as u64;
    assert_eq!(count(|what| matches!(what, What::Began(..))), summary.operations);
    assert_eq!(history.turns.len() as u64, summary.turns);
    assert!(history.events.is_sorted_by_key(|event| event.at));
    let crashes =
        history.processes.iter().filter(|process| process.ended.is_some_and(|(_, end)| end == End::Crashed));
    assert_eq!(crashes.count() as u64, summary.occasions.get("OperatorCrashed").copied().unwrap_or_default());
    let mut installed = std::collections::BTreeMap::new();
    for event in &history.events {
        if let What::Installed(component, version) = event.what {
            installed.insert((event.host, component.0), version);
        }
    }
    for (name, count) in &summary.versions_after {
        let has = |version: &&Version| history.versions.get(version.0 as usize) == Some(name);
        assert_eq!(installed.values().filter(has).count(), *count as usize, "{name}");
    }
}

#[test]
fn the_operators_view_ends_as_the_run_does() {
    let (summary, history) = recorded();
    let phases = phases_at_the_end(&history, summary.machines);
    assert!(phases.iter().all(|phase| *phase == Phase::Done), "{phases:?}");
    let lane = history.rollouts.last().expect("there was a rollout");
    let (_, last) = lane.counts.points().last().expect("it was counted");
    assert_eq!((last.done, last.waiting, last.failed), (summary.machines, 0, 0));
    assert!(lane.completed.is_some());
    let admitted: u32 = lane.waves.iter().map(|(_, count)| count).sum();
    assert!(admitted >= summary.machines, "every machine is granted its turn: {admitted}");
    let peak = history.budget.points().iter().map(|(_, budget)| budget.at_work).max();
    assert_eq!(peak, Some(summary.budget.at_work));
    let limits = history.budget.points().iter().map(|(_, budget)| budget.limit).max();
    assert_eq!(limits, Some(summary.budget.limit));
}

#[test]
fn what_faults_did_is_recorded_with_its_end() {
    let scenario = Arc::new(Scenario::read("storm.yaml", STORM).expect("it is a scenario"));
    let (summary, history) = run_recorded(&scenario, Options::default(), |_| {});
    let of = |kind: FaultKind| history.bands.iter().filter(move |band| band.kind == kind);
    let times = |kind: FaultKind| u64::from(of(kind).map(|band| band.times).sum::<u32>());
    for (fault, kind) in [
        ("conflict", FaultKind::Conflict),
        ("lost_reply", FaultKind::LostReply),
        ("session_lost", FaultKind::SessionLost),
        ("operator_crash", FaultKind::Crash),
        ("stale_watch", FaultKind::WatchHeld),
    ] {
        assert!(summary.strikes[fault] > 0, "{fault}");
        assert_eq!(times(kind), summary.strikes[fault], "{fault}");
    }
    let lost = history.events.iter().filter(|event| event.what == What::Power(false)).count() as u64;
    assert_eq!(times(FaultKind::PowerLost) + times(FaultKind::DomainLost), lost);
    let zones: Vec<&Band> = of(FaultKind::DomainLost).collect();
    assert_eq!(zones.len(), 1, "{zones:?}");
    assert_eq!((zones[0].from, zones[0].scope.as_str(), zones[0].times), (2 * 3_600_000, "zone 1", 15));
    for band in of(FaultKind::PowerLost).filter(|band| band.until < history.end) {
        let host = band.host.expect("each at its own time");
        let is_back =
            |event: &&Event| (event.host, event.at, event.what) == (host, band.until, What::Power(true));
        assert_eq!(history.events.iter().filter(is_back).count(), 1, "{band:?}");
    }
    for band in &history.bands {
        assert!(band.from <= band.until && band.until <= history.end, "{band:?}");
    }
    assert!(history.bands.is_sorted_by_key(|band| (band.kind, band.from)));
}

#[test]
fn a_series_keeps_the_worst_and_the_last() {
    let mut series = Series::<Budget>::default();
    for at in 0..200_000 {
        let occupied = if at == 77_777 { 9 } else { at % 3 };
        series.push(at * 10, Budget { occupied, limit: 5, ..Budget::default() });
    }
    let points = series.points();
    assert!(points.len() <= 6_000);
    assert!(points.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(points.iter().filter(|(_, budget)| budget.occupied == 9).count(), 1);
    assert_eq!(points.last().map(|(at, budget)| (*at, budget.occupied)), Some((1_999_990, 199_999 % 3)));
}

fn history_of(name: &str) -> History {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fast");
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("it can be read");
    let scenario = Arc::new(Scenario::read(name, &text).expect("it is a scenario"));
    run_recorded(&scenario, Options::default(), |_| {}).1
}

#[test]
fn a_gate_that_fails_is_recorded_with_its_evidence() {
    let history = history_of("gate_rolls_back.yaml");
    let rollout = history.rollouts.iter().find(|rollout| !rollout.batches.is_empty()).expect("it has one");
    let what: Vec<&str> = rollout.marks.iter().map(|mark| mark.what.name()).collect();
    assert_eq!(what, ["began", "bakes", "failed", "rolled back"]);
    assert!(rollout.marks.iter().all(|mark| mark.batch == 1));
    assert!(rollout.marks[2].evidence.is_some_and(|evidence| evidence.wrong() > 0));
    let charter = &history.charters[rollout.charter];
    assert_eq!(charter.name, "");
    let reasons = |changes: &Changes| -> Vec<&str> {
        let words = changes.points().iter().filter_map(|(_, words)| *words);
        words.map(|number| history.words[number as usize].reason.as_str()).collect()
    };
    let told = reasons(&charter.told);
    assert_eq!(told.last(), Some(&"RolledBack"), "{told:?}");
    assert!(told.contains(&"Baking"), "{told:?}");
    assert!(reasons(&charter.waits).contains(&"Baking"));
}

#[test]
fn rollouts_of_sets_and_canaries_are_told_apart() {
    let history = history_of("canaries.yaml");
    let of = |name: &str| history.charters.iter().position(|charter| charter.name == name);
    for name in ["", "set gpu", "canary first", "canary pools", "canary named"] {
        let charter = of(name);
        assert!(charter.is_some(), "{name}");
        let mut own = history.rollouts.iter().filter(|rollout| Some(rollout.charter) == charter);
        assert!(own.next().is_some(), "{name}");
    }
    let first = history.rollouts.iter().find(|rollout| Some(rollout.charter) == of("canary first"));
    let first = first.expect("it had one");
    assert!(first.completed.is_some() && first.ended > first.completed, "{first:?}");
    assert_eq!(first.marks.last().map(|mark| mark.what), Some(Milestone::Passed));
}

/// On how many machines of a rack of `limits.yaml` the upgrade began within the busiest hour.
fn most_begun_in_an_hour(history: &History, rack: &str) -> usize {
    const HOUR: Millis = 3_600_000;
    let is_in_rack = |host: u32| format!("rack-{}-{}", host % 3, host / 3 % 4) == rack;
    let is_begin = |event: &&Event| matches!(event.what, What::Began(..)) && event.at >= HOUR;
    let begun: Vec<&Event> =
        history.events.iter().filter(is_begin).filter(|event| is_in_rack(event.host)).collect();
    let in_hour_from = |first: &&Event| {
        let hour = begun.iter().filter(|event| (first.at..first.at + HOUR).contains(&event.at));
        hour.map(|event| event.host).collect::<BTreeSet<u32>>().len()
    };
    begun.iter().map(in_hour_from).max().unwrap_or(0)
}

#[test]
fn what_policies_count_is_recorded_by_failure_domain() {
    let history = history_of("limits.yaml");
    let names: Vec<&str> = history.policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["batch", "fleet", "racks"]);
    let racks = &history.policies[2];
    assert_eq!((racks.per.as_str(), racks.domains.len()), ("rack", 12));
    let mut at_their_limit = 0;
    for (domain, uses) in &racks.domains {
        let uses = uses.points().iter().map(|(_, uses)| uses);
        assert_eq!(uses.clone().next_back().map(|uses| uses.in_flight.0), Some(0), "{domain}");
        assert!(uses.clone().all(|uses| (uses.in_flight.1, uses.hour.1) == (Some(1), Some(3))), "{domain}");
        let most = uses.map(|uses| uses.hour.0 as usize).max().expect("it has a use");
        let begun = most_begun_in_an_hour(&history, domain);
        assert!(0 < begun && begun <= most && most <= 3, "{domain}: {begun} in an hour, {most} counted");
        at_their_limit += u32::from(most == 3);
    }
    assert!(at_their_limit > 6, "{at_their_limit} of 12 racks reach their limit, most of them should");
    assert_eq!(racks.stops.iter().map(|(_, halt)| *halt).collect::<Vec<_>>(), [Halt::Open]);
}

#[test]
fn units_by_machine_make_up_the_budget() {
    let (_, history) = recorded();
    let (mut taken, mut most) = (0u32, 0);
    for event in &history.events {
        if let What::Unit(is_taken) = event.what {
            taken = if is_taken { taken + 1 } else { taken - 1 };
            most = most.max(taken);
        }
    }
    let occupied = history.budget.points().iter().map(|(_, budget)| budget.occupied).max();
    assert_eq!(taken, 0, "nothing is under way at the end");
    assert!(Some(most) <= occupied && most > 0, "{most} of {occupied:?}");
}
