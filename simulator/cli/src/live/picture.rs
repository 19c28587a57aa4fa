//! The cluster as the operator sees it: plans and explanations go by its rules.

use seaworthy_api::names::Names;
use seaworthy_api::object::{CanaryRelease, MachineComponentSet, Resource};
use seaworthy_api::parse;
use seaworthy_engine::{Engine, Machine, Owner, Version, World};
use seaworthy_kube::Terminal;
use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::event::{Event, Observation};
use seaworthy_model::id::{ComponentId, Kind, StoreId, VersionId};
use serde::de::DeserializeOwned;

use super::Problem;

/// An engine that is told what there is, and never asked to do anything.
pub(super) struct Picture {
    engine: Engine,
    names: Names,
}

impl Picture {
    /// One of an empty cluster.
    pub(super) fn new() -> Self {
        Self { engine: Engine::new(Config::default(), Seed(0)), names: Names::new() }
    }

    /// Takes in an object, in place of what was there under its name.
    pub(super) fn see(&mut self, object: &Resource) -> Result<(), Problem> {
        let unread = |_: &str| Err(String::new());
        let seen = parse::observed(object, &mut self.names, unread);
        let seen = seen.map_err(|error| Problem(format!("{}: {error}", object.metadata().name)))?;
        self.names.announce().for_each(|event| self.engine.observe(event));
        self.take(seen);
        Ok(())
    }

    /// Takes in all objects of a kind.
    pub(super) async fn list<T: DeserializeOwned>(
        &mut self,
        terminal: &Terminal,
        (kind, resource): (Kind, fn(Box<T>) -> Resource),
    ) -> Result<(), Problem> {
        for object in terminal.list::<T>(kind).await? {
            self.see(&resource(Box::new(object)))?;
        }
        Ok(())
    }

    /// Takes in the versions of the API servers. While they are not known, no version is rolled out that has a rule about
    /// them.
    pub(super) async fn ask_api_servers(&mut self, terminal: &Terminal) {
        self.take(terminal.api_servers().await.ok().map(Observation::ApiServers));
    }

    /// Takes in the sets and the canaries. An API server without one of the kinds has no such objects.
    pub(super) async fn owners(
        &mut self,
        terminal: &Terminal,
    ) -> Result<(Vec<CanaryRelease>, Vec<MachineComponentSet>), Problem> {
        let canaries = terminal.list::<CanaryRelease>(Kind::CanaryRelease).await.unwrap_or_default();
        let sets = terminal.list::<MachineComponentSet>(Kind::MachineComponentSet).await.unwrap_or_default();
        for canary in &canaries {
            self.see(&Resource::CanaryRelease(Box::new(canary.clone())))?;
        }
        for set in &sets {
            self.see(&Resource::MachineComponentSet(Box::new(set.clone())))?;
        }
        Ok((canaries, sets))
    }

    fn take(&mut self, seen: Option<Observation>) {
        if let Some(seen) = seen {
            self.engine.observe(Event::Observed(StoreId::HOME, seen));
        }
    }

    /// What the operator knows.
    pub(super) const fn world(&self) -> &World {
        self.engine.world()
    }

    /// What the operator decides.
    pub(super) const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// An object that owns rollouts.
    pub(super) fn owner(&self, kind: Kind, name: &str) -> Option<Owner> {
        if kind == Kind::CanaryRelease {
            self.names.find(name).map(Owner::Canary)
        } else if kind == Kind::MachineComponentSet {
            self.names.find(name).map(Owner::Set)
        } else {
            Some(Owner::Fleet)
        }
    }

    /// The row of a machine.
    pub(super) fn machine(&self, name: &str) -> Option<&Machine> {
        self.names.find_machine(name).map(|id| self.world().machine(id))
    }

    /// The row of a `MachineComponent`.
    pub(super) fn version(&self, name: &str) -> Option<&Version> {
        self.names.find_version(name).and_then(|id| self.world().version(id))
    }

    /// A component that some object names.
    pub(super) fn component(&self, name: &str) -> Option<ComponentId> {
        self.names.find(name)
    }

    /// A version as its author spells it.
    pub(super) fn version_text(&self, component: ComponentId, version: VersionId) -> &str {
        self.names.version_text(component, version).unwrap_or_else(|_| self.world().version_name(version))
    }
}
