//! Judges drains on the true state. Work that disrupts pods begins only on a cordoned Node, and not while pods that
//! could have left are on it. The operator never uncordons a Node that users have cordoned. Nobody evicts a pod that the
//! disruption budget of its app protects.

use std::collections::{BTreeMap, BTreeSet};

use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::id::Kind;

use super::Oracle;
use crate::vocabulary::machine_name;
use crate::world::host::{Change, Work};
use crate::world::{Evicted, NodeWrite, World};

/// So old may a list of pods be when work starts: it is valid for 30 s, and a request takes up to 30 s.
const LIST_AGE_MAX: Duration = Duration::from_secs(60);

/// The true state of cordons.
#[derive(Clone, Debug, Default)]
pub(super) struct Drains {
    /// Hosts whose Nodes carry the operator's taint, and since when.
    cordoned: BTreeMap<u32, Timestamp>,
    /// Hosts whose Nodes a disruption budget has kept from draining at least once, or that users have kept as they
    /// were.
    held_up: BTreeSet<u32>,
    /// Hosts whose Nodes users have uncordoned under the operator's taint, and when.
    freed: BTreeMap<u32, Timestamp>,
    /// Hosts whose Nodes users have uncordoned and cordoned again under the operator's taint, with the time in between.
    cordoned_again: BTreeMap<u32, Duration>,
}

impl Drains {
    pub(super) fn cordoned(&mut self, host: u32, is: bool, now: Timestamp) {
        if is {
            self.cordoned.entry(host).or_insert(now);
        } else {
            self.cordoned.remove(&host);
            self.freed.remove(&host);
            self.cordoned_again.remove(&host);
        }
    }

    /// Users have cordoned or uncordoned a Node.
    fn people_cordon(&mut self, host: u32, cordons: bool, now: Timestamp) {
        if !self.is_cordoned(host) {
            return;
        }
        if !cordons {
            self.freed.insert(host, now);
        } else if let Some(since) = self.freed.remove(&host) {
            self.cordoned_again.insert(host, now.since(since));
        }
    }

    /// Whether the operator could know that users have cordoned a Node. Under its own cordon it sees only that the Node was
    /// schedulable in between, if that lasted.
    fn is_knowable(&self, host: u32, knowledge: Duration) -> bool {
        self.cordoned_again.get(&host).is_none_or(|between| *between > knowledge)
    }

    pub(super) fn is_cordoned(&self, host: u32) -> bool {
        self.cordoned.contains_key(&host)
    }

    pub(super) fn holds_up(&mut self, host: u32) {
        self.held_up.insert(host);
    }

    pub(super) fn was_held_up(&self, host: u32) -> bool {
        self.held_up.contains(&host)
    }

    /// Hosts whose Nodes already carried the operator's taint at that time.
    pub(super) fn cordoned_until(&self, known: Timestamp) -> impl Iterator<Item = u32> {
        self.cordoned.iter().filter(move |(_, since)| **since <= known).map(|(host, _)| *host)
    }
}

impl Oracle {
    /// The Node of a host was written.
    pub(super) fn node_written(&mut self, world: &World, write: NodeWrite) {
        let NodeWrite { host, is_freed_by_operator, by_people, is_cordoned, is_there } = write;
        let now = world.now();
        if let Some(cordons) = by_people {
            self.drains.people_cordon(host, cordons, now);
        }
        let is_knowable = self.drains.is_knowable(host, self.budget.knowledge());
        if is_freed_by_operator && world.is_cordoned_by_people(host) && is_knowable {
            let detail = format!("the Node of host {host} was uncordoned, and people had cordoned it");
            self.breach("foreignCordon", now, detail);
        }
        self.drains.cordoned(host, is_cordoned, now);
        self.budget.node_there(host, is_there);
    }

    /// Judges an eviction by the pods that are ready after it. One that was ready may go only while its app keeps as many
    /// as its budget requires; one that ran and was not ready, only while it has them.
    pub(super) fn pod_evicted(&mut self, world: &World, evicted: Evicted) {
        let Evicted { app, has_run, was_ready } = evicted;
        let (healthy, required) = (world.healthy_pods(app), world.required_pods());
        if has_run && healthy < required {
            let detail = format!(
                "a pod of app {app} was evicted ({}), and {healthy} of {required} required pods are ready",
                if was_ready { "ready" } else { "not ready" }
            );
            self.breach("disruptionBudget", world.now(), detail);
        }
    }

    /// Judges work that disrupts pods: the Node must be cordoned, and the pods must have left.
    pub(super) fn judge_drain(&mut self, world: &World, number: u32, work: &Work, sent: Timestamp) {
        let comes = match work.change {
            Change::Install(install) => Some(install.version),
            Change::Remove => None,
        };
        let running = world.hosts[number as usize].running();
        // The repair of a service that does not run disrupts nothing any more.
        let previous = running.and_then(|running| running.previous());
        if let (Some(previous), Change::Install(install)) = (previous, work.change)
            && previous.release == install.release
            && previous.drift.contains(Drift::NOT_RUNNING)
        {
            return;
        }
        let goes = previous.map(|previous| previous.version);
        let versions = comes.into_iter().chain(goes);
        if !versions.into_iter().any(|version| world.drains(world.catalogue.version_name(version))) {
            return;
        }
        let Some(node) = world.api_servers.home().get(Kind::Node, &machine_name(number)) else { return };
        let now = world.now();
        let known = self.known_at(sent);
        // The operator cannot know a Node that was registered only just now. It has asked for the pods of that name.
        let created = node.resource().metadata().creation_timestamp.as_ref().and_then(|at| at.get());
        if !self.is_cordoned(number) && created.is_none_or(|at| at <= known) {
            let detail = format!("work on host {number} began while its Node took pods");
            self.breach("drained", now, detail);
        }
        let left = world.pods_known_on(number, sent, LIST_AGE_MAX);
        // The operator cannot know the pods of a Node that has only just become ready.
        if left > 0
            && world.is_node_ready(number)
            && world.node_ready_since(number).is_none_or(|at| at <= known)
        {
            self.breach("drained", now, format!("work on host {number} began under {left} pods"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::START;

    #[test]
    fn a_cordon_of_users_under_ours_can_be_known_if_they_uncordoned_long_before() {
        let knowledge = Duration::from_secs(10);
        for (has_our_taint, seconds, expected) in [(true, 11, true), (true, 10, false), (false, 10, true)] {
            let mut drains = Drains::default();
            drains.cordoned(3, has_our_taint, START);
            drains.people_cordon(3, false, START);
            drains.people_cordon(3, true, START + Duration::from_secs(seconds));
            assert_eq!(drains.is_knowable(3, knowledge), expected, "{has_our_taint} {seconds}");
            assert!(drains.is_knowable(4, knowledge));
            drains.cordoned(3, false, START);
            assert!(drains.is_knowable(3, knowledge), "that was another cordon");
        }
    }
}
