//! `maxFailures`, in truth: how many machines a release that does not work has harmed.
//!
//! A release may harm as many machines as `maxFailures` says, and one more for each machine on which it worked: a
//! release that never works is stopped at the limit. Machines whose own spec asks for the release do not count, nor do
//! those whose spec was changed since: that allows another try. So does a new wish for what was given up before; what
//! worked is known for all that.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::v1alpha1::ComponentSetting;
use seaworthy_model::component::ReleaseId;
use seaworthy_model::id::Kind;
use seaworthy_model::quantity::CountOrPercent;

use super::Over;
use super::budget::count_or_percent;
use crate::world::api_server::{ApiServer, Written};
use crate::world::host::{Change, Ended};
use crate::world::{host_of_address, machine_name};

#[derive(Clone, Debug)]
pub(super) struct Harm {
    hosts: u32,
    /// All hosts on which any release ever failed.
    harmed: BTreeSet<u32>,
    generation: i64,
    /// The highest that it ever was: what is lowered later was allowed before.
    max_failures: u32,
    /// What the fleet wishes for, and the generations of the `ClusterPackageVersion` since which it does.
    wishes: Vec<(ComponentSetting, i64)>,
    /// By host at work: the generation since which the component's wish was the same when it began. People may have changed
    /// their minds when it ends.
    begun: BTreeMap<u32, i64>,
    releases: BTreeMap<ReleaseId, Record>,
}

#[derive(Clone, Debug, Default)]
struct Record {
    /// The generation since which the release was wished for, and the host.
    failed: BTreeSet<(i64, u32)>,
    succeeded: u32,
}

impl Harm {
    pub(super) const fn new(hosts: u32) -> Self {
        Self {
            hosts,
            harmed: BTreeSet::new(),
            generation: 0,
            max_failures: 1,
            wishes: Vec::new(),
            begun: BTreeMap::new(),
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
        let limit: CountOrPercent = count_or_percent(&object.spec.max_failures);
        self.max_failures = self.max_failures.max(limit.of(self.hosts));
        let wished = if written.removed { &[][..] } else { &object.spec.components[..] };
        self.wishes.retain(|(setting, _)| wished.contains(setting));
        for setting in wished {
            if self.wishes.iter().all(|(known, _)| known != setting) {
                self.wishes.push((setting.clone(), generation));
            }
        }
    }

    /// People have changed what they want of a machine, or do not want it any more: a failure from before does not count.
    pub(super) fn machine_written(&mut self, written: &Written) {
        let Some(before) = &written.before else { return };
        if !written.removed && before.generation() == written.object.generation() {
            return;
        }
        if let Some(host) = before.address().and_then(host_of_address) {
            for record in self.releases.values_mut() {
                record.failed.retain(|(_, failed)| *failed != host);
            }
        }
    }

    /// An operation has begun.
    pub(super) fn began(&mut self, host: u32, component: &str) {
        self.begun.insert(host, self.wished_since(component));
    }

    /// The generation since which the fleet wishes for the same of a component; without a wish, that of now.
    fn wished_since(&self, component: &str) -> i64 {
        let wish = self.wishes.iter().find(|(setting, _)| setting.name == component);
        wish.map_or(self.generation, |(_, since)| *since)
    }

    /// An operation has ended. The answer says what is wrong with that.
    pub(super) fn ended(&mut self, over: &Over<'_>, api: &ApiServer) -> Option<String> {
        let (host, component) = (over.host, over.component);
        let since = self.begun.remove(&host).unwrap_or_else(|| self.wished_since(component));
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
        if is_pinned(api, host, component) {
            return None;
        }
        record.failed.insert((since, host));
        let failed = record.failed.range((since, 0)..=(since, u32::MAX)).count();
        let failed = u32::try_from(failed).unwrap_or(u32::MAX);
        (failed > self.max_failures.saturating_add(record.succeeded)).then(|| {
            format!(
                "release {:?} of {component} failed on {failed} machines ({}), worked on {}, and maxFailures is {}",
                install.release,
                cause.name(),
                record.succeeded,
                self.max_failures
            )
        })
    }
}

fn is_pinned(api: &ApiServer, host: u32, component: &str) -> bool {
    let spec = api.get(Kind::Machine, &machine_name(host)).and_then(|object| object.machine_spec());
    spec.is_some_and(|spec| spec.components.iter().any(|pin| pin.name == component))
}

#[cfg(test)]
mod tests;
