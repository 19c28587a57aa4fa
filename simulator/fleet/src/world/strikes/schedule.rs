//! What faults do at times of their own, and the moments at which their triggers fire.

use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Priority, Timestamp};
use seaworthy_model::id::Kind;

use crate::faults::Moment;
use crate::vocabulary::{Author, Injection, Point, Scheduled, Verb};
use crate::world::World;
use crate::world::api_server::Written;
use crate::world::blindness::Window;
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::writer::Writer;

/// An outage of the API server is noticed, and the watches follow again, within this time after it.
const RECOVERY: Duration = Duration::from_secs(60);
/// Longer than any run.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 86_400);
/// What a trigger lets happen comes after all else of its instant. A replay knows the instant alone, and does the same.
const TRIGGERED: Priority = Priority(Priority::DECISION.0 + 1);

impl World {
    /// Schedules what faults do at times of their own, and the times at which triggers may fire by themselves. When a
    /// plan dictates it, that alone.
    pub(in crate::world) fn schedule_faults(&mut self) {
        if let Some(ledger) = self.ledger.as_ref().filter(|ledger| ledger.is_replay()) {
            for (fault, scheduled) in ledger.scheduled() {
                self.schedule_of(fault, &scheduled);
            }
            return;
        }
        let moment = Moment { origin: self.now(), triggered: false, here: None, quiet: self.quiet };
        let planned = self.rules.plan(&self.draws, &self.scenario.fleet, moment);
        self.schedule_planned(planned);
        for at in self.rules.times() {
            self.queue.at(at, Priority::WORLD, Event::Fault(Box::new(Injection::Time)));
        }
    }

    /// Something happened that triggers may wait for, at host `here` if at any.
    pub(in crate::world) fn pass(&mut self, point: &Point<'_>, here: Option<u32>) {
        if !self.rules.wait() || self.now() >= self.quiet {
            return;
        }
        let moment = Moment { origin: self.now(), triggered: true, here, quiet: self.quiet };
        let planned = self.rules.pass(point, &self.draws, &self.scenario.fleet, moment);
        self.schedule_planned(planned);
    }

    /// A change was committed.
    pub(in crate::world) fn pass_commit(&mut self, written: &Written, writer: Writer) {
        if !self.rules.wait() {
            return;
        }
        let object: &Resource = &written.object.shown();
        let before = written.before.as_ref().map(|before| before.shown());
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
        let before = before.as_deref();
        let name = &object.metadata().name;
        let here = name.strip_prefix("m-").and_then(|number| number.parse().ok());
        let here = here.filter(|_| matches!(object.kind(), Kind::Machine | Kind::Node));
        self.pass(&Point::Commit { verb, by, object, before }, here);
    }

    fn schedule_planned(&mut self, planned: Vec<(usize, Scheduled)>) {
        for (fault, scheduled) in planned {
            if let Some(ledger) = &mut self.ledger {
                ledger.note_scheduled(fault, &scheduled);
            }
            self.schedule_of(fault, &scheduled);
        }
    }

    fn schedule_of(&mut self, fault: usize, scheduled: &Scheduled) {
        self.rules.count_strike(fault);
        let priority = if self.rules.is_triggered(fault) { TRIGGERED } else { Priority::WORLD };
        self.schedule_at(priority, scheduled);
    }

    /// Schedules something that a fault does.
    pub(crate) fn schedule(&mut self, scheduled: &Scheduled) {
        self.schedule_at(Priority::WORLD, scheduled);
    }

    fn schedule_at(&mut self, priority: Priority, scheduled: &Scheduled) {
        let Scheduled { at, injection, end } = *scheduled;
        for (at, injection) in [(at, injection)].into_iter().chain(end) {
            if let Some(window) = blinding(at, injection) {
                let lag = self.blindness.add(window);
                self.happened(&Happening::WatchesLag(lag));
            }
            self.queue.at(at, priority, Event::Fault(Box::new(injection)));
        }
    }
}

/// How far a fault that begins at `at` lets the operator's knowledge fall behind.
fn blinding(at: Timestamp, injection: Injection) -> Option<Window> {
    let window = |kind, from, until, lag| Some(Window { kind, from, until, lag, is_delay: false });
    match injection {
        Injection::HoldWatch(kind, until) => window(Some(kind), at, until, until.since(at)),
        // What it learnt while it stood still it takes in only after its first decisions.
        Injection::Pause { until, .. } => window(None, at, until, until.since(at)),
        Injection::ApiDown(until) => window(None, at, until, until.since(at) + RECOVERY),
        Injection::Throttle { until, .. } => window(None, at, until, until.since(at)),
        Injection::Lag { kind, lag, until } => {
            Some(Window { kind: Some(kind), from: at, until, lag, is_delay: true })
        }
        Injection::Travel { kind, since, until } => window(Some(kind), since, until, until.since(since)),
        Injection::Silence => window(None, at, Timestamp::MAX, FOR_EVER),
        Injection::PowerOff(_)
        | Injection::PowerOn(_)
        | Injection::Cut(_)
        | Injection::Mend(_)
        | Injection::CutSsh(_)
        | Injection::MendSsh(_)
        | Injection::CutKubelet(_)
        | Injection::MendKubelet(_)
        | Injection::Sicken(_)
        | Injection::Recover(_)
        | Injection::FailLate(_)
        | Injection::RecoverLate(_)
        | Injection::KillProgram(_)
        | Injection::Spoil(..)
        | Injection::Crash { .. }
        | Injection::Skew { .. }
        | Injection::Relist(_)
        | Injection::Compact
        | Injection::Cache(_)
        | Injection::RegistryDown(_)
        | Injection::MetricsDown(_)
        | Injection::AddFinalizer(_)
        | Injection::DropFinalizer(_)
        | Injection::StripFinalizer(_)
        | Injection::Lie(..)
        | Injection::Truth(_)
        | Injection::Pretend(..)
        | Injection::Honest(_)
        | Injection::Slow(..)
        | Injection::Fill(_)
        | Injection::MakeRoom(_)
        | Injection::Time => None,
    }
}
