//! How fast every machine of a fleet is judged once: nothing to do, everything to do, and everything held back.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use seaworthy_benches::{Fleet, SIZES};
use seaworthy_engine::Engine;
use seaworthy_model::effect::Target;
use seaworthy_model::quantity::CountOrPercent::{self, Count, Percent};
use seaworthy_model::report::WakeReason;
use seaworthy_model::time::Timestamp;

/// What came of judging everything that was in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Judged {
    subjects: u32,
    orders: usize,
}

/// Reconciles until nothing is left to be looked at. The actions are not executed.
fn judge(engine: &mut Engine, now: Timestamp) -> Judged {
    let mut judged = Judged::default();
    loop {
        let turn = engine.reconcile(now);
        judged.subjects += turn.report.reconciled;
        judged.orders +=
            turn.actions.iter().filter(|action| matches!(action.target, Target::Host(_))).count();
        if turn.wake.is_none_or(|wake| wake.reason != WakeReason::MoreWork) {
            return judged;
        }
    }
}

/// A reason to look at every machine of a settled fleet, and what has to come of it.
struct Case {
    name: &'static str,
    max_unavailable: CountOrPercent,
    edit: fn(&mut Fleet),
    /// How many orders to hosts must come of it, so that the benchmark measures what it claims.
    orders: fn(u32) -> u32,
}

const NO_OP: Case =
    Case { name: "reconcile/no_op", max_unavailable: Percent(100), edit: Fleet::touch, orders: |_| 0 };
const DIFF: Case =
    Case { name: "reconcile/diff", max_unavailable: Percent(100), edit: Fleet::pin, orders: |size| size };
const BLOCKED: Case =
    Case { name: "reconcile/blocked", max_unavailable: Count(1), edit: Fleet::pin, orders: |_| 1 };

fn measure(criterion: &mut Criterion, case: &Case) {
    let mut group = criterion.benchmark_group(case.name);
    group.sample_size(10);
    for size in SIZES {
        let (mut fleet, mut engine) = Fleet::settled(size, case.max_unavailable);
        (case.edit)(&mut fleet);
        fleet.machines().into_iter().for_each(|event| engine.observe(event));
        let judged = judge(&mut engine.clone(), fleet.now);
        assert!(judged.subjects >= size, "{} at {size}: {judged:?}", case.name);
        assert_eq!(judged.orders, (case.orders)(size) as usize, "{} at {size}: {judged:?}", case.name);
        group.throughput(Throughput::Elements(u64::from(size)));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let run = |mut engine: Engine| (judge(&mut engine, fleet.now), engine);
            bencher.iter_batched(|| engine.clone(), run, BatchSize::PerIteration);
        });
    }
}

fn reconcile(criterion: &mut Criterion) {
    [NO_OP, DIFF, BLOCKED].iter().for_each(|case| measure(criterion, case));
}

criterion_group!(benches, reconcile);
criterion_main!(benches);
