//! The gates of the default strategy: a version that breaks late on one kernel is stopped within two batches, and a good one
//! is not stopped for what befalls machines anyway. `sim gate` measures both over a thousand seeds.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use seaworthy_fleet::gates::{Reached, reached};
use seaworthy_fleet::{Options, Scenario, begin, conclude};
use seaworthy_kernel::Seed;

/// Ten thousand machines for half a day take seconds each.
const SEEDS: u64 = 8;

/// How far the rollouts of a scenario come, seed by seed.
fn reached_by(name: &str, seeds: u64) -> Vec<Reached> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("gate").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let scenario = Arc::new(Scenario::read(name, &text).unwrap());
    let run = |seed| {
        let mut world = begin(Arc::clone(&scenario), Options::seeded(Some(Seed(seed))));
        let summary = conclude(&mut world, &mut |_| ());
        assert!(summary.is_good(), "seed {seed}: {:?} {:?}", summary.missing, summary.violations);
        reached(&world).unwrap()
    };
    (1..=seeds).map(run).collect()
}

#[test]
fn a_version_that_breaks_late_on_one_kernel_stays_in_two_batches() {
    for reached in reached_by("one_kernel.yaml", SEEDS) {
        assert!(reached.is_stopped && reached.batch <= 2 && reached.exposed <= 100, "{reached:?}");
    }
}

#[test]
fn a_good_version_is_seldom_stopped() {
    let stopped = reached_by("noise.yaml", SEEDS).into_iter().filter(|reached| reached.is_stopped);
    assert!(stopped.count() <= 1);
}
