//! A fleet and its API server, without faults.

use std::time::Duration;

use seaworthy_engine::Engine;
use seaworthy_model::component::VersionObject;
use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::event::{Event, Observation, Outcome, Receipt};
use seaworthy_model::id::{Kind, MachineId, Named, NamedId, StoreId, Uid, VersionId};
use seaworthy_model::lease::{LeaseObject, LeaseRecord};
use seaworthy_model::machine::{ConditionKind, MachineObject, Truth};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::package_version::PackageVersionObject;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Turn;
use seaworthy_model::time::Timestamp;

use crate::host::Host;
use crate::objects;

/// The measured fleet sizes: a small cluster, a very large one, and all machines of a large company.
pub const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// 2026-01-01, so that times have as many digits as real ones.
const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// A fleet that has not settled after this many turns never will.
const TURNS_MAX: u32 = 100_000;

/// The objects and hosts of a fleet, and its clock.
#[derive(Clone, Debug)]
pub struct Fleet {
    machines: Vec<MachineObject>,
    hosts: Vec<Host>,
    versions: [VersionObject; 2],
    package_version: PackageVersionObject,
    resource_version: u64,
    /// The time.
    pub now: Timestamp,
}

impl Fleet {
    /// A fleet of this size on which nothing is installed yet, with two versions of its one component. The first version is
    /// the default.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self {
            machines: (0..size).map(objects::machine).collect(),
            hosts: (0..size).map(Host::new).collect(),
            versions: [0, 1].map(objects::version),
            package_version: objects::package_version(VersionId(0), CountOrPercent::Percent(100)),
            resource_version: 100,
            now: START,
        }
    }

    /// An empty engine for this fleet. It may open a session for every machine, so that only `maxUnavailable` limits it.
    #[must_use]
    pub fn engine(&self) -> Engine {
        let sessions = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        Engine::new(Config { host_sessions_max: sessions, ..Config::default() }, Seed(1))
    }

    /// A fleet on which every machine runs the default, and the engine that brought it there. `max_unavailable` applies only
    /// afterwards.
    ///
    /// # Panics
    /// The fleet does not settle, which is a bug of the engine.
    #[must_use]
    pub fn settled(size: u32, max_unavailable: CountOrPercent) -> (Self, Engine) {
        let mut fleet = Self::new(size);
        let mut engine = fleet.engine();
        Self::start(&mut engine);
        fleet.settle(&mut engine);
        engine.observe(fleet.limit(max_unavailable));
        fleet.settle(&mut engine);
        (fleet, engine)
    }

    /// Delivers the events that a driver delivers at its start.
    pub fn start(engine: &mut Engine) {
        engine.observe(Event::Observed(StoreId::HOME, Observation::Lease(None)));
        engine.observe(Event::Observed(StoreId::HOME, Observation::Synced(Kind::Lease)));
    }

    /// Every object, as a list delivers it.
    #[must_use]
    pub fn list(&self) -> Vec<Event> {
        let mut events = vec![named(NamedId::Component(objects::COMPONENT), "agent".into())];
        for id in [0, 1].map(VersionId) {
            events.push(named(NamedId::Version(id), format!("agent-1.{}.0", id.0)));
            events.push(self.version(id));
        }
        events.push(self.package_version());
        for number in 0..self.machines.len() {
            let id = machine_id(number);
            events.push(named(NamedId::Machine(id), format!("machine-{number}")));
            events.push(self.machine(id));
            let state = NodeState::plain(Health::Healthy, START);
            let node = NodeObject { uid: Uid(u128::from(number as u64) + 1_000_000), state };
            events.push(Event::Observed(StoreId::HOME, Observation::Node(id, Some(node))));
        }
        events.extend(Kind::WATCHED.map(|kind| Event::Observed(StoreId::HOME, Observation::Synced(kind))));
        events
    }

    /// Every Machine as it is, as a watch delivers it.
    #[must_use]
    pub fn machines(&self) -> Vec<Event> {
        (0..self.machines.len()).map(|number| self.machine(machine_id(number))).collect()
    }

    /// A person changes `maxUnavailable`, and nothing else.
    pub fn limit(&mut self, max_unavailable: CountOrPercent) -> Event {
        self.package_version.spec = objects::package_version(VersionId(0), max_unavailable).spec;
        self.package_version.meta.generation += 1;
        self.package_version.meta.resource_version = self.next();
        self.package_version()
    }

    /// People pin every machine to the other version, so that every one of them has to change.
    pub fn pin(&mut self) {
        for number in 0..self.machines.len() {
            let resource_version = self.next();
            let machine = &mut self.machines[number];
            machine.spec = objects::pinned(machine.spec.clone(), VersionId(1));
            machine.meta.generation += 1;
            machine.meta.resource_version = resource_version;
        }
    }

    /// Changes something in every Machine that does not matter to the engine, for example a label.
    pub fn touch(&mut self) {
        for number in 0..self.machines.len() {
            self.machines[number].meta.resource_version = self.next();
        }
    }

    /// Executes the actions of a turn. The engine observes the results.
    pub fn execute(&mut self, turn: Turn, engine: &mut Engine) {
        for action in turn.actions {
            let (outcome, seen) = self.act(&action);
            seen.into_iter().for_each(|event| engine.observe(event));
            engine.observe(Event::Finished { action: action.id, outcome });
        }
    }

    /// Executes turns, and advances the clock when there is nothing else to do, until every machine is ready and every
    /// rollout is completed.
    ///
    /// # Panics
    /// That does not happen, which is a bug of the engine.
    pub fn settle(&mut self, engine: &mut Engine) {
        for _ in 0..TURNS_MAX {
            let turn = engine.reconcile(self.now);
            if turn.actions.is_empty() && self.is_settled() {
                return;
            }
            let idle = turn.actions.is_empty();
            let wake = turn.wake.map(|wake| wake.at);
            self.execute(turn, engine);
            let passed = if idle { wake.unwrap_or(self.now) } else { self.now };
            self.now = passed.max(self.now + Duration::from_millis(1));
        }
        panic!("{} machines did not settle in {TURNS_MAX} turns", self.machines.len());
    }

    fn is_settled(&self) -> bool {
        let status = &self.package_version.status;
        let completed = !status.rollouts.is_empty()
            && status.rollouts.iter().all(|rollout| rollout.completed_at.is_some());
        let is_ready = |machine: &MachineObject| {
            machine.status.condition(ConditionKind::Ready).is_some_and(|ready| ready.truth == Truth::True)
        };
        completed
            && status.observed_generation == self.package_version.meta.generation
            && self.machines.iter().all(is_ready)
    }

    fn act(&mut self, action: &Action) -> (Outcome, Vec<Event>) {
        match (&action.effect, action.target) {
            (Effect::Watch, _) => (Outcome::Done(Receipt::Nothing), self.list()),
            (Effect::Host(order), Target::Host(machine)) => {
                let Fence::Host(fence) = &action.fence else { panic!("{action:?} has no fence") };
                (self.hosts[machine.index()].obey(fence, &order.command), Vec::new())
            }
            (effect, target) => self.write(effect, target),
        }
    }

    fn write(&mut self, effect: &Effect, target: Target) -> (Outcome, Vec<Event>) {
        let resource_version = self.next();
        let seen = match (effect, target) {
            (Effect::WriteLease(record), _) => self.write_lease(record.clone()),
            (Effect::WriteMachineStatus(status), Target::Machine(id)) => {
                let machine = &mut self.machines[id.index()];
                machine.status = (**status).clone();
                machine.meta.resource_version = resource_version;
                self.machine(id)
            }
            (Effect::WriteFinalizers(finalizers), Target::Machine(id)) => {
                let meta = &mut self.machines[id.index()].meta;
                meta.finalizers = finalizers.clone().into();
                meta.resource_version = resource_version;
                self.machine(id)
            }
            (Effect::WriteFinalizers(finalizers), Target::Version(id)) => {
                let meta = &mut self.versions[id.index()].meta;
                meta.finalizers = finalizers.clone().into();
                meta.resource_version = resource_version;
                self.version(id)
            }
            (Effect::WriteFinalizers(finalizers), Target::PackageVersion) => {
                self.package_version.meta.finalizers = finalizers.clone().into();
                self.package_version.meta.resource_version = resource_version;
                self.package_version()
            }
            (Effect::WriteVersionStatus(status), Target::Version(id)) => {
                let version = &mut self.versions[id.index()];
                version.status = (**status).clone();
                version.meta.resource_version = resource_version;
                self.version(id)
            }
            (Effect::WritePackageVersionStatus(status), _) => {
                self.package_version.status = (**status).clone();
                self.package_version.meta.resource_version = resource_version;
                self.package_version()
            }
            other => panic!("no object takes this write: {other:?}"),
        };
        (Outcome::Done(Receipt::Written { resource_version }), vec![seen])
    }

    fn write_lease(&mut self, record: LeaseRecord) -> Event {
        let mut meta = objects::meta(2);
        meta.resource_version = self.resource_version;
        let lease = LeaseObject { meta, record, adopt: None };
        Event::Observed(StoreId::HOME, Observation::Lease(Some(Box::new(lease))))
    }

    fn machine(&self, id: MachineId) -> Event {
        Event::Observed(
            StoreId::HOME,
            Observation::Machine(id, Some(Box::new(self.machines[id.index()].clone()))),
        )
    }

    fn version(&self, id: VersionId) -> Event {
        Event::Observed(
            StoreId::HOME,
            Observation::Version(id, Some(Box::new(self.versions[id.index()].clone()))),
        )
    }

    fn package_version(&self) -> Event {
        Event::Observed(
            StoreId::HOME,
            Observation::PackageVersion(Some(Box::new(self.package_version.clone()))),
        )
    }

    fn next(&mut self) -> u64 {
        self.resource_version += 1;
        self.resource_version
    }
}

fn named(id: NamedId, name: String) -> Event {
    Event::Observed(StoreId::HOME, Observation::Named(Named { id, name: name.into() }))
}

fn machine_id(number: usize) -> MachineId {
    MachineId(u32::try_from(number).unwrap_or(u32::MAX))
}
