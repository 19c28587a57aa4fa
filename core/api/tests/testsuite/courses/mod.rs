//! Draws the courses of rollouts, and their strategies.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use seaworthy_model::component::Disruption;
use seaworthy_model::gate_check::{ProbePod, Query};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::strategy::{self, Course, Evidence, GateFailure, OnFailure, Undrainable};
use seaworthy_model::time::Timestamp;

pub(crate) fn instant() -> impl Strategy<Value = Timestamp> {
    (1..=253_402_300_799_u64).prop_map(|seconds| Timestamp::from_millis(seconds * 1000))
}

fn quantity() -> impl Strategy<Value = CountOrPercent> {
    prop_oneof![
        (0..=1_000_000_u32).prop_map(CountOrPercent::Count),
        (0..=100_u8).prop_map(CountOrPercent::Percent)
    ]
}

fn strategy() -> impl Strategy<Value = strategy::Strategy> {
    let quantities = (vec(quantity(), 0..5), option::of(quantity()), option::of(quantity()));
    let undrainable = prop_oneof![
        Just(Undrainable::Wait),
        quantity().prop_map(|at_most| Undrainable::Skip { at_most }),
        bake().prop_map(|after| Undrainable::Force { after }),
    ];
    let disruption = (option::of(0..Disruption::ALL.len()), undrainable);
    let checks = (option::of(query()), option::of(probe_pod()));
    let parts = (quantities, bake(), bake(), 0..OnFailure::ALL.len(), disruption, checks);
    parts.prop_map(
        |((batches, tolerance, confirm_above), first_bake, bake, on_failure, disruption, checks)| {
            strategy::Strategy {
                batches,
                first_bake,
                bake,
                tolerance,
                on_failure: OnFailure::ALL[on_failure],
                confirm_above,
                at_most: disruption.0.map(|class| Disruption::ALL[class]),
                undrainable: disruption.1,
                query: checks.0.map(Arc::new),
                probe_pod: checks.1.map(Arc::new),
            }
        },
    )
}

/// A duration that can be written.
fn bake() -> impl Strategy<Value = Duration> {
    (1..=31_536_000_u64).prop_map(Duration::from_secs)
}

fn query() -> impl Strategy<Value = Query> {
    let prefix = prop_oneof![Just(""), Just("/prometheus")];
    ("[a-z]{1,9}", 1..=u16::MAX, any::<bool>(), prefix, "[a-z0-9(){}=\"]{1,20}").prop_map(
        |(name, port, tls, path_prefix, expression)| Query {
            namespace: "monitoring".into(),
            service: name.into(),
            port,
            tls,
            path_prefix: path_prefix.into(),
            expression: expression.into(),
        },
    )
}

fn probe_pod() -> impl Strategy<Value = ProbePod> {
    ("[a-z./:0-9]{1,20}", 1..=ProbePod::MACHINES_MAX, bake()).prop_map(|(image, machines, within)| ProbePod {
        image: image.into(),
        machines,
        within,
    })
}

pub(crate) fn course() -> impl Strategy<Value = Course> {
    let failure = (instant(), any::<[u32; 9]>()).prop_map(|(at, counts)| {
        let [changed, failed, unavailable, silent, untouched, untouched_unavailable, ..] = counts;
        let [.., series, probes, unstarted] = counts;
        let evidence = Evidence {
            changed,
            failed,
            unavailable,
            silent,
            untouched,
            untouched_unavailable,
            series,
            probes,
            unstarted,
        };
        GateFailure { at, evidence }
    });
    let times = (option::of(instant()), option::of(instant()));
    (strategy(), (any::<[u32; 4]>(), any::<bool>()), times, option::of(failure)).prop_map(
        |(strategy, (numbers, catches_up), (done_at, reverted_at), failure)| {
            let [batch, excused, judged_before, batches_before] = numbers;
            let course = Course::new(strategy);
            let course = Course { batch, excused, judged_before, batches_before, catches_up, ..course };
            Course { done_at, failure, reverted_at, ..course }
        },
    )
}
