//! What can be looked at from outside while a world runs.

use std::collections::BTreeMap;

use seaworthy_api::names::Names;
use seaworthy_engine::{Engine, World as Cache};
use seaworthy_kernel::Share;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::id::Kind;

use super::World;
use super::api_server::Stored;
use super::host::Host;
use crate::scenario::Scenario;
use crate::vocabulary::machine_name;

impl World {
    /// The scenario that it plays.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// A host, by its number.
    #[must_use]
    pub fn host(&self, number: u32) -> Option<&Host> {
        self.hosts.get(number as usize)
    }

    /// Whether nothing can be downloaded now, or hosts cannot download some version.
    pub(crate) fn lacks_artefacts(&self) -> bool {
        let is_lacking = |failure: &Option<(CauseKind, Share)>| {
            failure.is_some_and(|(cause, _)| {
                matches!(cause, CauseKind::DownloadFailed | CauseKind::DigestMismatch)
            })
        };
        self.queue.now() < self.disturbance.registry_down || self.failures.iter().any(is_lacking)
    }

    /// The operator processes that are alive: number and seat.
    pub fn operators(&self) -> impl Iterator<Item = (u32, u32)> {
        let process = |number: &u32| self.processes.get(*number as usize)?.as_ref();
        self.live.iter().filter_map(process).map(|process| (process.number, process.seat))
    }

    /// How often each fault has struck, in the order of the scenario.
    pub(crate) fn strikes(&self) -> impl Iterator<Item = u64> {
        self.rules.strikes()
    }

    /// So many operator processes were ever started.
    pub(crate) fn processes_ever(&self) -> u32 {
        u32::try_from(self.processes.len()).unwrap_or(u32::MAX)
    }

    /// What each operator process that is alive knows.
    pub(crate) fn caches(&self) -> impl Iterator<Item = (u32, &Cache)> {
        let process = |number: &u32| self.processes.get(*number as usize)?.as_ref();
        self.live.iter().filter_map(process).map(|process| (process.number, process.mind().0.world()))
    }

    /// The engine of the operator that holds the Lease, or else of the one that started last, with the names of its ids.
    #[must_use]
    pub fn mind(&self) -> Option<(u32, &Engine, &Names)> {
        let minds = self.live.iter().rev().filter_map(|number| {
            let (engine, names) = self.processes.get(*number as usize)?.as_ref()?.mind();
            Some((*number, engine, names))
        });
        let minds: Vec<_> = minds.collect();
        let holder = self.leader();
        let holds = |(number, _, _): &&(u32, _, _)| Some(*number) == holder;
        minds.iter().find(holds).or_else(|| minds.first()).copied()
    }

    /// A Machine of the fleet, as the API server has it.
    pub(crate) fn machine_stored(&self, number: u32) -> Option<&Stored> {
        self.api_servers.home().get(Kind::Machine, &machine_name(number)).map(AsRef::as_ref)
    }

    /// The number of hosts per version of each component.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, u32> {
        let mut versions = BTreeMap::new();
        for host in &self.hosts {
            for installed in host.installed() {
                *versions.entry(installed.version).or_default() += 1;
            }
        }
        let name = |(version, count)| (self.catalogue.version_name(version).to_owned(), count);
        versions.into_iter().map(name).collect()
    }
}
