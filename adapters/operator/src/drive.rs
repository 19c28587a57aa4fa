//! The loop that drives the engine. One task owns it; everything else talks to that task.
//!
//! ```text
//!   watches --updates--> +-----------+ --actions--> executors
//!   executors --answers->|   drive   |
//!   signals --stop-----> +-----------+ --> health, metrics, logs
//! ```
//!
//! All messages that have arrived are observed before the engine decides, so that it never decides on less than is known.

use std::sync::Arc;

use seaworthy_api::host::{translate, wire};
use seaworthy_api::request;
use seaworthy_check::Breach;
use seaworthy_engine::{Engine, World};
use seaworthy_kube::{Projection, Update};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::effect::{Action, ActionId, Effect};
use seaworthy_model::event::{Event, Observation, Outcome, Receipt};
use seaworthy_model::host::Connection;
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::{Blocker, Turn};
use seaworthy_model::requirement::ApiServers;
use seaworthy_model::time::Timestamp;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until};

use crate::clock::Clock;
use crate::executors::Execute;
use crate::flight::{Answer, Flight, Flown, Label, Landed};
use crate::health::PULSE;
use crate::labels;
use crate::recorder::Recorder;
use crate::status::{self, Status};

/// At most this many messages of each kind are observed before the engine decides. Bounds how long a decision waits while a long
/// list arrives.
const BATCH: usize = 4096;

/// Pause after a refused turn: the engine may well order the same again.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);

/// Executors give up by at most this much before the deadline, so that their answer still arrives in time to count.
const MARGIN_MAX: Duration = Duration::from_millis(250);

/// Judges turns: [`seaworthy_check::check`], except in tests of what follows from a refusal.
pub(crate) type Judge = fn(&World, &Turn) -> Vec<Breach>;

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was asked to.
    Stopped,
    /// A newer operator has taken over.
    SteppedDown {
        /// Its epoch.
        by: Epoch,
    },
}

/// The parts of the loop.
pub(crate) struct Parts<X> {
    pub(crate) engine: Engine,
    pub(crate) judge: Judge,
    /// The id of the cluster, by which hosts know their owner.
    pub(crate) cluster: String,
    /// The versions of its API servers.
    pub(crate) api_servers: mpsc::Receiver<ApiServers>,
    pub(crate) executors: X,
    pub(crate) status: Status,
    pub(crate) recorder: Recorder,
    /// How long a stop waits for actions under way.
    pub(crate) stop_grace: Duration,
}

/// The loop.
pub(crate) struct Drive<X> {
    parts: Parts<X>,
    projection: Projection,
    clock: Clock,
    flight: Flight,
    landed: mpsc::UnboundedReceiver<Landed>,
    /// When the engine wants to be asked again.
    wake: Option<Timestamp>,
    /// When a stop gives up waiting.
    stop_by: Option<Instant>,
    /// The engine is not called before this time.
    held_until: Option<Instant>,
    /// What was wrong with the last refused turn.
    breaches: Vec<Breach>,
}

impl<X: Execute> Drive<X> {
    pub(crate) fn new(parts: Parts<X>) -> Self {
        let (flight, landed) = Flight::new();
        Self {
            parts,
            projection: Projection::new(),
            clock: Clock::new(),
            flight,
            landed,
            wake: None,
            stop_by: None,
            held_until: None,
            breaches: Vec::new(),
        }
    }

    /// Runs until `stop` completes and the actions under way have ended, or until a newer operator takes over.
    pub(crate) async fn run(
        mut self,
        mut updates: mpsc::Receiver<Update>,
        stop: impl Future<Output = ()>,
    ) -> Exit {
        tokio::pin!(stop);
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                () = &mut stop, if self.stop_by.is_none() => self.stop(),
                Some(landed) = self.landed.recv() => self.land(landed),
                Some(update) = updates.recv() => self.take(update),
                Some(found) = self.parts.api_servers.recv() => self.observe(Observation::ApiServers(found)),
                () = sleep_until(due) => {}
            }
            self.take_waiting(&mut updates);
            if let Some(exit) = self.turn() {
                return exit;
            }
        }
    }

    /// When the loop has to turn although nothing happens.
    fn due(&self) -> Instant {
        let engine = self.wake.map(|at| self.clock.instant(at));
        let engine = engine.max(self.held_until.filter(|_| engine.is_some()));
        let deadline = self.flight.next_deadline().map(|at| self.clock.instant(at));
        let pulse = Instant::now() + PULSE;
        [engine, deadline, self.stop_by].into_iter().flatten().fold(pulse, Instant::min)
    }

    fn stop(&mut self) {
        tracing::info!(under_way = self.flight.len(), "stopping");
        self.stop_by = Some(Instant::now() + self.parts.stop_grace);
        self.observe(Observation::Stopping);
    }

    /// Observes the other messages that have arrived.
    fn take_waiting(&mut self, updates: &mut mpsc::Receiver<Update>) {
        for _ in 0..BATCH {
            let Ok(landed) = self.landed.try_recv() else { break };
            self.land(landed);
        }
        for _ in 0..BATCH {
            let Ok(update) = updates.try_recv() else { break };
            self.take(update);
        }
        let now = self.clock.now();
        while let Some((action, flown)) = self.flight.expire(now) {
            self.finish(action, &flown, Outcome::Unknown);
        }
    }

    fn take(&mut self, update: Update) {
        for observation in self.projection.take(update) {
            self.observe(observation);
        }
    }

    fn land(&mut self, Landed { action, answer }: Landed) {
        let Some(flown) = self.flight.land(action) else {
            tracing::debug!(action = action.0, "answered too late");
            return;
        };
        let outcome = match answer {
            Answer::Outcome(outcome) => outcome,
            Answer::Reply { reply, host_key } => {
                let ordered = self.parts.engine.world().in_flight().get(&action);
                let machine =
                    ordered.and_then(|ordered| ordered.subject.machine()).unwrap_or(MachineId(u32::MAX));
                let sender = translate::Sender { machine, host_key: Some(host_key) };
                let names = self.projection.names_mut();
                let outcome = translate::outcome(*reply, &self.parts.cluster, sender, names);
                for event in names.announce() {
                    self.parts.engine.observe(event);
                }
                outcome
            }
        };
        self.finish(action, &flown, outcome);
    }

    fn finish(&mut self, action: ActionId, flown: &Flown, outcome: Outcome) {
        self.parts.status.ended(action, flown, &outcome);
        self.parts.recorder.ended(action, &outcome, self.clock.now());
        self.parts.engine.observe(Event::Finished { action, outcome });
    }

    fn observe(&mut self, observation: Observation) {
        self.parts.engine.observe(Event::Observed(StoreId::HOME, observation));
    }

    /// Lets the engine decide once, and starts its actions.
    fn turn(&mut self) -> Option<Exit> {
        self.parts.status.beat();
        if self.held_until.is_some_and(|until| Instant::now() < until) {
            return self.exit(true);
        }
        self.held_until = None;
        let began = Instant::now();
        let now = self.clock.now();
        let turn = self.parts.engine.reconcile(now);
        let breaches = (self.parts.judge)(self.parts.engine.world(), &turn);
        self.parts.status.turned(began.elapsed());
        let idle = turn.actions.is_empty();
        self.wake = turn.wake.map(|wake| wake.at);
        if breaches.is_empty() {
            self.breaches.clear();
            for action in turn.actions {
                self.order(action);
            }
        } else {
            self.refuse(turn, breaches);
        }
        self.parts.status.refresh(&self.parts.engine, &self.projection, self.flight.len());
        self.exit(!idle)
    }

    /// Whether the loop has come to its end.
    fn exit(&self, busy: bool) -> Option<Exit> {
        if let Some(Blocker::SteppedDown { by }) = self.parts.engine.world().leadership.gate() {
            if self.stop_by.is_some() {
                return Some(Exit::Stopped);
            }
            tracing::warn!(by = by.0, abandoned = self.flight.len(), "another operator has taken over");
            return Some(Exit::SteppedDown { by });
        }
        let stop_by = self.stop_by?;
        let lets_go = self.parts.engine.world().leadership.is_to_let_go();
        if self.flight.len() == 0 && !busy && !lets_go {
            tracing::info!("stopped, nothing is under way");
            return Some(Exit::Stopped);
        }
        if Instant::now() >= stop_by {
            let left: Vec<_> =
                self.flight.labels().map(|label| format!("{} {}", label.effect, label.object)).collect();
            tracing::warn!(?left, "stopped while this was under way; the next operator will look after it");
            return Some(Exit::Stopped);
        }
        None
    }

    /// Answers a turn that would break an invariant, instead of carrying it out.
    fn refuse(&mut self, turn: Turn, breaches: Vec<Breach>) {
        self.parts.status.guarded();
        if breaches != self.breaches {
            for Breach { invariant, action, detail } in &breaches {
                let orders = turn.actions.len();
                tracing::error!(invariant, ?action, detail, orders, "a turn was refused: this is a bug");
            }
        }
        let words = breaches.iter().map(|breach| format!("{}: {}", breach.invariant, breach.detail));
        let cause = Cause::new(CauseKind::Guard, words.collect::<Vec<_>>().join("; "));
        for action in turn.actions {
            self.parts.status.refused(&labels::action(
                &action,
                self.parts.engine.world(),
                self.projection.names(),
            ));
            let outcome = Outcome::Refused(cause.clone());
            self.parts.engine.observe(Event::Finished { action: action.id, outcome });
        }
        self.breaches = breaches;
        self.held_until = Some(Instant::now() + REFUSAL_PAUSE);
        self.wake = Some(self.clock.now());
    }

    /// Starts one action.
    fn order(&mut self, action: Action) {
        let label = labels::action(&action, self.parts.engine.world(), self.projection.names());
        status::began(action.id, &label);
        self.parts.recorder.began(&action, self.parts.engine.world(), self.projection.names());
        match self.prepare(&action) {
            Ok(Order::Watch) => {
                let generation = self.projection.restart();
                self.parts.executors.watch(generation);
                self.answer(action.id, label, Outcome::Done(Receipt::Nothing));
            }
            Ok(Order::Write(request)) => {
                let work = self.parts.executors.write(*request, self.patience(action.deadline));
                self.flight.launch(action.id, action.deadline, label, work);
            }
            Ok(Order::Work(connection, request)) => {
                let patience = self.patience(action.deadline);
                let work = self.parts.executors.work(connection, *request, patience);
                self.flight.launch(action.id, action.deadline, label, work);
            }
            Err(cause) => {
                tracing::error!(
                    effect = label.effect,
                    object = label.object,
                    detail = cause.detail,
                    "not possible"
                );
                self.answer(action.id, label, Outcome::Refused(cause));
            }
        }
    }

    /// Answers an action without a task: it lands in the next round like any other.
    fn answer(&mut self, action: ActionId, label: Label, outcome: Outcome) {
        self.flight.launch(action, Timestamp::MAX, label, async { Answer::Outcome(outcome) });
    }

    /// Until when an executor may try.
    fn patience(&self, deadline: Timestamp) -> Instant {
        let span = deadline.since(self.parts.engine.world().now());
        self.clock.instant(deadline - (span / 8).min(MARGIN_MAX))
    }

    /// Translates an action for its executor.
    fn prepare(&mut self, action: &Action) -> Result<Order, Cause> {
        if action.store != StoreId::HOME {
            let why = format!("there is no connection to API server {}", action.store.0);
            return Err(Cause::new(CauseKind::ApiRefused, why));
        }
        let names = self.projection.names_mut();
        if action.effect == Effect::Watch {
            return Ok(Order::Watch);
        }
        let Effect::Host(order) = &action.effect else {
            let request = request::request(action, names)
                .map_err(|error| Cause::new(CauseKind::ApiRefused, error.to_string()))?;
            return Ok(Order::Write(Box::new(request)));
        };
        let invalid = |why: String| Cause::new(CauseKind::OperationInvalid, why);
        let request = translate::request(action, names, &self.parts.cluster)
            .map_err(|error| invalid(error.to_string()))?
            .ok_or_else(|| invalid("the order has no fence".into()))?;
        Ok(Order::Work(Arc::clone(&order.connection), Box::new(request)))
    }
}

/// An action as its executor takes it.
enum Order {
    Watch,
    Write(Box<request::Request>),
    Work(Arc<Connection>, Box<wire::Request>),
}

#[cfg(test)]
mod tests;
