//! The simulated world: an API server, hosts with kubelets, operator processes, users, and one queue of events.

#[macro_use]
mod setting;

pub mod api_server;
pub mod host;

mod api_servers;
mod arrival;
mod blindness;
mod catalogue;
mod cluster;
mod disturbance;
mod event;
mod gate_checks;
mod happening;
mod host_life;
mod lookahead;
mod mail;
mod node;
mod operator;
mod people;
pub mod pki;
mod probes;
mod process;
mod replicas;
mod strikes;
mod view;
mod writer;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use seaworthy_api::object::{Machine, Resource};
use seaworthy_kernel::{Draws, Priority, Queue, Seed, Share, Timestamp, TraceHash, word};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Architecture;
use seaworthy_model::host::Connection;
use seaworthy_model::id::Kind;
use seaworthy_model::machine::HostId;

pub(crate) use api_server::OPERATOR;
use api_servers::ApiServers;
use blindness::Blindness;
use disturbance::Disturbance;
pub(crate) use event::Event;
use host::Host;
use mail::Mail;
use node::{Deed, Kubelet, LateHarms, Marks, NodeSoftware, Pods};
use probes::GateChecks;
use process::Process;
pub(crate) use replicas::Replicas;

pub use catalogue::Catalogue;
pub use happening::End;
pub(crate) use happening::{Ahead, Began, Commit, Evicted, Happening, NodeWrite, Turned};
pub use node::GRACE;
pub(crate) use node::PODS_MAX;

use crate::faults::{Ledger, Rule, Rules};
use crate::options::Options;
use crate::scenario::Scenario;
use crate::vocabulary::{Build, Occasion, Pace, START, Skew, Step, host_number};

/// An observer of a running world. Nothing that it does changes the world: a run is the same with and without it.
pub(crate) trait Observer: Any + Debug + Send {
    /// Observes a happening, in the present state of the world.
    fn observe(&mut self, world: &World, happening: &Happening<'_>);

    /// Whether it has found that something is wrong, so that the run may end.
    fn objects(&self) -> bool;

    /// What it needs besides what every observer is told.
    fn interests(&self) -> Interests;

    /// Prefetches what it needs next. The returned sum has no meaning.
    fn prefetch(&self, ahead: Ahead) -> u64;

    /// A copy of the observer, for a clone of the world that continues on its own.
    fn fork(&self) -> Box<dyn Observer>;
}

/// What an observer needs besides what every observer is told. Most runs need none of it, and there is much of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interests {
    /// Every finished event: [`Happening::Event`].
    pub events: bool,
    /// What operator processes send: [`Happening::Requests`] and [`Happening::Commands`].
    pub messages: bool,
    /// What befalls single machines: [`Happening::StepBegan`] and [`Turned::touched`].
    pub machines: bool,
}

impl Clone for Box<dyn Observer> {
    fn clone(&self) -> Self {
        self.as_ref().fork()
    }
}

/// A simulated world in the middle of a run. A clone continues on its own.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) options: Options,
    pub(crate) seed: Seed,
    pub(crate) draws: Draws,
    pub(crate) queue: Queue<Event>,
    pub(crate) trace: TraceHash,
    pub(crate) api_servers: ApiServers,
    pub(crate) hosts: Vec<Host>,
    pub(crate) catalogue: Catalogue,
    /// The observer, if there is one. It is taken out while it observes.
    observer: Option<Box<dyn Observer>>,
    /// What the observer needs.
    interests: Interests,
    /// When the operator last wrote to the API server.
    pub(crate) last_write: Timestamp,
    /// When an operation last ended on a host, or a host last drifted.
    pub(crate) last_operation: Timestamp,
    kubelets: Vec<Kubelet>,
    /// Which versions are kubelets, and what they need.
    software: NodeSoftware,
    /// What runs on the Nodes, if the scenario has any pods.
    pods: Option<Box<Pods>>,
    /// Hosts whose Nodes were deleted.
    nodes_gone: BTreeSet<u32>,
    /// Hosts whose Nodes users have cordoned.
    cordoned_by_people: BTreeSet<u32>,
    /// What operators have put on Nodes.
    marks: Marks,
    processes: Vec<Option<Box<Process>>>,
    live: Vec<u32>,
    /// Suspended processes, each with the end of its pause.
    paused: BTreeMap<u32, Timestamp>,
    /// By seat: the build that starts there, if it is not the first one.
    builds: BTreeMap<u32, Build>,
    /// The build that replaces the running operators.
    next_build: Build,
    /// By seat: how the clocks of its processes are wrong.
    skews: BTreeMap<u32, Skew>,
    mail: Mail,
    /// By the machine's id: the last connection to its host that was used, and where it leads.
    routes: Vec<Option<(Arc<Connection>, u32)>>,
    /// What is due about certificates of nodes.
    deeds: Vec<Option<Deed>>,
    /// The objects that users applied last, except the machines of the fleet.
    applied: BTreeMap<(Kind, Arc<str>), Arc<Resource>>,
    pub(crate) replicas: Replicas,
    rules: Rules,
    disturbance: Disturbance,
    blindness: Blindness,
    /// Hosts that lose power in a certain step, and for how long.
    breaks: BTreeMap<u32, (Step, std::time::Duration)>,
    /// Hosts on which the host program is killed in a certain step.
    kills: BTreeMap<u32, Step>,
    /// Releases that harm their Nodes later.
    late: LateHarms,
    /// What gates ask besides the machines.
    gate_checks: GateChecks,
    failures: Vec<Option<(CauseKind, Share)>>,
    /// The ledger that records or dictates strikes, if there is one.
    pub(crate) ledger: Option<Box<Ledger>>,
    pace: Pace,
    /// The start of the quiet phase, in which no fault strikes.
    pub(crate) quiet: Timestamp,
}

impl World {
    /// The world of a scenario at its beginning: every object is applied, and no operator has started. It has no
    /// observer.
    #[must_use]
    pub fn new(scenario: Arc<Scenario>, options: Options) -> Self {
        Self::observed(scenario, options, None, None)
    }

    /// The same world, with a ledger that records or dictates strikes, and an observer.
    #[must_use]
    pub(crate) fn observed(
        scenario: Arc<Scenario>,
        options: Options,
        ledger: Option<Ledger>,
        observer: Option<Box<dyn Observer>>,
    ) -> Self {
        let seed = options.seed.unwrap_or_else(|| scenario.seed());
        let draws = Draws::new(seed);
        let quiet = START + scenario.quiet.after.0;
        let hosts = (0..scenario.fleet.machines).map(|number| new_host(&scenario, &draws, number)).collect();
        let mut world = Self {
            seed,
            queue: Queue::new(START),
            trace: TraceHash::EMPTY,
            api_servers: ApiServers::new(draws),
            catalogue: Catalogue::default(),
            interests: observer.as_ref().map(|observer| observer.interests()).unwrap_or_default(),
            observer,
            last_write: START,
            last_operation: START,
            kubelets: Vec::new(),
            software: NodeSoftware::default(),
            pods: None,
            nodes_gone: BTreeSet::new(),
            cordoned_by_people: BTreeSet::new(),
            marks: Marks::default(),
            hosts,
            processes: Vec::new(),
            live: Vec::new(),
            paused: BTreeMap::new(),
            builds: BTreeMap::new(),
            next_build: Build::default(),
            skews: BTreeMap::new(),
            mail: Mail::default(),
            routes: Vec::new(),
            deeds: Vec::new(),
            applied: BTreeMap::new(),
            replicas: Replicas::new(scenario.fleet.api_server.map(|version| version.0)),
            rules: Rules::new(keyed_rules(&scenario), ledger.as_ref().is_some_and(Ledger::is_replay)),
            disturbance: Disturbance::default(),
            blindness: Blindness::default(),
            breaks: BTreeMap::new(),
            kills: BTreeMap::new(),
            late: LateHarms::default(),
            gate_checks: GateChecks::default(),
            failures: Vec::new(),
            ledger: ledger.map(Box::new),
            pace: scenario.hosts.pace(),
            quiet,
            draws,
            options,
            scenario,
        };
        world.learn_failures();
        world.learn_software();
        world.place_found();
        world.populate();
        world.start_pods();
        world.plan();
        world
    }

    /// Processes the next event, if one is due at `until` or before. Otherwise advances the clock to `until` and
    /// returns false. Heartbeats that change nothing are processed on the way and do not count, so the steps are the
    /// same in folded and explicit mode.
    pub fn step_until(&mut self, until: Timestamp) -> bool {
        loop {
            self.look_ahead();
            let Some(event) = self.queue.next_until(until) else { return false };
            let before = self.trace;
            let is_heartbeat = event.is_heartbeat();
            let noted = self.interests.events.then(|| event.clone());
            self.happen(event);
            if is_heartbeat && self.trace == before {
                continue;
            }
            if let Some(event) = &noted {
                self.happened(&Happening::Event(event));
            }
            return true;
        }
    }

    fn happen(&mut self, event: Event) {
        if !event.is_heartbeat() && self.postpone(&event) {
            return;
        }
        match event {
            Event::Start { seat } => self.start_process(seat),
            Event::Replace { seat } => self.replace(seat),
            Event::Stop { process } => self.stop_process(process),
            Event::Kill { process } => self.kill_process(process),
            Event::Mail(number) => self.arrive(number),
            Event::Deliver { process, kind } => self.deliver(process, kind),
            Event::List { process, kind } => self.list(process, kind),
            Event::Versions { process } => self.versions_told(process),
            Event::Turn { process } => self.turn(process),
            Event::Deadline { process } => self.give_up(process),
            Event::Step { host, run } => self.step(host, run),
            Event::Fetched { host, number } => self.fetched(host, number),
            Event::Boot(host) => drop(self.start(host)),
            Event::Renewal { host } => self.renewal(host),
            Event::Expiry { host } => self.expiry(host),
            Event::People(moment) => self.people_act(moment),
            Event::Adoption => self.adopt_again(),
            Event::Override => self.override_gates(),
            Event::Confirmation => self.confirm_rollouts(),
            Event::Workload { index, occurrence } => self.workload_acts(index, occurrence),
            Event::Certificate(number) => self.certificate_due(number),
            Event::Pod { pod, step } => self.pod_steps(pod, step),
            Event::Fault(injection) => self.inject(*injection),
        }
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.queue.now()
    }

    /// The seed of the run.
    #[must_use]
    pub const fn seed(&self) -> Seed {
        self.seed
    }

    /// The host that has this address.
    fn host_at(&self, address: &str) -> Option<u32> {
        host_number(address).filter(|number| (*number as usize) < self.hosts.len())
    }

    /// The host that a Machine means.
    pub(crate) fn host_of(&self, machine: &Machine) -> Option<&Host> {
        self.hosts.get(host_number(&machine.spec.address.ip)? as usize)
    }

    fn learn_failures(&mut self) {
        for failing in &self.scenario.hosts.failing {
            let number = self.catalogue.version(&failing.version).0 as usize;
            if self.failures.len() <= number {
                self.failures.resize(number + 1, None);
            }
            self.failures[number] = Some((failing.cause.kind(), failing.share.0));
        }
    }

    /// Schedules what is known in advance: the operator, users, faults.
    fn plan(&mut self) {
        for seat in 0..self.scenario.fleet.operators {
            self.queue.after(std::time::Duration::from_secs(1), Priority::NORMAL, Event::Start { seat });
        }
        for (index, moment) in (0..).zip(&self.scenario.timeline) {
            self.queue.at(START + moment.at.0, Priority::WORLD, Event::People(index));
        }
        self.plan_workloads();
        self.schedule_faults();
        self.start_kubelets();
    }
}

impl World {
    /// Reports a happening to the observer.
    fn happened(&mut self, happening: &Happening<'_>) {
        if let Some(mut observer) = self.observer.take() {
            observer.observe(self, happening);
            self.observer = Some(observer);
        }
    }

    /// Reports a message of an operator process, if the observer needs messages: every renewal of a Lease is one.
    fn message_sent(&mut self, message: &Happening<'_>) {
        if self.interests.messages {
            self.happened(message);
        }
    }

    /// Something that is counted happened once more.
    pub(crate) fn note_occasion(&mut self, occasion: Occasion) {
        self.happened(&Happening::Occasion(occasion));
    }

    /// Whether the observer has found that something is wrong.
    pub(crate) fn is_objected_to(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.objects())
    }

    /// Lets the observer prefetch what it needs next.
    fn prefetch(&self, ahead: Ahead) -> u64 {
        self.observer.as_ref().map_or(0, |observer| observer.prefetch(ahead))
    }

    /// The observer, if there is one.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// Changes the observer, if there is one.
    pub(crate) fn change_observer<R>(
        &mut self,
        change: impl FnOnce(Option<&mut (dyn Observer + 'static)>) -> R,
    ) -> R {
        let result = change(self.observer.as_deref_mut());
        self.interests = self.observer.as_ref().map(|observer| observer.interests()).unwrap_or_default();
        result
    }
}

fn new_host(scenario: &Scenario, draws: &Draws, number: u32) -> Host {
    let owner = u64::from(number);
    let identity = u128::from(draws.bits(word("machine-id"), owner, 0)) << 64
        | u128::from(draws.bits(word("machine-id"), owner, 1));
    let arm64 = draws.chance(word("architecture"), owner, 0, scenario.fleet.arm64.0);
    Host::new(HostId(identity), if arm64 { Architecture::Arm64 } else { Architecture::Amd64 })
}

/// The faults, each with the key of its draws: its name, and its place among those of the same name.
fn keyed_rules(scenario: &Scenario) -> Vec<(u64, Rule)> {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut keyed = Vec::new();
    for rule in &scenario.faults {
        let place = seen.entry(rule.fault.name()).or_default();
        keyed.push((word(rule.fault.name()) ^ *place << 32, rule.clone()));
        *place += 1;
    }
    keyed
}
