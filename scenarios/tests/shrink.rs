//! A planted bug: a failure with a thousand machines shrinks to a handful.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mutated_copy;

use std::path::Path;
use std::sync::Arc;

use seaworthy_fleet::plan::Document;
use seaworthy_fleet::shrink::shrink;
use seaworthy_fleet::{Options, ResolvedPlan, attempt, begin_noted};
use seaworthy_kernel::Seed;
use seaworthy_mutants::with;

/// The engine ignores its budget, and only the oracle, which sees the true state, notices.
const BROKEN: &[&str] = &["budget-unchecked", mutated_copy::UNCHECKED];

#[test]
fn a_failure_of_a_thousand_machines_becomes_one_of_a_handful() {
    mutated_copy::run("shrink", "a_failure_of_a_thousand_machines_becomes_one_of_a_handful", shrink_a_storm);
}

fn shrink_a_storm() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fast/storm.yaml");
    let mut document = Document::read("storm.yaml", &std::fs::read_to_string(file).unwrap()).unwrap();
    document.set_machines(1_000);
    let scenario = Arc::new(document.scenario("storm.yaml").unwrap());
    let mut world = begin_noted(scenario, Options::seeded(Some(Seed(1))));
    let failure = with(BROKEN, || attempt(&mut world)).failure.unwrap();
    assert_eq!(failure.invariant, "budget");
    let strikes = world.ledger().unwrap().strikes().to_vec();
    assert!(strikes.len() > 100, "{}", strikes.len());
    let plan = ResolvedPlan { scenario: document, seed: Seed(1), strikes };

    let shrunk = with(BROKEN, || shrink(plan, Options::default(), &mut |_| {})).unwrap();
    let (machines, left) = (shrunk.plan.scenario.machines(), shrunk.plan.strikes.len());
    println!("{machines} machines, {left} strikes, {} plans tried", shrunk.tried);
    assert!(machines <= 6 && left <= 3, "{}", shrunk.plan);

    // The written file fails in the same way, and only with the bug.
    let read = ResolvedPlan::read("shrunk.yaml", &shrunk.plan.to_string()).unwrap();
    let again = || attempt(&mut read.world("shrunk.yaml", Options::default()).unwrap()).failure;
    assert_eq!(with(BROKEN, again).unwrap().invariant, "budget");
    assert_ne!(again().map(|failure| failure.invariant).as_deref(), Some("budget"));
}
