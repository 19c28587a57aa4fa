//! Where faults strike: every point of the world at which something may go wrong asks here what does.

use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Priority, Timestamp};
use seaworthy_model::id::Kind;

use super::World;
use super::api_server::{KINDS, Written};
use super::arrival::Writer;
use super::event::{Event, Injection};
use super::mail::Sender;
use crate::faults::trigger::{Author, Point, Verb};
use crate::faults::{Chance, Moment, OperationFate, OrderFate, RequestFate};
use crate::scenario::{KindName, Occasion};

/// An outage of the API server is noticed, and the watches follow again, within this time after it.
const RECOVERY: Duration = Duration::from_secs(60);
/// Longer than any run.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 86_400);

impl World {
    /// What becomes of a request.
    pub(in crate::world) fn request_fate(&mut self, sender: Sender) -> RequestFate {
        let mut fate = RequestFate::default();
        let draws = self.draws;
        let chance = self.chance(&draws, sender);
        self.rules.strike(&chance, &mut fate, |fault, chance, fate| fault.on_request(chance, fate));
        fate
    }

    /// What becomes of an order.
    pub(in crate::world) fn order_fate(&mut self, sender: Sender) -> OrderFate {
        let mut fate = OrderFate::default();
        let draws = self.draws;
        let chance = self.chance(&draws, sender);
        self.rules.strike(&chance, &mut fate, |fault, chance, fate| fault.on_order(chance, fate));
        fate
    }

    /// What becomes of an operation.
    pub(in crate::world) fn operation_fate(&mut self, host: u32, run: u32) -> OperationFate {
        let mut fate = OperationFate::default();
        let draws = self.draws;
        let (now, quiet) = (self.queue.now(), self.quiet);
        let (owner, occurrence) = (u64::from(host), u64::from(run));
        let chance = Chance { draws: &draws, key: 0, owner, occurrence, now, quiet };
        self.rules.strike(&chance, &mut fate, |fault, chance, fate| fault.on_operation(chance, fate));
        fate
    }

    fn chance<'a>(&self, draws: &'a seaworthy_kernel::Draws, sender: Sender) -> Chance<'a> {
        let (owner, occurrence) = (u64::from(sender.process), sender.action.0);
        Chance { draws, key: 0, owner, occurrence, now: self.queue.now(), quiet: self.quiet }
    }

    /// Whether a watch of `process` leaves a change out.
    pub(in crate::world) fn is_event_lost(&mut self, process: u32, kind: Kind, revision: u64) -> bool {
        let Some(name) = KindName::ALL.into_iter().find(|name| name.kind() == kind) else { return false };
        let place = KINDS.iter().position(|of| *of == kind).unwrap_or_default() as u64;
        let draws = self.draws;
        let (now, quiet) = (self.queue.now(), self.quiet);
        let owner = u64::from(process) << 8 | place;
        let chance = Chance { draws: &draws, key: 0, owner, occurrence: revision, now, quiet };
        let mut lost = false;
        self.rules.strike(&chance, &mut lost, |fault, chance, lost| fault.on_event(chance, name, lost));
        if lost {
            self.tally.note(Occasion::EventLost);
        }
        lost
    }

    /// Plans what faults do at times of their own, and the times at which triggers may fire by themselves.
    pub(super) fn plan_faults(&mut self) {
        let moment = Moment { origin: self.now(), triggered: false, here: None, quiet: self.quiet };
        let planned = self.rules.plan(&self.draws, &self.scenario.fleet, moment);
        self.plan_injections(planned);
        for at in self.rules.times() {
            self.queue.at(at, Priority::WORLD, Event::Fault(Injection::Time));
        }
    }

    /// Something happened that triggers may wait for, at host `here` if at any.
    pub(in crate::world) fn pass(&mut self, point: &Point<'_>, here: Option<u32>) {
        if !self.rules.wait() || self.now() >= self.quiet {
            return;
        }
        let moment = Moment { origin: self.now(), triggered: true, here, quiet: self.quiet };
        let planned = self.rules.pass(point, &self.draws, &self.scenario.fleet, moment);
        self.plan_injections(planned);
    }

    /// A change was committed.
    pub(in crate::world) fn pass_commit(&mut self, written: &Written, writer: Writer) {
        if !self.rules.wait() {
            return;
        }
        let object: &Resource = &written.object.resource();
        let before = written.before.as_ref().map(|before| before.resource());
        let verb = if written.removed {
            Verb::Delete
        } else if let Some(before) = &before {
            let leaves = object.metadata().deletion_timestamp.is_some();
            let left = before.metadata().deletion_timestamp.is_some();
            if leaves && !left { Verb::Terminate } else { Verb::Update }
        } else {
            Verb::Create
        };
        let by = if writer == Writer::Operator { Author::Operator } else { Author::Other };
        let before = before.as_ref();
        let name = &object.metadata().name;
        let here = name.strip_prefix("m-").and_then(|number| number.parse().ok());
        let here = here.filter(|_| matches!(object.kind(), Kind::Machine | Kind::Node));
        self.pass(&Point::Commit { verb, by, object, before }, here);
    }

    fn plan_injections(&mut self, planned: Vec<(Timestamp, Injection)>) {
        for (at, injection) in planned {
            if let Some(lag) = lag(at, injection) {
                self.oracle.watches_lag(lag);
            }
            self.queue.at(at, Priority::WORLD, Event::Fault(injection));
        }
    }
}

/// How far a fault that begins at `at` lets the operator's knowledge fall behind.
fn lag(at: Timestamp, injection: Injection) -> Option<Duration> {
    match injection {
        Injection::HoldWatch(_, until) => Some(until.since(at)),
        Injection::ApiDown(until) => Some(until.since(at) + RECOVERY),
        Injection::Throttle { until, .. } => Some(until.since(at)),
        Injection::Lag { lag, .. } => Some(lag),
        Injection::Travel { since, until, .. } => Some(until.since(since)),
        Injection::Silence => Some(FOR_EVER),
        Injection::PowerOff(_)
        | Injection::PowerOn(_)
        | Injection::Cut(_)
        | Injection::Mend(_)
        | Injection::Spoil(..)
        | Injection::Crash { .. }
        | Injection::Relist(_)
        | Injection::Compact
        | Injection::Cache(_)
        | Injection::RegistryDown(_)
        | Injection::AddFinalizer(_)
        | Injection::DropFinalizer(_)
        | Injection::StripFinalizer(_)
        | Injection::Lie(..)
        | Injection::Truth(_)
        | Injection::Slow(..)
        | Injection::Time => None,
    }
}
