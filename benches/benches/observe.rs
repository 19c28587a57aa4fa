//! The time to observe: a list into an empty engine, and the same Machines again into a settled one.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use seaworthy_benches::{Fleet, SIZES};
use seaworthy_engine::Engine;
use seaworthy_model::event::Event;
use seaworthy_model::quantity::CountOrPercent::Percent;

fn observe((mut engine, events): (Engine, Vec<Event>)) -> Engine {
    for event in events {
        engine.observe(event);
    }
    engine
}

fn list(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe/list");
    group.sample_size(10);
    for size in SIZES {
        let fleet = Fleet::new(size);
        let events = fleet.list();
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_batched(|| (fleet.engine(), events.clone()), observe, BatchSize::PerIteration);
        });
    }
}

fn again(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe/again");
    group.sample_size(10);
    for size in SIZES {
        let (mut fleet, engine) = Fleet::settled(size, Percent(100));
        fleet.touch();
        let events = fleet.machines();
        group.throughput(Throughput::Elements(u64::from(size)));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_batched(|| (engine.clone(), events.clone()), observe, BatchSize::PerIteration);
        });
    }
}

criterion_group!(benches, list, again);
criterion_main!(benches);
