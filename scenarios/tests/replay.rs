//! The resolved plan of every scenario replays its run: the plan contains every strike of a fault, random or triggered, and
//! nothing else.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use seaworthy_fleet::plan::Document;
use seaworthy_fleet::{Options, ResolvedPlan, begin_noted, conclude};
use seaworthy_kernel::Seed;

fn plans_replay(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut plans = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let file = path.display().to_string();
        let document = Document::read(&file, &std::fs::read_to_string(&path).unwrap()).unwrap();
        let scenario = Arc::new(document.scenario(&file).unwrap());
        let seed = Seed(scenario.seed);
        let mut world = begin_noted(scenario, Options::seeded(Some(seed)));
        let summary = conclude(&mut world, &mut |_| {});
        let strikes = world.ledger().unwrap().strikes().to_vec();
        let plan = ResolvedPlan { scenario: document, seed, strikes };
        let read = ResolvedPlan::read(&file, &plan.to_string()).unwrap();
        assert_eq!(read, plan, "{file}");
        let mut replay = read.world(&file, Options::default()).unwrap();
        assert_eq!(conclude(&mut replay, &mut |_| {}).trace_hash, summary.trace_hash, "{file}");
        assert_eq!(replay.ledger().unwrap().missed().count(), 0, "{file}");
        plans += 1;
    }
    assert!(plans > 0, "there is no scenario");
}

#[test]
fn plans_of_fast_scenarios_replay() {
    plans_replay("fast");
}

#[test]
fn plans_of_slow_scenarios_incidents_and_regressions_replay() {
    for folder in ["slow", "incidents", "regressions"] {
        plans_replay(folder);
    }
}
