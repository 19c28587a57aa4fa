//! The swarm over the fast scenarios: a thousand seeds, each with its own fleet, budget and faults, on all cores, and three
//! hundred on larger fleets whose machines are Nodes. Each is compared with its fault-free twin. One in twenty runs twice, on
//! two threads, and is compared event by event.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod members;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use members::{files, member, read, swarm};
use seaworthy_fleet::Options;
use seaworthy_fleet::plan::ResolvedPlan;
use seaworthy_fleet::swarm::Swarm;

/// The last seed; the first is 1.
const LAST: u64 = 1_000;
/// The last seed for fleets of Nodes, and the size of these fleets: large enough for large batches.
const LAST_OF_NODES: u64 = 300;
const NODE_MACHINES: u32 = 500;
const TWICE_EVERY: u64 = 20;

/// Scenarios in which machines become Nodes, are drained, or have components that depend on each other.
fn node_stories() -> Swarm {
    let words = ["nodeIdentity", "disruption", "requires", "dependsOn"];
    let told = files("fast").into_iter().filter(|(_, text)| words.iter().any(|word| text.contains(word)));
    Swarm::new(told.map(read).collect(), Some(NODE_MACHINES)).exactly()
}

/// The failure of a seed, if it fails.
fn wrong(swarm: &Swarm, seed: u64) -> Option<String> {
    let member = member(swarm, seed);
    let options = Options::default();
    if !seed.is_multiple_of(TWICE_EVERY) {
        return member.run_with_twin(options).failure.map(|failure| format!("{}: {failure:?}", member.file));
    }
    let (attempt, record) = member.recorded_with_twin(options);
    let again = thread::scope(|scope| scope.spawn(|| member.recorded(options).1).join()).unwrap();
    let divergence = record.divergence(&again).map(|divergence| format!("not the same again: {divergence}"));
    attempt.failure.map(|failure| format!("{}: {failure:?}", member.file)).or(divergence)
}

/// The failures among the first seeds.
fn all_wrong(swarm: &Swarm, last: u64) -> Vec<String> {
    let next = AtomicU64::new(1);
    let work = || {
        let mut found = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > last {
                return found;
            }
            found.extend(wrong(swarm, seed).map(|problem| format!("seed {seed}: {problem}")));
        }
    };
    let jobs = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn a_thousand_seeds_hold_and_repeat() {
    assert_eq!(all_wrong(&swarm(), LAST), <[String; 0]>::default());
}

#[test]
fn three_hundred_stories_of_nodes_hold_on_five_hundred_machines() {
    assert_eq!(all_wrong(&node_stories(), LAST_OF_NODES), <[String; 0]>::default());
}

/// A failure that was found once is kept as a plan: the same strikes at the same points, also after the engine has changed.
#[test]
fn plans_of_what_went_wrong_once_hold() {
    for (file, text) in files("regressions/plans") {
        let plan = ResolvedPlan::read(&file, &text).unwrap_or_else(|error| panic!("{error}"));
        let mut world = plan.world(&file, Options::default()).unwrap();
        let failure = seaworthy_fleet::attempt_with_twin(&mut world).failure;
        assert_eq!(failure, None, "{file}");
    }
}
