//! Whole runs of the simulator.

use std::path::Path;
use std::sync::Arc;

use seaworthy_fleet::{Options, Scenario, Summary, run};

/// A scenario of `scenarios/scale` with the given number of machines.
///
/// # Panics
/// There is no such scenario.
#[must_use]
pub fn scenario(name: &str, machines: u32) -> Arc<Scenario> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../scenarios/scale/{name}.yaml"));
    let file = path.display().to_string();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let scenario = Scenario::read(&file, &text).and_then(|scenario| scenario.with_machines(&file, machines));
    Arc::new(scenario.unwrap_or_else(|error| panic!("{error}")))
}

/// One run, which must succeed: a run that ends early would look fast.
///
/// # Panics
/// The run does not succeed.
#[must_use]
pub fn simulate(scenario: &Arc<Scenario>) -> Summary {
    let summary = run(scenario, Options::default(), |_| {});
    assert!(summary.is_good(), "{summary:?}");
    summary
}
