//! The time to simulate an upgrade with faults: the scenario of `make run`, with fewer machines and with all of them.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use seaworthy_benches::{scenario, simulate};

/// Machines. `benches/scaling` measures up to 100,000: ten runs of that size would take minutes.
const SIZES: [u32; 2] = [1_000, 10_000];

fn upgrade(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulate/upgrade");
    group.sample_size(10);
    for size in SIZES {
        let scenario = scenario("upgrade_10k", size);
        group.throughput(Throughput::Elements(simulate(&scenario).events));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| simulate(&scenario));
        });
    }
}

criterion_group!(benches, upgrade);
criterion_main!(benches);
