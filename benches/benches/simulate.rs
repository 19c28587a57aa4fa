//! How fast the simulator upgrades a fleet, faults included: the scenario of `make run` with fewer machines and with all.

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use seaworthy_fleet::{Options, Scenario, Summary, run};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/scale/upgrade_10k.yaml");

/// Machines. The scaling up to 100,000 is measured by the scenarios, once: ten runs would take minutes.
const SIZES: [u32; 2] = [1_000, 10_000];

fn scenario(machines: u32) -> Arc<Scenario> {
    let text = std::fs::read_to_string(SCENARIO).unwrap_or_else(|error| panic!("{SCENARIO}: {error}"));
    let scenario =
        Scenario::read(SCENARIO, &text).and_then(|scenario| scenario.with_machines(SCENARIO, machines));
    Arc::new(scenario.unwrap_or_else(|error| panic!("{error}")))
}

/// One run, which must succeed: a run that is broken off early would look fast.
fn upgrade(scenario: &Arc<Scenario>) -> Summary {
    let summary = run(scenario, Options::default(), |_| {});
    assert!(summary.is_good(), "{summary:?}");
    summary
}

fn simulate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulate/upgrade");
    group.sample_size(10);
    for size in SIZES {
        let scenario = scenario(size);
        group.throughput(Throughput::Elements(upgrade(&scenario).events));
        group
            .bench_function(BenchmarkId::from_parameter(size), |bencher| bencher.iter(|| upgrade(&scenario)));
    }
}

criterion_group!(benches, simulate);
criterion_main!(benches);
