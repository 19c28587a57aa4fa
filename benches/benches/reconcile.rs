//! The time to reconcile every machine of a fleet once: nothing to do, everything to do, and everything blocked.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use seaworthy_benches::{Case, SIZES, judge};

fn measure(criterion: &mut Criterion, case: Case) {
    let mut group = criterion.benchmark_group(format!("reconcile/{}", case.name));
    group.sample_size(10);
    for size in SIZES {
        let (engine, now) = case.engine(size);
        group.throughput(Throughput::Elements(u64::from(size)));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let run = |mut engine| (judge(&mut engine, now), engine);
            bencher.iter_batched(|| engine.clone(), run, BatchSize::PerIteration);
        });
    }
}

fn reconcile(criterion: &mut Criterion) {
    [Case::NO_OP, Case::DIFF, Case::BLOCKED].into_iter().for_each(|case| measure(criterion, case));
}

criterion_group!(benches, reconcile);
criterion_main!(benches);
