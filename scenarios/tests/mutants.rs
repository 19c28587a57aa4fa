//! Each mutant (`scenarios/mutants`) breaks the engine on purpose, and the swarm finds it, as a rule within a few seeds. No
//! run is made for a mutant: these are the ordinary members of the swarm, in the order of their seeds. Each member that fails
//! with a mutant passes with the engine as it is.
//!
//! The table shows where each mutant was found: with the checks after each turn, which see what the engine believes, and by
//! the oracle alone, which sees the true state. A mutant that only the checks find did no harm in these runs.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod members;
mod mutated_copy;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use members::{member, swarm};
use mutated_copy::UNCHECKED;
use mutated_copy::tree::HOUSE;
use seaworthy_fleet::swarm::Swarm;
use seaworthy_fleet::{Failure, Options, Scenario, run};
use seaworthy_kernel::Seed;
use seaworthy_mutants::{Mutant, with};

/// Each mutant is found within this number of seeds: about ten for each file of the swarm.
const SEEDS: u64 = 1_000;
/// The number of seeds without the checks, for the table only.
const SEEDS_OF_ORACLE: u64 = 10;

/// The first run that found a mutant.
#[derive(Clone, Debug)]
struct Found {
    seed: u64,
    machines: u32,
    file: String,
    failure: Failure,
}

/// The result for one mutant.
struct Row {
    mutant: String,
    found: Option<Found>,
    by_oracle: Option<Found>,
    /// The failure of the same member with the engine as it is.
    otherwise: Option<Failure>,
}

fn find(swarm: &Swarm, seeds: u64, mutants: &[&str]) -> Option<Found> {
    (1..=seeds).find_map(|seed| {
        let member = member(swarm, seed);
        let failure = with(mutants, || member.run(Options::default())).failure?;
        Some(Found { seed, machines: member.machines(), file: member.file, failure })
    })
}

fn row(swarm: &Swarm, mutant: &str) -> Row {
    let found = find(swarm, SEEDS, &[mutant]);
    let by_oracle = find(swarm, SEEDS_OF_ORACLE, &[mutant, UNCHECKED]);
    let seed = found.as_ref().map(|found| found.seed);
    let otherwise = seed.and_then(|seed| member(swarm, seed).run(Options::default()).failure);
    Row { mutant: mutant.to_owned(), found, by_oracle, otherwise }
}

/// Every mutant that does harm, on all cores.
fn rows(swarm: &Swarm) -> Vec<Row> {
    let mutants = Mutant::read_all(Path::new(HOUSE)).unwrap();
    let harmful: Vec<&Mutant> = mutants.iter().filter(|mutant| mutant.harmless.is_none()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        while let Some(mutant) = harmful.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.push(row(swarm, &mutant.name));
        }
        rows
    };
    let jobs = thread::available_parallelism().map_or(1, Into::into);
    let mut rows: Vec<Row> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    rows.sort_by(|a, b| a.mutant.cmp(&b.mutant));
    rows
}

fn words(found: Option<&Found>, seeds: u64) -> String {
    found.map_or_else(
        || format!(">{seeds} |     |                 |"),
        |Found { seed, machines, file, failure }| {
            format!("{seed:4} | {machines:3} | {:15} | {file}", failure.invariant)
        },
    )
}

#[test]
fn the_swarm_finds_every_mutant() {
    mutated_copy::run("mutants", "the_swarm_finds_every_mutant", || {
        let rows = rows(&swarm());
        println!("{:26} | seed | machines | invariant | scenario | and by the oracle alone", "mutant");
        for Row { mutant, found, by_oracle, .. } in &rows {
            let (found, by_oracle) =
                (words(found.as_ref(), SEEDS), words(by_oracle.as_ref(), SEEDS_OF_ORACLE));
            println!("{mutant:26} | {found:56} | {by_oracle}");
        }
        let missed: Vec<&str> =
            rows.iter().filter(|row| row.found.is_none()).map(|row| &*row.mutant).collect();
        assert!(missed.is_empty(), "not found within {SEEDS} seeds: {missed:?}");
        for Row { mutant, found, otherwise, .. } in rows {
            assert_eq!(otherwise, None, "{mutant} is not what broke {found:?}");
        }
    });
}

/// An invariant bites: without the budget of the engine, the check after each turn finds that too many machines are admitted.
/// Without that check the oracle, which sees only the true state, finds that too many are being worked on.
#[test]
fn a_budget_that_is_not_checked_is_found() {
    mutated_copy::run("mutants", "a_budget_that_is_not_checked_is_found", || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fast/upgrade.yaml");
        let text = std::fs::read_to_string(file).unwrap();
        let scenario = Arc::new(Scenario::read("upgrade.yaml", &text).unwrap());
        let cases: [(&[&str], &str); 2] =
            [(&["budget-unchecked"], "admission"), (&["budget-unchecked", UNCHECKED], "budget")];
        for (mutants, invariant) in cases {
            let summary = with(mutants, || run(&scenario, Options::seeded(Some(Seed(7))), |_| {}));
            assert!(!summary.is_good());
            assert_eq!(summary.seed, 7);
            let found: Vec<&str> = summary.violations.iter().map(|breach| breach.invariant).collect();
            assert!(found.contains(&invariant), "{mutants:?}: {found:?}");
        }
    });
}
