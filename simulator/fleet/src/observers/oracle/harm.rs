//! Judges `maxFailures` on the true state: how many machines a broken release has harmed.
//!
//! A release may harm `maxFailures` machines, and one more for each machine on which it worked. So a release that never
//! works stops at the limit. Three kinds of machines do not count: those whose own spec asks for the release, and those
//! whose spec was changed or that were deleted after the latest state that the ordering operator could know. Such an
//! edit allows another try and drops the record of earlier failures. So does setting a default again that was dropped
//! before; successes still count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use seaworthy_api::v1alpha1::ComponentSetting;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::quantity::CountOrPercent;

use super::Over;
use super::budget::count_or_percent;
use super::desired::Group;
use crate::vocabulary::{host_of_address, machine_name};
use crate::world::api_server::{ApiServer, Stored, Written};
use crate::world::host::{Change, Ended, ReleaseNumber};

#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// The number of Machines that are not being deleted, on which percentages are based.
    machines: u32,
    limit: CountOrPercent,
    /// All hosts on which any release ever failed.
    harmed: BTreeSet<u32>,
    generation: i64,
    /// The sets that there ever were.
    sets: BTreeSet<(Kind, Arc<str>)>,
    /// The highest limit so far: failures before the limit was lowered were allowed.
    max_failures: u32,
    /// The defaults of the fleet, each with the generation of the `ClusterPackageVersion` since which it holds.
    wishes: Vec<(ComponentSetting, i64)>,
    /// The operation in flight, by host. Never iterated, so its order does not matter.
    begun: HashMap<u32, Begun, FxBuildHasher>,
    /// When users last changed the Machine's spec, by host.
    asked: BTreeMap<u32, Timestamp>,
    releases: BTreeMap<ReleaseNumber, Record>,
}

/// The desired state when an operation began. It may differ when the operation ends.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// The generation since which the component's default has been the same.
    since: i64,
    /// The operator that ordered the operation knew all changes of the Machine until this time.
    known: Timestamp,
}

#[derive(Clone, Debug, Default)]
struct Record {
    /// The generation since which the default asked for the release, and the host.
    failed: BTreeSet<(i64, u32)>,
    succeeded: u32,
}

impl Harm {
    pub(super) fn new() -> Self {
        Self {
            machines: 0,
            limit: CountOrPercent::default(),
            harmed: BTreeSet::new(),
            generation: 0,
            sets: BTreeSet::new(),
            max_failures: 1,
            wishes: Vec::new(),
            begun: HashMap::default(),
            asked: BTreeMap::new(),
            releases: BTreeMap::new(),
        }
    }

    pub(super) fn harmed(&self) -> u32 {
        u32::try_from(self.harmed.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn package_version_written(&mut self, written: &Written) {
        let Some(object) = written.object.package_version() else { return };
        let generation = object.metadata.generation;
        self.generation = generation;
        self.limit = count_or_percent(&object.spec.max_failures);
        self.take_limit();
        let wished = if written.removed { &[][..] } else { &object.spec.components[..] };
        self.wishes.retain(|(setting, _)| wished.contains(setting));
        for setting in wished {
            if self.wishes.iter().all(|(known, _)| known != setting) {
                self.wishes.push((setting.clone(), generation));
            }
        }
    }

    /// A set was written. It rolls out by itself what others may roll out too, so each set lets as many machines fail; and
    /// whenever one changes, failures before that do not count.
    pub(super) fn set_written(&mut self, written: &Written) {
        let Some(group) = Group::of(&written.object) else { return };
        let before = written.before.as_ref().and_then(|before| Group::of(before));
        if before.is_some_and(|before| before.has_terms_of(&group)) && !written.removed {
            return;
        }
        self.sets.insert((group.kind, Arc::clone(&group.metadata.name)));
        self.releases.values_mut().for_each(|record| record.failed.clear());
    }

    fn take_limit(&mut self) {
        self.max_failures = self.max_failures.max(self.limit.of(self.machines));
    }

    /// A Machine was written. If its spec changed or it was deleted, earlier failures on its host no longer count.
    pub(super) fn machine_written(&mut self, written: &Written, now: Timestamp) {
        let counts = |object: &Stored| u32::from(!object.is_terminating());
        let before = written.before.as_ref();
        let after = if written.removed { 0 } else { counts(&written.object) };
        self.machines = self.machines + after - before.map_or(0, |before| counts(before));
        self.take_limit();
        let of = before.unwrap_or(&written.object);
        let Some(host) = of.address().and_then(host_of_address) else { return };
        let Some(before) = before else {
            self.asked.remove(&host);
            return;
        };
        if written.removed || before.generation() != written.object.generation() {
            self.asked.insert(host, now);
            for record in self.releases.values_mut() {
                record.failed.retain(|(_, failed)| *failed != host);
            }
        }
    }

    /// An operation has begun. The operator that ordered it knew the desired state until `known`.
    pub(super) fn began(&mut self, host: u32, component: &str, known: Timestamp) {
        self.begun.insert(host, Begun { since: self.wished_since(component), known });
    }

    /// The generation since which the default of a component has been the same; the current generation if there is no
    /// default.
    fn wished_since(&self, component: &str) -> i64 {
        let wish = self.wishes.iter().find(|(setting, _)| setting.name == component);
        wish.map_or(self.generation, |(_, since)| *since)
    }

    /// An operation has ended. Returns the breach, if any.
    pub(super) fn ended(&mut self, over: &Over<'_>, api: &ApiServer) -> Option<String> {
        let (host, component) = (over.host, over.component);
        let begun = self.begun.remove(&host);
        let since = begun.map_or_else(|| self.wished_since(component), |begun| begun.since);
        let Change::Install(install) = over.work.change else { return None };
        let record = self.releases.entry(install.release).or_default();
        let cause = match over.ended {
            Ended::Succeeded => {
                record.succeeded += 1;
                return None;
            }
            Ended::Failed(cause) if cause.blames_release() => cause,
            Ended::Failed(_) | Ended::Interrupted => return None,
        };
        self.harmed.insert(host);
        let asked = self.asked.get(&host);
        let is_asked_anew = asked.is_some_and(|asked| begun.is_some_and(|begun| *asked >= begun.known));
        if is_asked_anew || is_pinned(api, host, component) {
            return None;
        }
        record.failed.insert((since, host));
        let failed = record.failed.range((since, 0)..=(since, u32::MAX)).count();
        let failed = u32::try_from(failed).unwrap_or(u32::MAX);
        let owners = u32::try_from(self.sets.len()).unwrap_or(u32::MAX).saturating_add(1);
        let most = self.max_failures.saturating_mul(owners).saturating_add(record.succeeded);
        (failed > most).then(|| {
            format!(
                "release {:?} of {component} failed on {failed} machines ({}), worked on {}, and maxFailures is {}",
                install.release,
                cause.name(),
                record.succeeded,
                self.max_failures
            )
        })
    }

    /// A host reports what is not true, also of what failed there before: one more machine may fail instead.
    pub(super) fn lies(&mut self, host: u32) {
        for record in self.releases.values_mut() {
            record.failed.retain(|(_, failed)| *failed != host);
        }
    }

    /// An operation has ended on a host that lies. The operator may take that for a success, which lets one more machine
    /// fail.
    pub(super) fn ended_by_liar(&mut self, over: &Over<'_>) {
        self.begun.remove(&over.host);
        if let Change::Install(install) = over.work.change {
            self.releases.entry(install.release).or_default().succeeded += 1;
        }
    }
}

fn is_pinned(api: &ApiServer, host: u32, component: &str) -> bool {
    let spec = api.get(Kind::Machine, &machine_name(host)).and_then(|object| object.machine_spec());
    spec.is_some_and(|spec| spec.components.iter().any(|pin| pin.name == component))
}

#[cfg(test)]
mod tests;
