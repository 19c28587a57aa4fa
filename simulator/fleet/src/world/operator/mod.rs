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

/// An operator process. A crash drops it whole; what it had sent lives on in the mail.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// Its number: no two ever have the same.
    pub number: u32,
    /// The replica that it belongs to.
    pub seat: u32,
    build: Build,
    engine: Engine,
    clock: Clock,
    names: Names,
    dialect: Dialect,
    watches: [Watch; KINDS.len()],
    /// By machine, if it pins components: the spec that was delivered last, and what was read from it.
    pinning: BTreeMap<MachineId, (Arc<v1alpha1::MachineSpec>, Parsed<MachineSpec>)>,
    deadlines: Deadlines,
    deadline_at: Option<Timestamp>,
    /// When it decides next.
    turn_at: Option<Timestamp>,
    /// When turns of it are due in the queue, also those before which it decided otherwise: a handful.
    turns: Vec<Timestamp>,
    /// It asks the API servers for their versions now and then.
    pub(super) asks_versions: bool,
    /// Machines of which it learnt something since it last decided as a leader; `None` when nobody wants to know.
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

    /// The same, and it keeps in mind which machines it learns something of, if somebody wants to know.
    #[must_use]
    fn followed(self, is_followed: bool) -> Self {
        Self { touched: is_followed.then(Vec::new), ..self }
    }

    /// The machines of which it learnt something since it last decided as a leader; none unless it leads.
    fn take_touched(&mut self) -> Vec<MachineId> {
        let leads = |engine: &Engine| engine.world().gate().is_none();
        let touched = self.touched.as_mut().filter(|_| leads(&self.engine));
        touched.map(std::mem::take).unwrap_or_default()
    }

    /// Its engine, and the names of that engine's ids.
    pub(super) const fn mind(&self) -> (&Engine, &Names) {
        (&self.engine, &self.names)
    }

    /// Hands an input to the engine, after the names that it uses.
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

    /// Asks for a turn at `at`, unless one is due before.
    fn want_turn(&mut self, at: Timestamp, queue: &mut Queue<Event>) {
        let at = at.max(queue.now());
        if self.turn_at.is_some_and(|due| due <= at) {
            return;
        }
        self.turn_at = Some(at);
        // Most of what it learns asks for a turn at once, and after that one it waits for the same time as before.
        if !self.turns.contains(&at) {
            self.turns.push(at);
            queue.at(at, Priority::DECISION, Event::Turn { process: self.number });
        }
    }

    /// Takes up a turn that is due. False if it does not want one any more, or not yet.
    fn takes_turn(&mut self, now: Timestamp) -> bool {
        self.turns.retain(|at| *at > now);
        self.turn_at.take_if(|due| *due <= now).is_some()
    }

    /// Notes that an action is under way.
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

/// The machine that an input tells something about.
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
