//! What happens on hosts: steps of operations, power, the network, and changes by hand.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::cause::Cause;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::Drift;

use super::World;
use super::event::Event;
use super::happening::{Began, Happening};
use super::host::{Command, Ended, Order, Progress, Work};
use super::mail::{Letter, Sender};
use super::meeting::Encounter;
use crate::vocabulary::{Injection, Occasion, OperationFate, Point, Step};

/// The time until the loss of a connection is noticed through unanswered keep-alives.
const KEEP_ALIVE: Span = Span::millis(15_000, 45_000);
/// The time from power-on to the start of the host program.
const BOOT: Span = Span::millis(8_000, 20_000);

impl World {
    /// A fault strikes or ends.
    pub(super) fn inject(&mut self, injection: Injection) {
        self.happened(&Happening::Injected(injection));
        match injection {
            Injection::PowerOff(host) => self.power_off(host),
            Injection::PowerOn(host) => self.power_on(host),
            Injection::Cut(host) => self.cut(host),
            Injection::Mend(host) => self.mend(host),
            Injection::Spoil(host, drift) => self.spoil(host, drift),
            Injection::Crash { seat } => self.crash_seat(seat),
            Injection::Pause { seat, until } => self.pause(seat, until),
            Injection::Skew { seat, skew } => self.skew(seat, skew),
            Injection::HoldWatch(kind, until) => self.hold_watch(kind, until),
            Injection::Lag { kind, lag, until } => self.lag_watch(kind, lag, until),
            Injection::Relist(kind) => self.relist(kind),
            Injection::Compact => self.compact(),
            Injection::Cache(kind) => self.cache(kind),
            Injection::Travel { kind, since, until } => self.travel(kind, since, until),
            Injection::ApiDown(until) => self.api_down(until),
            Injection::Throttle { per_second, burst, until } => self.throttle(per_second, burst, until),
            Injection::RegistryDown(until) => self.registry_down(until),
            Injection::AddFinalizer(host) => self.add_finalizer(host),
            Injection::DropFinalizer(host) => self.drop_finalizer(host),
            Injection::StripFinalizer(host) => self.strip_finalizer(host),
            Injection::Lie(host, says) => self.lie(host, says),
            Injection::Truth(host) => self.tell_truth(host),
            Injection::Slow(host, factor) => self.slow(host, factor),
            Injection::Fill(host) => self.fill(host),
            Injection::MakeRoom(host) => self.make_room(host),
            Injection::Time => self.pass(&Point::Time, None),
            Injection::Silence => {}
        }
    }

    /// An operation begins; its first step ends after `length`.
    pub(super) fn operation_begun(&mut self, number: u32, order: &Order, sent: Timestamp, length: Duration) {
        let Command::Apply(work) = order.command else { return };
        let host = &self.hosts[number as usize];
        let Some(run) = host.running().map(|running| running.run) else { return };
        let mut fate = OperationFate::default();
        let place = |world: &Self| world.place_of_operation(number, &work);
        let encounter = Encounter { owner: u64::from(number), occurrence: u64::from(run), is_renewal: false };
        self.meet(encounter, place, |model, chance| {
            model.on_operation(chance, &mut fate);
        });
        if let Some(breaks) = fate.breaks {
            self.breaks.insert(number, breaks);
        }
        self.happened(&Happening::Began(Began { host: number, order, work: &work, sent }));
        self.step_begun(number, run, Step::Lock, length);
    }

    fn step_begun(&mut self, number: u32, run: u32, step: Step, length: Duration) {
        let now = self.queue.now();
        // Waiting for a confirmation takes no longer on a slow host.
        let length = if step == Step::Confirm { length } else { self.disturbance.slowed(number, length) };
        self.trace.record(&[word("step"), u64::from(number), u64::from(run), step.number(), now.0]);
        self.happened(&Happening::StepBegan(number));
        if step == Step::Reboot {
            self.shut_down(number);
            self.queue.after(length, Priority::WORLD, Event::Boot(number));
        } else {
            self.queue.after(length, Priority::NORMAL, Event::Step { host: number, run });
        }
        if let Some(&(at, lasting)) = self.breaks.get(&number)
            && at == step
        {
            self.breaks.remove(&number);
            let within = Span { least: Duration::ZERO, most: length };
            let strikes = now + self.draws.within(word("break"), u64::from(number), u64::from(run), within);
            self.queue.at(strikes, Priority::WORLD, Event::Fault(Box::new(Injection::PowerOff(number))));
            self.queue.at(
                strikes + lasting,
                Priority::WORLD,
                Event::Fault(Box::new(Injection::PowerOn(number))),
            );
        }
        self.pass(&Point::Step { host: number, step }, Some(number));
    }

    /// A step ends.
    pub(super) fn step(&mut self, number: u32, run: u32) {
        self.happened(&Happening::StepEnds(number));
        let setting = setting!(self, number);
        let progress = self.hosts[number as usize].advance(run, &setting);
        self.happened(&Happening::StepEnded(number));
        match progress {
            None => self.queue.discount(),
            Some(Progress::Next(step, length)) => {
                self.note_takeover(number, step);
                if step == Step::Confirm {
                    self.answer_waiting(number);
                }
                self.step_begun(number, run, step, length);
            }
            Some(Progress::Ended { work, ended, sessions }) => {
                self.operation_ended(number, &work, ended, sessions)
            }
        }
    }

    /// Reports to every process that waits for the end of an operation that the operation waits for a confirmation.
    fn answer_waiting(&mut self, number: u32) {
        let report = self.hosts[number as usize].latest();
        for sender in self.drop_sessions(number) {
            let delay = self.way_back(sender);
            if let Some(facts) = self.facts(sender.process, number, report) {
                self.answer(sender, delay, Outcome::Done(Receipt::Host(facts)));
            }
        }
    }

    /// An operation was confirmed; its last step ends after `length`.
    pub(super) fn operation_confirmed(&mut self, number: u32, length: Duration) {
        let Some(running) = self.hosts[number as usize].running() else { return };
        let (id, run) = (running.work.id, running.run);
        self.happened(&Happening::Confirmed(number, id));
        self.step_begun(number, run, Step::Commit, length);
    }

    fn operation_ended(&mut self, number: u32, work: &Work, ended: Ended, sessions: Vec<u32>) {
        let now = self.queue.now();
        self.breaks.remove(&number);
        let (kind, sequence) = (ended_number(ended), work.id.sequence);
        self.trace.record(&[word("ended"), u64::from(number), sequence, kind, now.0]);
        self.last_operation = now;
        self.happened(&Happening::Ended(number, work, ended));
        self.register_node(number, work, ended);
        for session in sessions {
            let Some(Letter::Session { sender }) = self.mail.take(session) else { continue };
            let delay = self.way_back(sender);
            match ended {
                Ended::Succeeded => {
                    let report = self.hosts[number as usize].report(work.id);
                    if let Some(facts) = self.facts(sender.process, number, report) {
                        self.answer(sender, delay, Outcome::Done(Receipt::Host(facts)));
                    }
                }
                Ended::Failed(kind) => {
                    self.answer(sender, delay, Outcome::Refused(Cause::new(kind, "the operation failed")));
                }
                Ended::Interrupted => self.answer(sender, delay, Outcome::Unknown),
            }
        }
    }

    fn power_off(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].power_off() {
            return;
        }
        let now = self.queue.now();
        self.trace.record(&[word("power off"), u64::from(number), now.0]);
        self.happened(&Happening::PowerLost(number));
        self.session_lost(sessions);
        if self.hosts[number as usize].running().is_some() {
            self.note_occasion(Occasion::HostLostInOperation);
        }
        self.host_lost(number);
    }

    /// A host goes down for a reboot that its operation needs.
    fn shut_down(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].power_off() {
            return;
        }
        let now = self.queue.now();
        self.trace.record(&[word("shut down"), u64::from(number), now.0]);
        self.happened(&Happening::ShutDown(number));
        self.session_lost(sessions);
        self.host_lost(number);
    }

    fn power_on(&mut self, number: u32) {
        if self.start(number) {
            self.happened(&Happening::PowerReturned(number));
        }
    }

    /// A host starts, unless another cause keeps it off.
    pub(super) fn start(&mut self, number: u32) -> bool {
        if !self.hosts[number as usize].power_on() {
            return false;
        }
        let now = self.queue.now();
        self.trace.record(&[word("power on"), u64::from(number), now.0]);
        self.happened(&Happening::Started(number));
        let boots = self.hosts[number as usize].boot().0;
        let boot = self.draws.within(word("boot"), u64::from(number), boots as u64, BOOT);
        let setting = setting!(self, number);
        match self.hosts[number as usize].recover(&setting) {
            None => {}
            Some(Progress::Next(step, length)) => {
                self.note_occasion(Occasion::OperationResumed);
                if let Some(run) = self.hosts[number as usize].running().map(|running| running.run) {
                    self.step_begun(number, run, step, boot + length);
                }
            }
            Some(Progress::Ended { work, ended, sessions }) => {
                self.operation_ended(number, &work, ended, sessions)
            }
        }
        self.host_on(number, boot);
        true
    }

    fn cut(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].cut() {
            return;
        }
        self.trace.record(&[word("cut"), u64::from(number), self.queue.now().0]);
        self.happened(&Happening::Network(number, false));
        self.session_lost(sessions);
        if self.hosts[number as usize].running().is_some() {
            self.note_occasion(Occasion::HostLostInOperation);
        }
        self.host_lost(number);
    }

    fn mend(&mut self, number: u32) {
        if self.hosts[number as usize].mend() {
            self.trace.record(&[word("mend"), u64::from(number), self.queue.now().0]);
            self.happened(&Happening::Network(number, true));
            self.host_connected(number);
        }
    }

    fn spoil(&mut self, number: u32, drift: Drift) {
        let choice = self.draws.bits(word("spoil"), u64::from(number), self.queue.now().0);
        let host = &mut self.hosts[number as usize];
        if host.is_on() && host.spoil(choice, drift) {
            self.trace.record(&[word("spoil"), u64::from(number), u64::from(drift.0)]);
            self.happened(&Happening::Spoiled(number, drift));
            self.last_operation = self.queue.now();
        }
    }

    fn drop_sessions(&mut self, number: u32) -> Vec<Sender> {
        let sessions = self.hosts[number as usize].take_sessions();
        let senders = sessions.into_iter().filter_map(|session| match self.mail.take(session) {
            Some(Letter::Session { sender }) => Some(sender),
            _ => None,
        });
        senders.collect()
    }

    fn session_lost(&mut self, senders: Vec<Sender>) {
        for sender in senders {
            let owner = u64::from(sender.process);
            let delay = self.draws.within(word("keep-alive"), owner, sender.action.0, KEEP_ALIVE);
            self.note_occasion(Occasion::SessionLost);
            self.answer(sender, delay, Outcome::Unknown);
        }
    }
}

const fn ended_number(ended: Ended) -> u64 {
    match ended {
        Ended::Succeeded => 0,
        Ended::Interrupted => 1,
        Ended::Failed(kind) => 2 + kind as u64,
    }
}
