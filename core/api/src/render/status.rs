//! Statuses. Lists are sorted by name, so that the same state is the same text, whichever process writes it.

use std::sync::Arc;

use seaworthy_model::component::{VersionCondition, VersionStatus};
use seaworthy_model::component_set::PickResult;
use seaworthy_model::id::{ComponentId, Interned as _};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{ComponentStatus, Condition, ConditionKind, Identity, MachineStatus, Want};
use seaworthy_model::package_version::{
    Begun, Deferred, FleetCondition, PackageVersionStatus, Past, Rollout,
};

use super::course::course;
use super::detail::{detail, fleet_detail, version_detail};
use super::recent::Written;
use super::{fleet_words, kstatus, version_words, words};
use crate::names::{Names, UnknownId};
use crate::v1alpha1;

/// Longest text of `status.installed`, in bytes.
const INSTALLED_MAX: usize = 32_768;

/// The status of a Machine as an API object.
///
/// # Errors
/// When an id is not in `names`.
pub fn machine_status(
    status: &MachineStatus,
    names: &mut Names,
) -> Result<v1alpha1::MachineStatus, UnknownId> {
    let list = &status.components;
    let Written { components, installed } = match names.lists_written.get(list) {
        Some(written) => written,
        None => {
            let written = write_components(list, names)?;
            names.lists_written.put(Arc::clone(list), written.clone());
            written
        }
    };
    let ready = status.conditions.get(ConditionKind::Ready);
    Ok(v1alpha1::MachineStatus {
        observed_generation: signed(status.observed_generation),
        reason: ready.map(|ready| words::reason(ready.reason).into()).unwrap_or_default(),
        identity: status.identity.as_ref().map(identity),
        installed,
        components,
        conditions: status
            .conditions
            .iter()
            .map(condition)
            .chain(kstatus::of_machine(&status.conditions))
            .collect(),
    })
}

/// The identity of a host.
pub(crate) fn identity(identity: &Identity) -> v1alpha1::Identity {
    v1alpha1::Identity {
        machine_id: identity.host.into(),
        host_key: identity.host_key.clone(),
        architecture: identity.architecture.name().into(),
        cgroup_version: identity.cgroup_version.map(|version| version.name().into()),
    }
}

fn write_components(list: &[ComponentStatus], names: &Names) -> Result<Written, UnknownId> {
    let components = list.iter().map(|component| component_status(component, names));
    let mut components: Vec<_> = components.collect::<Result<_, _>>()?;
    components.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Written { installed: installed(&components).into(), components: components.into() })
}

/// Kubernetes counts in signed numbers.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn component_status(status: &ComponentStatus, names: &Names) -> Result<v1alpha1::ComponentStatus, UnknownId> {
    let version = |id| names.version_text(status.component, id).map(Arc::from);
    let failed = status.failed.as_ref().map(|failed| {
        Ok(v1alpha1::FailedRelease {
            version: version(failed.version)?,
            release: failed.release.0.into(),
            reason: failed.cause.name().into(),
        })
    });
    Ok(v1alpha1::ComponentStatus {
        name: names.component_name(status.component)?.into(),
        version: status.installed.map(|installed| version(installed.version)).transpose()?,
        release: status.installed.map(|installed| installed.release.0.into()),
        failed: failed.transpose()?,
        set: status.set.map(|set| names.name(set.named()).map(Arc::from)).transpose()?,
    })
}

/// What is installed, in one line.
fn installed(components: &[v1alpha1::ComponentStatus]) -> String {
    let pairs = components.iter().filter_map(|component| {
        component.version.as_ref().map(|version| format!("{}={version}", component.name))
    });
    let mut line = pairs.collect::<Vec<_>>().join(",");
    if line.len() > INSTALLED_MAX {
        line.truncate(INSTALLED_MAX);
    }
    line
}

pub(super) fn condition(condition: &Condition) -> v1alpha1::Condition {
    let detail = condition.detail.as_deref().map(detail).unwrap_or_default();
    v1alpha1::Condition {
        r#type: words::kind(condition.kind).into(),
        status: words::truth(condition.truth).into(),
        reason: words::reason(condition.reason).into(),
        message: words::message(words::explanation(condition.reason), &detail),
        last_transition_time: condition.since.whole_seconds().into(),
        observed_generation: signed(condition.observed_generation),
    }
}

/// The status of the `ClusterPackageVersion` as an API object.
///
/// # Errors
/// When an id is not in `names`.
pub fn package_version_status(
    status: &PackageVersionStatus,
    names: &Names,
) -> Result<v1alpha1::ClusterPackageVersionStatus, UnknownId> {
    let rollouts = status.rollouts.iter().map(|read| rollout(read, names));
    let mut rollouts: Vec<_> = rollouts.collect::<Result<_, _>>()?;
    rollouts.sort_by(|a, b| a.component.cmp(&b.component));
    Ok(v1alpha1::ClusterPackageVersionStatus {
        observed_generation: signed(status.observed_generation),
        epoch: (status.epoch != Epoch::VACANT).then(|| i64::from(status.epoch.0)),
        rollouts,
        conditions: status
            .conditions
            .iter()
            .map(fleet_condition)
            .chain(kstatus::of_fleet(&status.conditions))
            .collect(),
        begun: status.begun.iter().map(begun).collect(),
        history: status.history.iter().map(|read| past(read, names)).collect::<Result<_, _>>()?,
    })
}

/// The status of a `CanaryRelease` as an API object.
///
/// # Errors
/// When an id in it was never named.
pub fn canary_status(
    status: &PackageVersionStatus,
    names: &Names,
) -> Result<v1alpha1::CanaryReleaseStatus, UnknownId> {
    let machines = status.picked.iter().map(|picked| {
        let name = names.machine_name(picked.machine)?.to_owned();
        Ok(v1alpha1::CanaryMachine { name, result: pick_result(picked.result).into() })
    });
    let machines = machines.collect::<Result<_, _>>()?;
    Ok(v1alpha1::CanaryReleaseStatus { record: package_version_status(status, names)?, machines })
}

/// The word for what became of a machine.
pub(crate) const fn pick_result(result: PickResult) -> &'static str {
    match result {
        PickResult::Waiting => "Waiting",
        PickResult::Updating => "Updating",
        PickResult::Updated => "Updated",
        PickResult::Failed => "Failed",
        PickResult::Unavailable => "Unavailable",
    }
}

fn begun(begun: &Begun) -> v1alpha1::BegunStatus {
    v1alpha1::BegunStatus {
        domain: (*begun.domain).into(),
        value: (*begun.value).into(),
        since: begun.since.whole_seconds().into(),
        machines: i64::from(begun.machines),
    }
}

fn want(component: ComponentId, want: &Want, names: &Names) -> Result<v1alpha1::WantStatus, UnknownId> {
    match want {
        Want::Present { version, parameters } => Ok(v1alpha1::WantStatus {
            state: "Present".into(),
            version: Some(names.version_text(component, *version)?.into()),
            parameters: parameters.clone(),
        }),
        Want::Absent => Ok(v1alpha1::WantStatus { state: "Absent".into(), ..Default::default() }),
    }
}

fn past(past: &Past, names: &Names) -> Result<v1alpha1::PastStatus, UnknownId> {
    let (total, updated) = past.progress;
    Ok(v1alpha1::PastStatus {
        component: names.component_name(past.component)?.into(),
        generation: signed(past.generation),
        to: want(past.component, &past.to, names)?,
        end: past.end.name().into(),
        total: i64::from(total),
        updated: i64::from(updated),
        cause: past.cause.as_deref().map(String::from),
        by: past.by.as_deref().map(String::from),
        started_at: past.started_at.whole_seconds().into(),
        replaced_at: past.replaced_at.whole_seconds().into(),
    })
}

fn rollout(rollout: &Rollout, names: &Names) -> Result<v1alpha1::RolloutStatus, UnknownId> {
    let want = |it: &Want| want(rollout.component, it, names);
    let superseded = rollout.superseded.iter().map(|superseded| {
        Ok(v1alpha1::SupersededStatus {
            generation: signed(superseded.generation),
            to: want(&superseded.to)?,
            granted: ranks(&superseded.granted),
        })
    });
    let progress = &rollout.progress;
    Ok(v1alpha1::RolloutStatus {
        component: names.component_name(rollout.component)?.into(),
        generation: signed(rollout.generation),
        from: rollout.from.as_ref().map(want).transpose()?,
        to: want(&rollout.to)?,
        admitted_below: i64::from(rollout.admitted_below),
        granted: rollout.granted.as_deref().map(ranks),
        superseded: superseded.collect::<Result<_, _>>()?,
        course: rollout.course.as_ref().map(course),
        cause: rollout.cause.as_deref().map(String::from),
        by: rollout.by.as_deref().map(String::from),
        total: i64::from(progress.total),
        updated: i64::from(progress.updated),
        at_work: i64::from(progress.at_work),
        failed: i64::from(progress.failed),
        lost: i64::from(progress.lost),
        deferred: progress.deferred.iter().map(deferred).collect(),
        started_at: rollout.started_at.whole_seconds().into(),
        completed_at: rollout.completed_at.map(|at| at.whole_seconds().into()),
    })
}

fn ranks(ranks: &[u32]) -> Vec<i64> {
    ranks.iter().copied().map(i64::from).collect()
}

fn deferred(deferred: &Deferred) -> v1alpha1::DeferredStatus {
    v1alpha1::DeferredStatus {
        reason: fleet_words::deferral(deferred.reason).into(),
        machines: i64::from(deferred.machines),
    }
}

/// A condition of an owner of rollouts as an API object.
#[must_use]
pub fn fleet_condition(condition: &FleetCondition) -> v1alpha1::Condition {
    let detail = condition.detail.as_ref().map(fleet_detail).unwrap_or_default();
    v1alpha1::Condition {
        r#type: fleet_words::kind(condition.kind).into(),
        status: words::truth(condition.truth).into(),
        reason: fleet_words::reason(condition.reason).into(),
        message: words::message(fleet_words::explanation(condition.reason), &detail),
        last_transition_time: condition.since.whole_seconds().into(),
        observed_generation: signed(condition.observed_generation),
    }
}

/// The status of a `MachineComponent` as an API object.
#[must_use]
pub fn version_status(status: &VersionStatus) -> v1alpha1::MachineComponentStatus {
    let conditions = status.conditions.iter().map(version_condition);
    v1alpha1::MachineComponentStatus {
        observed_generation: signed(status.observed_generation),
        conditions: conditions.chain(kstatus::of_version(&status.conditions)).collect(),
    }
}

pub(super) fn version_condition(condition: &VersionCondition) -> v1alpha1::Condition {
    let detail = condition.detail.as_ref().map(version_detail).unwrap_or_default();
    v1alpha1::Condition {
        r#type: version_words::kind(condition.kind).into(),
        status: words::truth(condition.truth).into(),
        reason: version_words::reason(condition.reason).into(),
        message: words::message(version_words::explanation(condition.reason), &detail),
        last_transition_time: condition.since.whole_seconds().into(),
        observed_generation: signed(condition.observed_generation),
    }
}
