//! The course of a rollout.

use core::time::Duration;

use seaworthy_model::gate_check::{ProbePod, Query};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::strategy::{Course, GateFailure, Strategy, Undrainable};

use crate::v1alpha1::{self, IntOrString};

/// The course of a rollout as an API object.
pub(super) fn course(course: &Course) -> v1alpha1::CourseStatus {
    v1alpha1::CourseStatus {
        strategy: strategy(&course.strategy),
        batch: i64::from(course.batch),
        done_at: course.done_at.map(|at| at.whole_seconds().into()),
        failed_gate: course.failure.as_ref().map(failure),
        excused: i64::from(course.excused),
        judged_before: i64::from(course.judged_before),
        batches_before: i64::from(course.batches_before),
        catches_up: course.catches_up,
        reverted_at: course.reverted_at.map(|at| at.whole_seconds().into()),
    }
}

fn strategy(strategy: &Strategy) -> v1alpha1::Strategy {
    v1alpha1::Strategy {
        batches: strategy.batches.iter().copied().map(quantity).collect(),
        first_bake_time: duration(strategy.first_bake),
        bake_time: duration(strategy.bake),
        tolerance: strategy.tolerance.map(quantity),
        on_failure: strategy.on_failure.name().into(),
        confirm_above: strategy.confirm_above.map(quantity),
        disruption: disruption(strategy),
        query: strategy.query.as_deref().map(query),
        probe_pod: strategy.probe_pod.as_deref().map(probe_pod),
    }
}

fn query(query: &Query) -> v1alpha1::GateQuery {
    v1alpha1::GateQuery {
        namespace: query.namespace.as_ref().into(),
        service: query.service.as_ref().into(),
        port: query.port.into(),
        scheme: if query.tls { "https" } else { "http" }.into(),
        path_prefix: Some(query.path_prefix.as_ref()).filter(|prefix| !prefix.is_empty()).map(Into::into),
        expression: query.expression.as_ref().into(),
    }
}

fn probe_pod(pod: &ProbePod) -> v1alpha1::ProbePod {
    v1alpha1::ProbePod {
        image: pod.image.as_ref().into(),
        machines: pod.machines.into(),
        within: duration(pod.within),
    }
}

/// What a rollout may do to workloads, if that is not what it may by default.
fn disruption(strategy: &Strategy) -> Option<v1alpha1::RolloutDisruption> {
    let (undrainable, skip_at_most, force_after) = match strategy.undrainable {
        Undrainable::Wait => ("Wait", None, None),
        Undrainable::Skip { at_most } => ("Skip", Some(quantity(at_most)), None),
        Undrainable::Force { after } => ("Force", None, Some(duration(after))),
    };
    let is_default = strategy.at_most.is_none() && strategy.undrainable == Undrainable::default();
    (!is_default).then(|| v1alpha1::RolloutDisruption {
        at_most: strategy.at_most.map(|class| class.name().into()),
        undrainable: undrainable.into(),
        skip_at_most,
        force_after,
    })
}

fn quantity(quantity: CountOrPercent) -> IntOrString {
    match quantity {
        CountOrPercent::Count(count) => IntOrString::Int(i64::from(count)),
        CountOrPercent::Percent(_) => IntOrString::String(quantity.to_string()),
    }
}

/// `1h30m`: without what is zero.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}

fn failure(failure: &GateFailure) -> v1alpha1::GateStatus {
    let evidence = &failure.evidence;
    v1alpha1::GateStatus {
        at: failure.at.whole_seconds().into(),
        changed: i64::from(evidence.changed),
        failed: i64::from(evidence.failed),
        unavailable: i64::from(evidence.unavailable),
        silent: i64::from(evidence.silent),
        untouched: i64::from(evidence.untouched),
        untouched_unavailable: i64::from(evidence.untouched_unavailable),
        series: i64::from(evidence.series),
        probes: i64::from(evidence.probes),
        unstarted: i64::from(evidence.unstarted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        let texts = [5400, 600, 31_536_000, 3661].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(texts, ["1h30m", "10m", "8760h", "1h1m1s"]);
    }
}
