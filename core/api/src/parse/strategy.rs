//! The strategy of rollouts, and the course of one as we recorded it.

use core::time::Duration;
use std::sync::Arc;

use seaworthy_model::component::Disruption;
use seaworthy_model::gate_check::{ProbePod, Query};
use seaworthy_model::package_version::Resume;
use seaworthy_model::strategy::{Course, Evidence, GateFailure, OnFailure, Strategy, Undrainable};

use super::faults::{Faults, Field};
use super::package_version::count_or_percent;
use super::text;
use crate::names::Names;
use crate::v1alpha1;

/// The words for what a gate that fails may lead to.
const ON_FAILURE: &str = "must be Pause or RollBack";

/// The classes of disruption.
const AT_MOST: &str = "must be None, Reload, Restart, Drain or Reboot";

/// The most characters of a PromQL expression.
const EXPRESSION_MAX: usize = 2048;

/// The most characters of the name of an image.
const IMAGE_MAX: usize = 512;

/// What a duration must be.
const DURATION: &str = "must be a duration from 1s to 8760h, such as 24h or 1h30m";

/// Reads a strategy. The result is not used if there is a fault.
pub(super) fn strategy(field: Field<'_>, read: &v1alpha1::Strategy, faults: &mut Faults) -> Strategy {
    let batches = field.name("batches");
    faults.at_most(batches, read.batches.len(), Strategy::BATCHES_MAX);
    let mut duration = |name: &str, text: &str| {
        text::duration(text).unwrap_or_else(|| {
            faults.add(field.name(name), DURATION);
            Duration::ZERO
        })
    };
    let first_bake = duration("firstBakeTime", &read.first_bake_time);
    let bake = duration("bakeTime", &read.bake_time);
    let each = read.batches.iter().enumerate();
    let batches = each.map(|(index, batch)| count_or_percent(batches.index(index), batch, faults)).collect();
    let tolerance = read.tolerance.as_ref();
    let tolerance = tolerance.map(|tolerance| count_or_percent(field.name("tolerance"), tolerance, faults));
    let confirm_above = read.confirm_above.as_ref();
    let confirm_above =
        confirm_above.map(|above| count_or_percent(field.name("confirmAbove"), above, faults));
    let on_failure = OnFailure::ALL.into_iter().find(|known| known.name() == read.on_failure);
    faults.require(field.name("onFailure"), on_failure.is_some(), ON_FAILURE);
    let on_failure = on_failure.unwrap_or_default();
    let (at_most, undrainable) = match &read.disruption {
        Some(read) => disruption(field.name("disruption"), read, faults),
        None => (None, Undrainable::default()),
    };
    let query = read.query.as_ref().map(|read| query(field.name("query"), read, faults));
    let probe_pod = read.probe_pod.as_ref().map(|read| probe_pod(field.name("probePod"), read, faults));
    Strategy {
        batches,
        first_bake,
        bake,
        tolerance,
        on_failure,
        confirm_above,
        at_most,
        undrainable,
        query,
        probe_pod,
    }
}

/// Reads what a gate asks a Prometheus.
fn query(field: Field<'_>, read: &v1alpha1::GateQuery, faults: &mut Faults) -> Arc<Query> {
    faults.require(field.name("namespace"), text::is_label(&read.namespace), text::LABEL);
    faults.require(field.name("service"), text::is_label(&read.service), text::LABEL);
    let port = u16::try_from(read.port).ok().filter(|port| *port > 0);
    faults.require(field.name("port"), port.is_some(), "must be a number from 1 to 65535");
    let is_scheme = matches!(read.scheme.as_str(), "http" | "https");
    faults.require(field.name("scheme"), is_scheme, "must be http or https");
    let is_path = read.path_prefix.as_deref().is_none_or(text::is_absolute_path);
    faults.require(field.name("pathPrefix"), is_path, &text::absolute_path_words());
    let is_expression = (1..=EXPRESSION_MAX).contains(&read.expression.chars().count());
    faults.require(field.name("expression"), is_expression, "must have 1 to 2048 characters");
    Arc::new(Query {
        namespace: read.namespace.as_str().into(),
        service: read.service.as_str().into(),
        port: port.unwrap_or_default(),
        tls: read.scheme == "https",
        path_prefix: read.path_prefix.as_deref().unwrap_or_default().into(),
        expression: read.expression.as_str().into(),
    })
}

/// Reads which pods have to start before a gate passes.
fn probe_pod(field: Field<'_>, read: &v1alpha1::ProbePod, faults: &mut Faults) -> Arc<ProbePod> {
    let is_image = (1..=IMAGE_MAX).contains(&read.image.chars().count());
    faults.require(field.name("image"), is_image, "must have 1 to 512 characters");
    let machines = u32::try_from(read.machines).ok();
    let machines = machines.filter(|machines| (1..=ProbePod::MACHINES_MAX).contains(machines));
    faults.require(field.name("machines"), machines.is_some(), "must be a number from 1 to 16");
    let within = text::duration(&read.within);
    faults.require(field.name("within"), within.is_some(), DURATION);
    Arc::new(ProbePod {
        image: read.image.as_str().into(),
        machines: machines.unwrap_or(ProbePod::MACHINES),
        within: within.unwrap_or(ProbePod::WITHIN),
    })
}

/// Reads what a rollout may do to workloads.
fn disruption(
    field: Field<'_>,
    read: &v1alpha1::RolloutDisruption,
    faults: &mut Faults,
) -> (Option<Disruption>, Undrainable) {
    let at_most = read.at_most.as_deref().and_then(Disruption::from_name);
    faults.require(field.name("atMost"), read.at_most.is_some() == at_most.is_some(), AT_MOST);
    let skip = read.skip_at_most.as_ref();
    let skip = skip.map(|skip| count_or_percent(field.name("skipAtMost"), skip, faults));
    let after = read.force_after.as_deref().map(|text| {
        text::duration(text).unwrap_or_else(|| {
            faults.add(field.name("forceAfter"), DURATION);
            Duration::ZERO
        })
    });
    let (skips, forces) = (read.undrainable == "Skip", read.undrainable == "Force");
    faults.require(field.name("skipAtMost"), skips || skip.is_none(), "is only for undrainable: Skip");
    faults.require(field.name("forceAfter"), forces || after.is_none(), "is only for undrainable: Force");
    let undrainable = match (read.undrainable.as_str(), skip, after) {
        ("Wait", ..) => Undrainable::Wait,
        ("Skip", Some(at_most), _) => Undrainable::Skip { at_most },
        ("Skip", None, _) => Undrainable::default(),
        ("Force", _, Some(after)) => Undrainable::Force { after },
        ("Force", _, None) => {
            faults.add(field.name("forceAfter"), "is required for undrainable: Force, such as 1h");
            Undrainable::default()
        }
        _ => {
            faults.add(field.name("undrainable"), "must be Wait, Skip or Force");
            Undrainable::default()
        }
    };
    (at_most, undrainable)
}

/// Reads the course of a rollout; `None` if a part is unreadable.
pub(super) fn course(read: &v1alpha1::CourseStatus) -> Option<Course> {
    let mut faults = Faults::default();
    let strategy = strategy(Field::root("strategy"), &read.strategy, &mut faults);
    let time = |written: &Option<crate::scalar::Time>| match written {
        Some(at) => at.get().map(Some),
        None => Some(None),
    };
    Some(Course {
        strategy: faults.result(Some(strategy)).ok()?,
        batch: u32::try_from(read.batch).ok()?,
        done_at: time(&read.done_at)?,
        failure: match &read.failed_gate {
            Some(gate) => Some(failure(gate)?),
            None => None,
        },
        excused: u32::try_from(read.excused).ok()?,
        judged_before: u32::try_from(read.judged_before).ok()?,
        batches_before: u32::try_from(read.batches_before).ok()?,
        catches_up: read.catches_up,
        reverted_at: time(&read.reverted_at)?,
    })
}

fn failure(read: &v1alpha1::GateStatus) -> Option<GateFailure> {
    let count = |written: i64| u32::try_from(written).unwrap_or_default();
    Some(GateFailure {
        at: read.at.get()?,
        evidence: Evidence {
            changed: count(read.changed),
            failed: count(read.failed),
            unavailable: count(read.unavailable),
            silent: count(read.silent),
            untouched: count(read.untouched),
            untouched_unavailable: count(read.untouched_unavailable),
            series: count(read.series),
            probes: count(read.probes),
            unstarted: count(read.unstarted),
        },
    })
}

/// The gate that a person overrides: `webd/7/2`. Nonsense is none: the condition `GateFailed` stays, and says what to write.
pub(super) fn resume(text: &str, names: &mut Names) -> Option<Resume> {
    let mut parts = text.trim().split('/');
    let (component, generation, batch) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && !component.is_empty() && component.len() <= 63;
    let (generation, batch) = (generation.parse().ok()?, batch.parse().ok()?);
    is_whole.then(|| Resume { component: names.component(component), generation, batch })
}
