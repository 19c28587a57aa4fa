//! The slow recount: computes the oracle's incremental counters again from the true state of the world (`recount`). A
//! wrong counter could hide a breach.
//!
//! | counters | counted again from |
//! |---|---|
//! | `budget.rs` | Machines and the `ClusterPackageVersion` on the API server, operations under way on hosts |
//! | `deeds.rs` | the journals of hosts, what is installed there |
//! | `wishes.rs` | the specs on the API server |
//! | `starvation.rs` | the blockers of the engine that leads |
//! | `restraint.rs` | the operator processes that there were |
//! | `leadership.rs` | the fences of hosts |
//! | the engines' own, [`seaworthy_check::recount`] | the rows of their caches |
//!
//! `bound.rs`, `convergence.rs` and `reasons.rs` keep no counters: they read the true state on every call. The recount
//! looks at every machine. So it runs at the end and at random points, rarely enough to cost next to nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use seaworthy_api::object::ClusterPackageVersion;
use seaworthy_engine::World as Cache;
use seaworthy_kernel::word;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::package_version::SINGLETON;

use super::Oracle;
use crate::vocabulary::host_of_address;
use crate::world::World;
use crate::world::api_server::{ApiServer, Stored};
use crate::world::host::Host;

/// The invariant that counters match the true state.
pub(crate) const NAME: &str = "recount";

/// The average number of events between two recounts. Each machine of the fleet adds to it.
const EVENTS: u64 = 4_096;
const EVENTS_PER_MACHINE: u64 = 64;

/// The true state of the world.
pub(super) struct Truth<'a> {
    /// The API server with its objects.
    pub api: &'a ApiServer,
    /// All Machines.
    pub machines: Vec<Machine<'a>>,
    /// The hosts, by number.
    pub hosts: &'a [Host],
    /// The number of operator processes that were ever started.
    pub processes: u32,
    /// The leading process and its cache.
    pub leader: Option<(u32, &'a Cache)>,
}

impl<'a> Truth<'a> {
    fn of(world: &'a World) -> Self {
        let machines = world.api_servers.home().collection(Kind::Machine).objects();
        Self {
            api: world.api_servers.home(),
            machines: machines.into_iter().map(Machine::of).collect(),
            hosts: &world.hosts,
            processes: world.processes_ever(),
            leader: world.mind().map(|(number, engine, _)| (number, engine.world())),
        }
    }

    /// The fleet's defaults.
    pub(super) fn fleet(&self) -> Option<&'a ClusterPackageVersion> {
        self.api.get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()
    }
}

/// What counters need of a Machine. It is read from the object once, because in a large fleet the fetch from memory is
/// the main cost.
pub(super) struct Machine<'a> {
    /// Its incarnation.
    pub uid: Uid,
    /// Its name.
    pub name: &'a Arc<str>,
    /// The number of the host at its address, if the address belongs to the fleet.
    pub host: Option<u32>,
    /// Whether its deletion was requested.
    pub is_terminating: bool,
    /// Whether users have paused it.
    pub is_paused: bool,
}

impl<'a> Machine<'a> {
    fn of(object: &'a Arc<Stored>) -> Self {
        Self {
            uid: object.uid(),
            name: object.name(),
            host: object.address().and_then(host_of_address),
            is_terminating: object.is_terminating(),
            is_paused: object.machine_spec().is_some_and(|spec| spec.paused),
        }
    }
}

/// Wrong counters.
#[derive(Debug, Default)]
pub(super) struct Miscounts(Vec<String>);

impl Miscounts {
    /// Compares a counter with the true value.
    pub(super) fn compare<T: PartialEq + Debug>(&mut self, what: &str, counted: T, truth: T) {
        if counted != truth {
            self.0.push(format!("{what}: {counted:?} were counted, and it is {truth:?}"));
        }
    }

    /// Compares a counter of one host with the true value.
    pub(super) fn compare_at<T: PartialEq + Debug>(&mut self, host: usize, what: &str, counted: T, truth: T) {
        if counted != truth {
            self.0.push(format!("host {host}, {what}: {counted:?} were counted, and it is {truth:?}"));
        }
    }
}

impl Oracle {
    fn recount(&self, truth: &Truth<'_>) -> Vec<String> {
        let mut found = Miscounts::default();
        let machines = truth.machines.iter().map(|machine| (machine.uid, Arc::clone(machine.name)));
        found.compare("Machines", &self.machines, &machines.collect::<BTreeMap<Uid, Arc<str>>>());
        self.budget.recount(truth, &mut found);
        self.deeds.recount(truth, &mut found);
        self.wishes.recount(truth, &mut found);
        self.starvation.recount(truth, &mut found);
        self.restraint.recount(truth, &mut found);
        self.leadership.recount(truth, &mut found);
        found.0
    }
}

/// Recounts everything and returns the differences.
pub(crate) fn recount(world: &World, oracle: &Oracle) -> Vec<String> {
    let mut details = oracle.recount(&Truth::of(world));
    for (number, cache) in world.caches() {
        let miscounts = seaworthy_check::recount(cache).into_iter();
        details.extend(miscounts.map(|breach| format!("process {number}: {}", breach.detail)));
    }
    details
}

/// The number of events between the recount before and the recount of this number.
pub(crate) fn recount_after(world: &World, number: u64) -> u64 {
    let mean = EVENTS + EVENTS_PER_MACHINE * world.hosts.len() as u64;
    1 + world.draws.below(word(NAME), 0, number, 2 * mean)
}

#[cfg(test)]
mod tests;
