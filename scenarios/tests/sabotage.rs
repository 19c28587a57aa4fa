//! The engine is broken on purpose, in one place after the other, and the swarm finds each of them: as a rule within a
//! few seeds. Nothing is made for any of them: these are the ordinary members of the swarm, in the order of their seeds,
//! and each of those that fail holds when nothing is broken.
//!
//! The table tells for each where it was found: with the checks after each turn, which see what the engine believes, and
//! by the oracle alone, which sees what is true. What only the checks see did no harm in any of these histories.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod members;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use members::{member, swarm};
use seaworthy_fleet::swarm::Swarm;
use seaworthy_fleet::{Broken, Failure, Options, Sabotage};

/// Within so many seeds each is found.
const SEEDS: u64 = 500;
/// So many seeds are tried without the checks. It is for the table only.
const SEEDS_OF_ORACLE: u64 = 200;

/// Where a breakage was found first.
#[derive(Clone, Debug)]
struct Found {
    seed: u64,
    machines: u32,
    file: String,
    failure: Failure,
}

/// What came of one switch.
struct Row {
    engine: Sabotage,
    found: Option<Found>,
    by_oracle: Option<Found>,
    /// What is wrong with the member that found it when nothing is broken.
    otherwise: Option<Failure>,
}

fn find(swarm: &Swarm, seeds: u64, broken: Broken) -> Option<Found> {
    (1..=seeds).find_map(|seed| {
        let member = member(swarm, seed);
        let failure = member.run(Options { sabotage: Some(broken), ..Options::default() }).failure?;
        Some(Found { seed, machines: member.machines(), file: member.file, failure })
    })
}

fn row(swarm: &Swarm, engine: Sabotage) -> Row {
    let found = find(swarm, SEEDS, Broken { engine, unchecked: false });
    let by_oracle = find(swarm, SEEDS_OF_ORACLE, Broken { engine, unchecked: true });
    let seed = found.as_ref().map(|found| found.seed);
    let otherwise = seed.and_then(|seed| member(swarm, seed).run(Options::default()).failure);
    Row { engine, found, by_oracle, otherwise }
}

/// Every switch, over all cores.
fn rows(swarm: &Swarm) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        while let Some(&engine) = Sabotage::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.push(row(swarm, engine));
        }
        rows
    };
    let jobs = thread::available_parallelism().map_or(1, Into::into);
    let mut rows: Vec<Row> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    rows.sort_by_key(|row| row.engine);
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
fn the_swarm_finds_every_way_in_which_the_engine_is_broken() {
    let rows = rows(&swarm());
    println!("{:24} | seed | machines | invariant | scenario | and by the oracle alone", "sabotage");
    for Row { engine, found, by_oracle, .. } in &rows {
        let (name, found) = (format!("{engine:?}"), words(found.as_ref(), SEEDS));
        println!("{name:24} | {found:56} | {}", words(by_oracle.as_ref(), SEEDS_OF_ORACLE));
    }
    let missed: Vec<Sabotage> = rows.iter().filter(|row| row.found.is_none()).map(|row| row.engine).collect();
    assert!(missed.is_empty(), "not found within {SEEDS} seeds: {missed:?}");
    for Row { engine, found, otherwise, .. } in rows {
        assert_eq!(otherwise, None, "{engine:?} is not what broke {found:?}");
    }
}
