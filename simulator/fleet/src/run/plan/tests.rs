use super::*;
use crate::run::beginning::begin_noted;
use crate::vocabulary::{Met, Place, Writes};
use crate::{Summary, conclude};

/// Every scenario that people run with `make run` or `make swarm` has faults of this file's kinds.
const STORM: &str = include_str!("../../../../../scenarios/fast/storm.yaml");

fn recorded(machines: u32, seed: u64) -> (Summary, ResolvedPlan) {
    let mut document = Document::read("storm.yaml", STORM).unwrap();
    document.set_machines(machines);
    let scenario = Arc::new(document.scenario("storm.yaml").unwrap());
    let options = Options::seeded(Some(Seed(seed)));
    let mut world = begin_noted(scenario, options);
    let summary = conclude(&mut world, &mut |_| {});
    let strikes = world.ledger().unwrap().strikes().to_vec();
    (summary, ResolvedPlan { scenario: document, seed: Seed(seed), strikes })
}

fn replayed(plan: &ResolvedPlan) -> (Summary, Vec<Strike>) {
    let mut world = plan.world("plan.yaml", Options::default()).unwrap();
    let summary = conclude(&mut world, &mut |_| {});
    let missed = world.ledger().unwrap().missed().cloned().collect();
    (summary, missed)
}

#[test]
fn a_plan_that_was_written_and_read_replays_the_same_history() {
    let (summary, plan) = recorded(20, 3);
    let kinds: std::collections::BTreeSet<&str> = plan.strikes.iter().map(Strike::fault).collect();
    assert!(kinds.len() >= 7, "it needs many faults to show anything: {kinds:?}");
    let text = plan.to_string();
    assert!(ResolvedPlan::is_plan(&text) && !ResolvedPlan::is_plan(STORM));
    let read = ResolvedPlan::read("plan.yaml", &text).unwrap();
    assert_eq!(read.strikes, plan.strikes);
    let (again, missed) = replayed(&read);
    assert_eq!(again.trace_hash, summary.trace_hash);
    assert_eq!(missed, []);
}

#[test]
fn the_plan_of_a_large_run_is_read_as_well() {
    let (_, mut plan) = recorded(20, 3);
    let strike = plan.strikes[0].clone();
    plan.strikes = vec![strike; 40_000];
    let text = plan.to_string();
    let read = ResolvedPlan::read("plan.yaml", &text);
    assert_eq!(read.map(|plan| plan.strikes.len()).map_err(|error| error.to_string()), Ok(40_000));
}

#[test]
fn recording_changes_nothing() {
    let (summary, plan) = recorded(20, 4);
    let scenario = Arc::new(plan.scenario.scenario("storm.yaml").unwrap());
    let plain = crate::run(&scenario, Options::seeded(Some(Seed(4))), |_| {});
    assert_eq!(plain, summary);
}

#[test]
fn faults_and_strikes_that_are_left_out_leave_the_others_as_they_are() {
    let (summary, mut plan) = recorded(20, 3);
    plan.strikes.retain(|strike| strike.fault() == "host_down" || strike.fault() == "lost_reply");
    let kept = plan.strikes.len();
    assert!(kept > 0);
    plan.drop_idle_faults();
    assert_eq!(plan.scenario.list("faults").len(), 2);
    let (fewer, missed) = replayed(&plan);
    assert!(fewer.is_good(), "{fewer:#?}");
    assert!(missed.len() < kept);
    assert_ne!(fewer.trace_hash, summary.trace_hash);
}

#[test]
fn a_strike_whose_point_never_comes_is_told() {
    let (_, mut plan) = recorded(20, 3);
    let never = Strike::Met(Met {
        fault: "lost_reply".into(),
        point: Place::Request { seat: 0, writes: Writes::Finalizers, object: "m-00001".into() },
        nth: 99,
        chance: 0,
        at: crate::vocabulary::Length::default(),
        drawn: BTreeMap::new(),
    });
    plan.strikes = vec![never.clone()];
    assert_eq!(replayed(&plan).1, [never]);
}

#[test]
fn what_is_wrong_with_a_plan_is_named() {
    let (_, plan) = recorded(20, 3);
    let text = plan.to_string();
    let cases = [
        (text.replace("plan/v1", "plan/v9"), "format:"),
        (text.replacen("fault: host_down", "fault: host_dwon", 1), "host_dwon"),
        (text.replacen("seed:", "sede:", 1), "sede"),
        (text.replacen("machines: 20", "machines: none", 1), "machines"),
    ];
    for (broken, word) in cases {
        let problem = ResolvedPlan::read("plan.yaml", &broken).unwrap_err().to_string();
        assert!(problem.contains("plan.yaml") && problem.contains(word), "{problem}");
    }
}
