//! A status that we wrote, read back. An entry that cannot be read counts as absent: then the engine reads the host
//! again, which is always safe, and writes the status again.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{
    Architecture, CgroupVersion, ReleaseId, VersionCondition, VersionConditionKind, VersionStatus,
};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{
    ComponentStatus, Condition, FailedRelease, Identity, Installed, MachineStatus, Truth, Want,
};
use seaworthy_model::package_version::{
    Begun, DeferralReason, Deferred, End, FleetCondition, PackageVersionStatus, Past, Progress, Rollout,
    Superseded,
};

use super::detail::{machine_detail, package_version_detail, version_detail};
use super::strategy::course;
use crate::names::Names;
use crate::render::default_status::is_by_default;
use crate::render::{fleet_words, version_words, words};
use crate::scalar::Scalar;
use crate::v1alpha1;

/// Reads the status of a Machine.
#[must_use]
pub fn machine_status(status: &v1alpha1::MachineStatus, names: &mut Names) -> MachineStatus {
    let components = component_statuses(&status.components, names);
    MachineStatus {
        observed_generation: unsigned(status.observed_generation),
        identity: status.identity.as_ref().and_then(identity),
        components,
        conditions: names.conditions.share(status.conditions.iter().filter_map(condition).collect()),
    }
}

/// Reads the recorded components. Most machines of a fleet have the same list and share it; where even what is read is shared,
/// it is read once.
fn component_statuses(list: &Arc<[v1alpha1::ComponentStatus]>, names: &mut Names) -> Arc<[ComponentStatus]> {
    if let Some(known) = names.component_lists.get(list) {
        return known;
    }
    let named = list.iter().filter(|component| !component.name.is_empty());
    let read = named.map(|component| component_status(component, names)).collect();
    let read = names.lists.share(in_order(read, |component| component.component));
    names.component_lists.put(Arc::clone(list), Arc::clone(&read));
    read
}

/// Sorts by key; of several entries with the same key the last one counts. Lists are short and nearly always in order
/// already: a map would cost two allocations of a kilobyte for each status that is read.
fn in_order<T, K: Ord>(mut list: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    if !list.is_sorted_by(|a, b| key(a) < key(b)) {
        list.reverse();
        list.sort_by_key(&key);
        list.dedup_by(|later, first| key(later) == key(first));
    }
    list
}

/// We never write a negative number.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The identity of a host; `None` if it cannot be read.
pub(crate) fn identity(identity: &v1alpha1::Identity) -> Option<Identity> {
    let host = identity.machine_id.get()?;
    let architecture = Architecture::ALL.into_iter().find(|known| known.name() == identity.architecture)?;
    let cgroup_version = identity.cgroup_version.as_deref();
    let cgroup_version = CgroupVersion::ALL.into_iter().find(|known| Some(known.name()) == cgroup_version);
    Some(Identity { host, host_key: identity.host_key.clone(), architecture, cgroup_version })
}

fn component_status(status: &v1alpha1::ComponentStatus, names: &mut Names) -> ComponentStatus {
    let component = names.component(&status.name);
    let installed = match (&status.version, status.release.as_ref().and_then(Scalar::get)) {
        (Some(version), Some(release)) => {
            Some(Installed { version: names.version(&status.name, version), release: ReleaseId(release) })
        }
        _ => None,
    };
    let failed = status.failed.as_ref().and_then(|failed| {
        let release = ReleaseId(failed.release.get()?);
        let cause = CauseKind::from_name(&failed.reason)?;
        let version = names.version(&status.name, &failed.version);
        Some(Box::new(FailedRelease { version, release, cause }))
    });
    let set = status.set.as_deref().filter(|set| !set.is_empty()).map(|set| names.id(set));
    ComponentStatus { component, installed, failed, set }
}

pub(super) fn truth(status: &str) -> Option<Truth> {
    [Truth::True, Truth::False, Truth::Unknown].into_iter().find(|&truth| words::truth(truth) == status)
}

fn condition(condition: &v1alpha1::Condition) -> Option<Condition> {
    if is_by_default(condition) {
        return None;
    }
    let reason = words::reason_from(&condition.reason)?;
    Some(Condition {
        kind: words::kind_from(&condition.r#type)?,
        truth: truth(&condition.status)?,
        reason,
        detail: machine_detail(reason, words::detail(words::explanation(reason), &condition.message)),
        since: condition.last_transition_time.get()?,
        observed_generation: unsigned(condition.observed_generation),
    })
}

/// Reads the status of the `ClusterPackageVersion`.
#[must_use]
pub fn package_version_status(
    status: &v1alpha1::ClusterPackageVersionStatus,
    names: &mut Names,
) -> PackageVersionStatus {
    let rollouts: BTreeMap<_, _> = status
        .rollouts
        .iter()
        .filter_map(|read| rollout(read, names))
        .map(|rollout| (rollout.component, rollout))
        .collect();
    let conditions: BTreeMap<_, _> = status
        .conditions
        .iter()
        .filter_map(fleet_condition)
        .map(|condition| (condition.kind, condition))
        .collect();
    PackageVersionStatus {
        observed_generation: unsigned(status.observed_generation),
        epoch: Epoch(status.epoch.and_then(|epoch| u32::try_from(epoch).ok()).unwrap_or_default()),
        rollouts: rollouts.into_values().collect(),
        conditions: conditions.into_values().collect(),
        begun: status.begun.iter().take(Begun::MAX).filter_map(begun).collect(),
        history: status.history.iter().filter_map(|read| past(read, names)).collect(),
        picked: Vec::new(),
    }
}

fn begun(status: &v1alpha1::BegunStatus) -> Option<Begun> {
    Some(Begun {
        domain: status.domain.as_str().into(),
        value: status.value.as_str().into(),
        since: status.since.get()?,
        machines: u32::try_from(status.machines).ok()?,
    })
}

/// History decides nothing: what is unreadable is left out.
fn past(status: &v1alpha1::PastStatus, names: &mut Names) -> Option<Past> {
    if status.component.is_empty() {
        return None;
    }
    let count = |written: i64| u32::try_from(written).unwrap_or_default();
    Some(Past {
        component: names.component(&status.component),
        generation: u64::try_from(status.generation).ok()?,
        to: want(&status.component, &status.to, names)?,
        end: End::ALL.into_iter().find(|end| end.name() == status.end)?,
        progress: (count(status.total), count(status.updated)),
        cause: status.cause.as_deref().map(Arc::from),
        by: status.by.as_deref().map(Arc::from),
        started_at: status.started_at.get()?,
        replaced_at: status.replaced_at.get()?,
    })
}

/// A rollout with an unreadable part counts as absent: half of one could admit the wrong machines.
fn rollout(status: &v1alpha1::RolloutStatus, names: &mut Names) -> Option<Rollout> {
    if status.component.is_empty() {
        return None;
    }
    let from = match &status.from {
        Some(from) => Some(want(&status.component, from, names)?),
        None => None,
    };
    let completed_at = match &status.completed_at {
        Some(at) => Some(at.get()?),
        None => None,
    };
    let component = names.component(&status.component);
    let to = want(&status.component, &status.to, names)?;
    let superseded = status.superseded.iter().take(Rollout::SUPERSEDED_MAX).map(|superseded| {
        Some(Superseded {
            generation: u64::try_from(superseded.generation).ok()?,
            to: want(&status.component, &superseded.to, names)?,
            granted: ranks(&superseded.granted)?,
        })
    });
    let superseded = superseded.collect::<Option<_>>()?;
    let course = match &status.course {
        Some(read) => Some(course(read)?),
        None => None,
    };
    Some(Rollout {
        component,
        generation: u64::try_from(status.generation).ok()?,
        from,
        to,
        admitted_below: u32::try_from(status.admitted_below).ok()?,
        granted: match &status.granted {
            Some(granted) => Some(ranks(granted)?),
            None => None,
        },
        superseded,
        course,
        cause: status.cause.as_deref().map(Arc::from),
        by: status.by.as_deref().map(Arc::from),
        progress: progress(status),
        started_at: status.started_at.get()?,
        completed_at,
    })
}

/// The ranks of machines, sorted; `None` if one of them is unreadable or there are too many.
fn ranks(written: &[i64]) -> Option<Vec<u32>> {
    if written.len() > Rollout::RANKS_MAX {
        return None;
    }
    let mut ranks = written.iter().map(|rank| u32::try_from(*rank).ok()).collect::<Option<Vec<_>>>()?;
    ranks.sort_unstable();
    ranks.dedup();
    Some(ranks)
}

/// How far a rollout is. It decides nothing, so what is unreadable counts as zero.
fn progress(status: &v1alpha1::RolloutStatus) -> Progress {
    let count = |written: i64| u32::try_from(written).unwrap_or_default();
    let deferred = status.deferred.iter().filter_map(|deferred| {
        let reason = fleet_words::deferral_from(&deferred.reason)?;
        Some(Deferred { reason, machines: count(deferred.machines) })
    });
    let mut deferred: Vec<Deferred> = deferred.take(DeferralReason::ALL.len()).collect();
    deferred.sort_unstable();
    deferred.dedup_by_key(|deferred| deferred.reason);
    Progress {
        total: count(status.total),
        updated: count(status.updated),
        at_work: count(status.at_work),
        failed: count(status.failed),
        lost: count(status.lost),
        deferred,
    }
}

fn want(component: &str, want: &v1alpha1::WantStatus, names: &mut Names) -> Option<Want> {
    match (want.state.as_str(), &want.version) {
        ("Present", Some(version)) if !version.is_empty() => Some(Want::Present {
            version: names.version(component, version),
            parameters: want.parameters.clone(),
        }),
        ("Absent", None) => Some(Want::Absent),
        _ => None,
    }
}

/// A condition by default has a reason that the fleet never has.
fn fleet_condition(condition: &v1alpha1::Condition) -> Option<FleetCondition> {
    let reason = fleet_words::reason_from(&condition.reason)?;
    Some(FleetCondition {
        kind: fleet_words::kind_from(&condition.r#type)?,
        truth: truth(&condition.status)?,
        reason,
        detail: package_version_detail(
            reason,
            words::detail(fleet_words::explanation(reason), &condition.message),
        ),
        since: condition.last_transition_time.get()?,
        observed_generation: unsigned(condition.observed_generation),
    })
}

/// Reads the status of a `MachineComponent`.
#[must_use]
pub fn version_status(status: &v1alpha1::MachineComponentStatus) -> VersionStatus {
    let read: Vec<VersionCondition> = status.conditions.iter().filter_map(version_condition).collect();
    let last = |kind: VersionConditionKind| read.iter().rev().find(|read| read.kind == kind).cloned();
    VersionStatus {
        observed_generation: unsigned(status.observed_generation),
        conditions: VersionConditionKind::ALL.into_iter().filter_map(last).collect(),
    }
}

/// A condition by default has a reason that a version never has.
fn version_condition(condition: &v1alpha1::Condition) -> Option<VersionCondition> {
    let reason = version_words::reason_from(&condition.reason)?;
    let words = words::detail(version_words::explanation(reason), &condition.message);
    Some(VersionCondition {
        kind: version_words::kind_from(&condition.r#type)?,
        truth: truth(&condition.status)?,
        reason,
        detail: version_detail(reason, words),
        since: condition.last_transition_time.get()?,
        observed_generation: unsigned(condition.observed_generation),
    })
}
