//! Enumerates every crash point of a join, of an upgrade with drains, of batches and their rollback, and of a scale-in, on a
//! dozen machines in three zones: the operator crashes at each write once, and loses the Lease at each write once, which then
//! arrives late. Also every stale read before a destructive write, and every hidden transition.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Mutex;
use std::thread;

use seaworthy_fleet::Options;
use seaworthy_fleet::enumeration::{Enumeration, Forked, Rule};
use seaworthy_fleet::plan::Document;
use seaworthy_kernel::Seed;

const MACHINES: u32 = 12;

/// Runs all forks of a scenario on all cores. Returns the number of writes to crash at, too.
fn forked(name: &str) -> (Vec<Forked>, usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fast").join(name);
    let mut document = Document::read(name, &std::fs::read_to_string(file).unwrap()).unwrap();
    document.set_machines(MACHINES);
    let enumeration = Enumeration::new(name, document, Seed(1), Options::default()).unwrap();
    let (count, writes) = (enumeration.count, enumeration.writes);
    let source = Mutex::new(enumeration);
    let work = || {
        let mut all = Vec::new();
        loop {
            let fork = source.lock().unwrap().next_fork();
            let Some(fork) = fork else { return all };
            all.push(fork.run());
        }
    };
    let jobs = thread::available_parallelism().map_or(1, Into::into);
    let forked: Vec<Forked> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(forked.len(), count);
    (forked, writes)
}

fn hold(name: &str) {
    let (forked, writes) = forked(name);
    for Forked { rule, strikes, came, attempt } in &forked {
        assert!(came, "{name}: {rule:?} never came to pass: {strikes:?}");
        assert_eq!(attempt.failure, None, "{name}: {rule:?} at {strikes:?}");
    }
    let crashes =
        forked.iter().filter(|forked| matches!(forked.rule, Rule::CrashBefore | Rule::CrashAfter)).count();
    assert_eq!(crashes, 2 * writes, "every write is the last one twice: before it was committed, and after");
    println!("{name}: {writes} writes, {} points", forked.len());
}

#[test]
fn waves_of_grants_survive_every_crash() {
    hold("upgrade.yaml");
}

#[test]
fn an_upgrade_that_drains_survives_every_crash() {
    hold("drain.yaml");
}

#[test]
fn three_batches_and_a_rollback_survive_every_crash() {
    hold("three_batches_and_a_rollback.yaml");
}

#[test]
fn canaries_survive_every_crash() {
    hold("canaries.yaml");
}

#[test]
fn rollouts_that_share_a_drain_survive_every_crash() {
    hold("two_rollouts_one_drain.yaml");
}

#[test]
fn a_reboot_survives_every_crash() {
    hold("reboot.yaml");
}

#[test]
fn a_confirmation_survives_every_crash() {
    hold("confirm.yaml");
}

#[test]
fn a_scale_in_survives_every_crash() {
    hold("scale_in.yaml");
}

#[test]
fn a_join_survives_every_crash() {
    hold("join_with_identity.yaml");
}

#[test]
fn components_that_need_one_another_survive_every_crash() {
    hold("dependencies.yaml");
}

#[test]
fn versions_that_must_not_run_together_survive_every_crash() {
    hold("skew.yaml");
}
