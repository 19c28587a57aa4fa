//! The slow recount: what the oracle counts as it goes is counted again from the true state of the world (`recount`). A
//! counter that has gone astray would let an invariant pass what it must not.
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
//! `bound.rs`, `convergence.rs` and `reasons.rs` keep no counters: they look at the true state whenever they are asked.
//! It looks at every machine, so it is done at random points, seldom enough to cost next to nothing, and at the end.

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

/// The invariant that counts are right.
pub(crate) const NAME: &str = "recount";

/// On average, so many events pass between two recounts, and so many more for every machine.
const EVENTS: u64 = 4_096;
const EVENTS_PER_MACHINE: u64 = 64;

/// The true state of the world.
pub(super) struct Truth<'a> {
    /// What the API server has.
    pub api: &'a ApiServer,
    /// All Machines.
    pub machines: Vec<Machine<'a>>,
    /// The hosts, by number.
    pub hosts: &'a [Host],
    /// So many operator processes were ever started.
    pub processes: u32,
    /// The process that leads, and what it knows.
    pub leader: Option<(u32, &'a Cache)>,
}

impl<'a> Truth<'a> {
    fn of(world: &'a World) -> Self {
        let machines = world.api.collection(Kind::Machine).objects();
        Self {
            api: &world.api,
            machines: machines.into_iter().map(Machine::of).collect(),
            hosts: &world.hosts,
            processes: world.processes_ever(),
            leader: world.mind().map(|(number, engine, _)| (number, engine.world())),
        }
    }

    /// What the fleet is to have.
    pub(super) fn fleet(&self) -> Option<&'a ClusterPackageVersion> {
        self.api.get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()
    }
}

/// What is counted of a Machine. It is taken from the object once: of a large fleet, to fetch that from memory is what a
/// count costs.
pub(super) struct Machine<'a> {
    /// Its incarnation.
    pub uid: Uid,
    /// Its name.
    pub name: &'a Arc<str>,
    /// The number of the host at its address, if there may be one.
    pub host: Option<u32>,
    /// Its deletion was asked for.
    pub is_terminating: bool,
    /// People have stopped it.
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

/// Counters that are not as they should be.
#[derive(Debug, Default)]
pub(super) struct Miscounts(Vec<String>);

impl Miscounts {
    /// Compares what was counted with what is true.
    pub(super) fn compare<T: PartialEq + Debug>(&mut self, what: &str, counted: T, truth: T) {
        if counted != truth {
            self.0.push(format!("{what}: {counted:?} were counted, and it is {truth:?}"));
        }
    }

    /// The same for one host.
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

/// Counts everything again. What differs is wrong.
pub(crate) fn recount(world: &World, oracle: &Oracle) -> Vec<String> {
    let mut details = oracle.recount(&Truth::of(world));
    for (number, cache) in world.caches() {
        let miscounts = seaworthy_check::recount(cache).into_iter();
        details.extend(miscounts.map(|breach| format!("process {number}: {}", breach.detail)));
    }
    details
}

/// After how many events the recount of this number follows the one before.
pub(crate) fn recount_after(world: &World, number: u64) -> u64 {
    let mean = EVENTS + EVENTS_PER_MACHINE * world.hosts.len() as u64;
    1 + world.draws.below(word(NAME), 0, number, 2 * mean)
}

#[cfg(test)]
mod tests;
