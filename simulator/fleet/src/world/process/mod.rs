//! An operator process: the real engine, driven as the production binary drives it.

pub(in crate::world) mod build;
mod clock;
mod deadlines;
mod dialect;
mod identity;
mod intake;
mod lies;
mod orders;
mod prefetch;
mod reports;
mod watch;

pub(in crate::world) use clock::Clock;
pub(in crate::world) use prefetch::{LARGE, WARM_AT_ONCE};

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::v1alpha1;
use seaworthy_engine::{Engine, World as Cache};
use seaworthy_kernel::{Priority, Queue, Seed, Timestamp};
use seaworthy_model::config::Config;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Event as Input, Observation};
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::machine::MachineSpec;
use seaworthy_model::meta::Parsed;
use seaworthy_model::report::{Blocker, Turn};

use super::api_server::KINDS;
use super::event::Event;
use super::happening::End;

use deadlines::Deadlines;
use dialect::Dialect;
use watch::Watch;

use crate::vocabulary::Build;

/// An operator process. A crash drops all of it; messages that it had sent stay in the mail.
#[derive(Clone, Debug)]
pub(in crate::world) struct Process {
    /// Its number, unique in the run.
    pub(in crate::world) number: u32,
    /// The replica that it belongs to.
    pub(in crate::world) seat: u32,
    pub(in crate::world) build: Build,
    pub(in crate::world) engine: Engine,
    pub(in crate::world) clock: Clock,
    pub(in crate::world) names: Names,
    pub(in crate::world) dialect: Dialect,
    watches: [Watch; KINDS.len()],
    /// By machine, if it pins components: the last delivered spec, and its parsed form.
    pinning: BTreeMap<MachineId, (Arc<v1alpha1::MachineSpec>, Parsed<MachineSpec>)>,
    pub(in crate::world) deadlines: Deadlines,
    pub(in crate::world) deadline_at: Option<Timestamp>,
    /// The time of its next turn.
    turn_at: Option<Timestamp>,
    /// The times of its turns in the queue, including outdated ones: a handful.
    turns: Vec<Timestamp>,
    /// Whether it asks the API servers for their versions now and then.
    pub(in crate::world) asks_versions: bool,
    /// Machines about which it received news since its last turn as a leader; `None` when no observer asks for them.
    touched: Option<Vec<MachineId>>,
}

impl Process {
    /// A process that has just started and knows nothing.
    #[must_use]
    pub(in crate::world) fn new((number, seat, build): (u32, u32, Build), seed: Seed, clock: Clock) -> Self {
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
    pub(in crate::world) fn followed(self, is_followed: bool) -> Self {
        Self { touched: is_followed.then(Vec::new), ..self }
    }

    /// The machines about which it received news since its last turn as a leader; empty unless it leads.
    pub(in crate::world) fn take_touched(&mut self) -> Vec<MachineId> {
        let leads = |engine: &Engine| engine.world().gate(StoreId::HOME).is_none();
        let touched = self.touched.as_mut().filter(|_| leads(&self.engine));
        touched.map(std::mem::take).unwrap_or_default()
    }

    /// Whether the process was asked to stop and has no action left in flight.
    pub(in crate::world) fn has_stopped(&self, turn: &Turn) -> bool {
        turn.actions.is_empty()
            && self.deadlines.is_empty()
            && !self.engine.world().leadership.is_to_let_go()
            && matches!(self.engine.world().gate(StoreId::HOME), Some(Blocker::Stopping))
    }

    /// The reason why the process ends, if it ends now.
    pub(in crate::world) fn end(&self) -> End {
        match self.engine.world().gate(StoreId::HOME) {
            Some(Blocker::SteppedDown { .. }) => End::SteppedDown,
            Some(Blocker::Stopping) => End::Stopped,
            Some(_) | None => End::Crashed,
        }
    }

    /// Its engine, and the names of that engine's ids.
    pub(in crate::world) const fn mind(&self) -> (&Engine, &Names) {
        (&self.engine, &self.names)
    }

    /// Passes an input to the engine, after the names that the input uses.
    pub(in crate::world) fn observe(&mut self, input: Input) {
        for named in self.names.announce() {
            self.engine.observe(named);
        }
        if let Some(touched) = &mut self.touched {
            touched.extend(machine_of(&input, self.engine.world()));
        }
        self.engine.observe(input);
    }

    pub(in crate::world) fn observed(&mut self, observation: Observation) {
        self.observe(Input::Observed(StoreId::HOME, observation));
    }

    /// Schedules a turn at `at`, unless one is due before.
    pub(in crate::world) fn want_turn(&mut self, at: Timestamp, queue: &mut Queue<Event>) {
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
    pub(in crate::world) fn takes_turn(&mut self, now: Timestamp) -> bool {
        self.turns.retain(|at| *at > now);
        self.turn_at.take_if(|due| *due <= now).is_some()
    }

    /// Records that an action is in flight.
    pub(in crate::world) fn track(
        &mut self,
        action: ActionId,
        deadline: Timestamp,
        queue: &mut Queue<Event>,
    ) {
        self.deadlines.insert(action, deadline);
        self.want_deadline(deadline, queue);
    }

    pub(in crate::world) fn want_deadline(&mut self, at: Timestamp, queue: &mut Queue<Event>) {
        if self.deadline_at.is_none_or(|due| due > at) {
            self.deadline_at = Some(at);
            queue.at(at, Priority::NORMAL, Event::Deadline { process: self.number });
        }
    }
}

/// The machine that an input is about.
fn machine_of(input: &Input, world: &Cache) -> Option<MachineId> {
    match input {
        Input::Observed(_, Observation::Machine(id, _) | Observation::Node(id, _)) => Some(*id),
        Input::Observed(..) => None,
        Input::Finished { action, .. } => world.in_flight().get(action)?.subject.machine(),
    }
}

/// The name by which the Lease knows a process.
pub(in crate::world) fn holder(number: u32) -> String {
    format!("seaworthy-{number}")
}
