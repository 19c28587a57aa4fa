//! An operator process: the real engine, driven as the production binary drives it.

mod build;
mod clock;
mod deadlines;
mod dialect;
mod driver;
mod identity;
mod pause;
mod prefetch;
mod renewal;
mod replacement;
mod watch;

pub(super) use identity::node_certificate;
pub(super) use prefetch::LARGE;

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::v1alpha1;
use seaworthy_engine::{Engine, World as Cache};
use seaworthy_kernel::{Priority, Queue, Seed, Timestamp};
use seaworthy_model::config::Config;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Event as Input, Observation};
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::MachineSpec;
use seaworthy_model::meta::Parsed;
use seaworthy_model::report::Subject;

use super::api_server::KINDS;
use super::event::Event;

use clock::Clock;
use deadlines::Deadlines;
use dialect::Dialect;
use watch::Watch;

use crate::vocabulary::Build;

/// An operator process. A crash drops all of it; messages that it had sent stay in the mail.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// Its number, unique in the run.
    pub number: u32,
    /// The replica that it belongs to.
    pub seat: u32,
    build: Build,
    engine: Engine,
    clock: Clock,
    names: Names,
    dialect: Dialect,
    watches: [Watch; KINDS.len()],
    /// By machine, if it pins components: the last delivered spec, and its parsed form.
    pinning: BTreeMap<MachineId, (Arc<v1alpha1::MachineSpec>, Parsed<MachineSpec>)>,
    deadlines: Deadlines,
    deadline_at: Option<Timestamp>,
    /// The time of its next turn.
    turn_at: Option<Timestamp>,
    /// The times of its turns in the queue, including outdated ones: a handful.
    turns: Vec<Timestamp>,
    /// Whether it asks the API servers for their versions now and then.
    pub(super) asks_versions: bool,
    /// Machines about which it received news since its last turn as a leader; `None` when no observer asks for them.
    touched: Option<Vec<MachineId>>,
}

impl Process {
    /// A process that has just started and knows nothing.
    #[must_use]
    pub(super) fn new((number, seat, build): (u32, u32, Build), seed: Seed, clock: Clock) -> Self {
        let config = build::config(build, Config { holder: holder(number), ..Config::default() });
        let engine = Engine::new(config, Seed(seed.0 ^ u64::from(number) << 32));
        Self {
            number,
            seat,
            build,
            engine,
            clock,
            names: Names::new(),
            dialect: Dialect::default(),
            watches: Default::default(),
            pinning: BTreeMap::new(),
            deadlines: Deadlines::default(),
            deadline_at: None,
            turn_at: None,
            turns: Vec::new(),
            asks_versions: false,
            touched: None,
        }
    }

    /// The same process, which also records about which machines it receives news, if an observer asks for that.
    #[must_use]
    fn followed(self, is_followed: bool) -> Self {
        Self { touched: is_followed.then(Vec::new), ..self }
    }

    /// The machines about which it received news since its last turn as a leader; empty unless it leads.
    fn take_touched(&mut self) -> Vec<MachineId> {
        let leads = |engine: &Engine| engine.world().gate().is_none();
        let touched = self.touched.as_mut().filter(|_| leads(&self.engine));
        touched.map(std::mem::take).unwrap_or_default()
    }

    /// Its engine, and the names of that engine's ids.
    pub(super) const fn mind(&self) -> (&Engine, &Names) {
        (&self.engine, &self.names)
    }

    /// Passes an input to the engine, after the names that the input uses.
    fn observe(&mut self, input: Input) {
        for named in self.names.announce() {
            self.engine.observe(named);
        }
        if let Some(touched) = &mut self.touched {
            touched.extend(machine_of(&input, self.engine.world()));
        }
        self.engine.observe(input);
    }

    pub(super) fn observed(&mut self, observation: Observation) {
        self.observe(Input::Observed(observation));
    }

    /// Schedules a turn at `at`, unless one is due before.
    fn want_turn(&mut self, at: Timestamp, queue: &mut Queue<Event>) {
        let at = at.max(queue.now());
        if self.turn_at.is_some_and(|due| due <= at) {
            return;
        }
        self.turn_at = Some(at);
        // Most news schedule a turn at once. After that turn, the process waits for the same time as before.
        if !self.turns.contains(&at) {
            self.turns.push(at);
            queue.at(at, Priority::DECISION, Event::Turn { process: self.number });
        }
    }

    /// Starts a turn that is due. False if the process does not need one now.
    fn takes_turn(&mut self, now: Timestamp) -> bool {
        self.turns.retain(|at| *at > now);
        self.turn_at.take_if(|due| *due <= now).is_some()
    }

    /// Records that an action is in flight.
    fn track(&mut self, action: ActionId, deadline: Timestamp, queue: &mut Queue<Event>) {
        self.deadlines.insert(action, deadline);
        self.want_deadline(deadline, queue);
    }

    fn want_deadline(&mut self, at: Timestamp, queue: &mut Queue<Event>) {
        if self.deadline_at.is_none_or(|due| due > at) {
            self.deadline_at = Some(at);
            queue.at(at, Priority::NORMAL, Event::Deadline { process: self.number });
        }
    }
}

/// The machine that an input is about.
fn machine_of(input: &Input, world: &Cache) -> Option<MachineId> {
    match input {
        Input::Observed(Observation::Machine(id, _) | Observation::Node(id, _)) => Some(*id),
        Input::Observed(_) => None,
        Input::Finished { action, .. } => match world.in_flight().get(action)?.subject {
            Subject::Machine(id) => Some(id),
            Subject::Leadership
            | Subject::PackageVersion
            | Subject::Version(_)
            | Subject::CertificateRequest(_) => None,
        },
    }
}

/// The name by which the Lease knows a process.
fn holder(number: u32) -> String {
    format!("seaworthy-{number}")
}
