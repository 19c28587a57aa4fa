//! Folded heartbeats change nothing: with every renewal of every kubelet as an event, and with Nodes judged by the renewals
//! that arrived, each run is the same, event by event.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod members;

use std::sync::Arc;

use members::{files, member, swarm};
use seaworthy_fleet::swarm::Record;
use seaworthy_fleet::{Attempt, Heartbeats, Options, Scenario, Summary, attempt_recorded};

/// The last seed of the swarm; the first is 1.
const LAST: u64 = 300;

/// Runs with folded and with explicit heartbeats, and compares. Returns the summary and the record of the explicit run.
fn compare(name: &str, run: impl Fn(Options) -> (Attempt, Record)) -> (Summary, Record) {
    let [folded, explicit] = [Heartbeats::Folded, Heartbeats::Explicit]
        .map(|heartbeats| run(Options { heartbeats, ..Options::default() }));
    if let Some(divergence) = folded.1.divergence(&explicit.1) {
        panic!("{name}: folded / explicit differ first at {divergence}");
    }
    assert_eq!(folded.0.failure, explicit.0.failure, "{name}");
    let (explicit, record) = explicit;
    let (folded, explicit) = (folded.0.summary.unwrap(), explicit.summary.unwrap());
    assert_eq!(folded.clone().observable(), explicit.clone().observable(), "{name}");
    (explicit, record)
}

/// How many renewals there are at least. Every kubelet renews six times a minute while it runs, and runs for at least
/// half of the time. On a host without a Node, none runs yet.
fn least_renewals(explicit: &Summary, record: &Record) -> u64 {
    let end = explicit.simulated_seconds;
    let later: Vec<u64> = record.nodes_joined().map(|at| end - at.as_secs()).collect();
    let always = u64::from(explicit.reachable).saturating_sub(later.len() as u64);
    (always * end + later.iter().sum::<u64>()) / 10 / 2
}

fn scenarios(folder: &str) -> impl Iterator<Item = Arc<Scenario>> {
    let read = |(file, text): (String, String)| Scenario::read(&file, &text);
    files(folder).into_iter().map(move |file| Arc::new(read(file).unwrap_or_else(|error| panic!("{error}"))))
}

fn scenarios_are_the_same(folder: &str) {
    for scenario in scenarios(folder) {
        let (explicit, record) = compare(&scenario.name, |options| attempt_recorded(&scenario, options));
        let least = if scenario.fleet.nodes { least_renewals(&explicit, &record) } else { 0 };
        assert!(explicit.node_renewals >= least, "{}: {} renewals", scenario.name, explicit.node_renewals);
    }
}

#[test]
fn fast_scenarios_are_the_same() {
    scenarios_are_the_same("fast");
}

#[test]
fn slow_scenarios_incidents_and_regressions_are_the_same() {
    for folder in ["slow", "incidents", "regressions"] {
        scenarios_are_the_same(folder);
    }
}

/// Combinations that no scenario has: other fleets with other faults.
#[test]
fn members_of_the_swarm_are_the_same() {
    let swarm = swarm();
    let mut failed = 0;
    for seed in 1..=LAST {
        let member = member(&swarm, seed);
        let name = format!("seed {seed}, {}", member.file);
        failed += compare(&name, |options| member.recorded(options)).0.node_renewals_failed;
    }
    assert!(failed > 0, "every renewal got through");
}

/// A scenario only about kubelets.
#[test]
fn kubelets_in_trouble_are_the_same_with_many_seeds() {
    let file = files("fast").into_iter().find(|(file, _)| file == "kubelets_in_trouble.yaml").unwrap();
    let scenario = Arc::new(Scenario::read(&file.0, &file.1).unwrap());
    for seed in 1..=50 {
        let name = format!("{} with seed {seed}", scenario.name);
        let seed = Some(seaworthy_kernel::Seed(seed));
        compare(&name, |options| attempt_recorded(&scenario, Options { seed, ..options }));
    }
}
