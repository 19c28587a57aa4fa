//! Every scenario file is a test: it converges, breaks no invariant, and everything under `sometimes` happens.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seaworthy_fleet::{Options, Scenario, Summary, attempt_with_twin, begin, run};
use seaworthy_kernel::Seed;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(name)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(!files.is_empty(), "no scenario in {name}");
    files
}

fn read(file: &Path) -> Scenario {
    let text = std::fs::read_to_string(file).unwrap();
    let scenario =
        Scenario::read(&file.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"));
    let stem = file.file_stem().unwrap().to_str().unwrap();
    assert_eq!(scenario.name, stem, "the name of a scenario is that of its file");
    scenario
}

fn with_seed(scenario: &Arc<Scenario>, seed: u64) -> Summary {
    run(scenario, Options { seed: Some(Seed(seed)), ..Options::default() }, |_| {})
}

#[track_caller]
fn assert_good(summary: &Summary) {
    assert!(
        summary.is_good(),
        "{} with seed {}: {:#?}\n{:#?}",
        summary.scenario,
        summary.seed,
        summary.violations,
        summary.missing
    );
}

/// Runs every file of a folder with its own seed. Each run succeeds, shows everything under `sometimes`, breaks every
/// invariant that it allows to be broken, repeats exactly, and ends in the same state as its fault-free twin.
fn hold(name: &str) {
    for file in files(name) {
        let scenario = Arc::new(read(&file));
        let summary = with_seed(&scenario, scenario.seed);
        assert_good(&summary);
        assert!(!scenario.sometimes.is_empty(), "{}: says under `sometimes` what it shows", scenario.name);
        assert!(summary.unseen.is_empty(), "{} shows no {:?}", scenario.name, summary.unseen);
        for allowance in &scenario.allowed {
            let used = summary.tolerated.contains_key(allowance.invariant.as_str());
            assert!(
                used,
                "{}: {} was not broken, and need not be allowed",
                scenario.name, allowance.invariant
            );
        }
        let mut again = begin(Arc::clone(&scenario), Options::default());
        let attempt = attempt_with_twin(&mut again);
        assert_eq!(attempt.failure, None, "{}: compared with its fault-free twin", scenario.name);
        assert_eq!(Some(&summary), attempt.summary.as_ref(), "{} does not repeat itself", scenario.name);
        println!("{}: {} events, trace {}", scenario.name, summary.events, summary.trace_hash);
    }
}

#[test]
fn fast_scenarios_hold() {
    hold("fast");
}

#[test]
fn incidents_of_others_do_not_happen_here() {
    hold("incidents");
}

#[test]
fn regressions_hold() {
    hold("regressions");
}

/// Another seed gives another run.
#[test]
fn seeds_tell_histories_apart() {
    for file in files("fast") {
        let scenario = Arc::new(read(&file));
        let hashes = [0, 1].map(|more| with_seed(&scenario, scenario.seed + more).trace_hash);
        assert_ne!(hashes[0], hashes[1], "{}", scenario.name);
    }
}

/// The scenario of `make run`, with two hundred seeds on three hundred machines.
#[test]
fn upgrade_holds_with_two_hundred_seeds() {
    let file = folder("scale/upgrade_10k.yaml");
    let scenario = read(&file).with_machines(&file.display().to_string(), 300).unwrap();
    // What must happen at least once in ten thousand machines need not happen in three hundred.
    let scenario = Arc::new(Scenario { sometimes: Vec::new(), ..scenario });
    for seed in 1..=200 {
        assert_good(&with_seed(&scenario, seed));
    }
}

/// The scenario of `make run` as it is.
#[test]
fn ten_thousand_machines_are_upgraded() {
    let scenario = Arc::new(read(&folder("scale/upgrade_10k.yaml")));
    let summary = with_seed(&scenario, scenario.seed);
    assert_good(&summary);
    assert_eq!(summary.versions_after.get("webd-1.1.0"), Some(&10_000));
    assert_eq!(summary.versions_after.get("webd-1.0.0"), None);
    assert!(summary.budget.peak <= summary.budget.limit);
}

/// The scenario that measures the speed of the simulator, as it is.
#[test]
fn a_day_of_ten_thousand_machines_holds() {
    let scenario = Arc::new(read(&folder("scale/day_10k.yaml")));
    let summary = with_seed(&scenario, scenario.seed);
    assert_good(&summary);
    assert!(summary.unseen.is_empty(), "{} shows no {:?}", scenario.name, summary.unseen);
    assert_eq!(summary.simulated_seconds, 24 * 3600);
}

/// All faults at once, with many seeds: finds what single scenarios miss.
#[test]
fn storms_hold_with_many_seeds() {
    hold("slow");
    for (file, seeds) in
        [("fast/storm.yaml", 100), ("fast/tight_budget.yaml", 300), ("slow/everything.yaml", 100)]
    {
        let scenario = Arc::new(Scenario { sometimes: Vec::new(), ..read(&folder(file)) });
        for seed in 1..=seeds {
            assert_good(&with_seed(&scenario, seed));
        }
    }
}
