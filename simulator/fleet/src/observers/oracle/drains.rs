//! Judges drains on the true state. Work that disrupts pods begins only on a cordoned Node, and not while pods that
//! could have left are on it. The operator never uncordons a Node that users have cordoned.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::id::Kind;

use super::Oracle;
use crate::vocabulary::machine_name;
use crate::world::host::{Change, Work};
use crate::world::{NodeWrite, World};

/// The true state of cordons.
#[derive(Clone, Debug, Default)]
pub(super) struct Drains {
    /// Hosts whose Nodes carry the operator's taint, and since when.
    cordoned: BTreeMap<u32, Timestamp>,
    /// Hosts whose Nodes a disruption budget has kept from draining at least once, or that users have kept as they
    /// were.
    held_up: BTreeSet<u32>,
}

impl Drains {
    pub(super) fn cordoned(&mut self, host: u32, is: bool, now: Timestamp) {
        if is {
            self.cordoned.entry(host).or_insert(now);
        } else {
            self.cordoned.remove(&host);
        }
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
        let NodeWrite { host, is_freed_by_operator, is_cordoned, is_there } = write;
        let now = world.now();
        if is_freed_by_operator && world.is_cordoned_by_people(host) {
            let detail = format!("the Node of host {host} was uncordoned, and people had cordoned it");
            self.breach("foreignCordon", now, detail);
        }
        self.drains.cordoned(host, is_cordoned, now);
        self.budget.node_there(host, is_there);
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
        if !versions.into_iter().any(|version| world.drains(world.catalogue.version_name(version)))
            || world.api_servers.home().get(Kind::Node, &machine_name(number)).is_none()
        {
            return;
        }
        let now = world.now();
        if !self.is_cordoned(number) {
            let detail = format!("work on host {number} began while its Node took pods");
            self.breach("drained", now, detail);
        }
        let (left, _) = world.pods_on(number);
        // The operator cannot know the pods of a Node that has only just become ready.
        let known = self.known_at(sent);
        if left > 0
            && world.is_node_ready(number)
            && world.node_ready_since(number).is_none_or(|at| at <= known)
        {
            self.breach("drained", now, format!("work on host {number} began under {left} pods"));
        }
    }
}
