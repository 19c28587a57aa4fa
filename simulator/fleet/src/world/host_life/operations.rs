//! Operations on hosts: their steps, and their end.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::cause::Cause;
use seaworthy_model::event::{Outcome, Receipt};

use crate::vocabulary::{Injection, Occasion, OperationFate, OperationSite, Point, Step};
use crate::world::World;
use crate::world::event::Event;
use crate::world::happening::{Began, Happening};
use crate::world::host::{Change, Command, Ended, Fetched, Order, Progress, Work};
use crate::world::mail::Letter;
use crate::world::strikes::Encounter;

impl World {
    /// An operation begins; its first step ends after `length`.
    pub(in crate::world) fn operation_begun(
        &mut self,
        number: u32,
        order: &Order,
        sent: Timestamp,
        length: Duration,
    ) {
        let Command::Apply(work) = order.command else { return };
        let host = &self.hosts[number as usize];
        let Some(run) = host.running().map(|running| running.run) else { return };
        let mut fate = OperationFate::default();
        let place = |world: &Self| world.place_of_operation(number, &work);
        let encounter = Encounter { owner: u64::from(number), occurrence: u64::from(run), is_renewal: false };
        let version = match work.change {
            Change::Install(install) => Some(self.catalogue.version_name(install.version).to_owned()),
            Change::Remove => None,
        };
        let scenario = Arc::clone(&self.scenario);
        let site = OperationSite { host: number, version: version.as_deref(), fleet: &scenario.fleet };
        self.meet(encounter, place, |model, chance| {
            model.on_operation(chance, &site, &mut fate);
        });
        if let Some(breaks) = fate.breaks {
            self.breaks.insert(number, breaks);
        }
        if let Some(step) = fate.killed {
            self.kills.insert(number, step);
        }
        if let Some(harm) = fate.late {
            self.late.begin(number, &work, harm);
        }
        self.happened(&Happening::Began(Began { host: number, order, work: &work, sent }));
        self.step_begun(number, run, Step::Lock, length);
    }

    pub(super) fn step_begun(&mut self, number: u32, run: u32, step: Step, length: Duration) {
        let now = self.queue.now();
        // Waiting for a confirmation takes no longer on a slow host.
        let length = if step == Step::Confirm { length } else { self.slowed_step(number, run, length) };
        self.trace.record(&[word("step"), u64::from(number), u64::from(run), step.number(), now.millis()]);
        if self.interests.machines {
            self.happened(&Happening::StepBegan(number));
        }
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
        if self.kills.get(&number) == Some(&step) {
            self.kills.remove(&number);
            let within = Span { least: Duration::ZERO, most: length };
            let strikes = now + self.draws.within(word("kill"), u64::from(number), u64::from(run), within);
            self.queue.at(strikes, Priority::WORLD, Event::Fault(Box::new(Injection::KillProgram(number))));
        }
        self.pass(&Point::Step { host: number, step }, Some(number));
    }

    /// A step ends.
    pub(in crate::world) fn step(&mut self, number: u32, run: u32) {
        let setting = setting!(self, number);
        let before = self.hosts[number as usize].at_work_on();
        let taken = self.hosts[number as usize].running().map(|running| running.step);
        let progress = self.hosts[number as usize].advance(run, &setting);
        if let Some((work, before)) = before
            && self.hosts[number as usize].version_of(work.component) != before
        {
            self.happened(&Happening::VersionChanged(number, &work));
        }
        if let (Some(_), Some((work, _)), Some(step)) = (&progress, before, taken) {
            self.step_took_effect(number, work.component, step);
        }
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
    pub(in crate::world) fn operation_confirmed(&mut self, number: u32, length: Duration) {
        let Some(running) = self.hosts[number as usize].running() else { return };
        let (id, run) = (running.work.id, running.run);
        self.happened(&Happening::Confirmed(number, id));
        self.step_begun(number, run, Step::Commit, length);
    }

    /// A host has fetched an artefact, or could not.
    pub(in crate::world) fn fetched(&mut self, number: u32, fetch: u32) {
        let setting = setting!(self, number);
        let host = &mut self.hosts[number as usize];
        let Some(Fetched { session, failed }) = host.end_fetch(fetch, &setting) else {
            return self.queue.discount();
        };
        let (epoch, latest) = (host.epoch(), host.latest());
        let kind = failed.map_or(0, |cause| 1 + cause as u64);
        self.trace.record(&[word("fetched"), u64::from(number), kind, self.queue.now().millis()]);
        self.happened(&Happening::Heard(number, epoch));
        let Some(Letter::Session { sender }) = self.mail.take(session) else { return };
        let delay = self.way_back(sender);
        if let Some(kind) = failed {
            self.note_occasion(Occasion::ArtefactUnfetched);
            return self.answer(sender, delay, Outcome::Retryable(Cause::new(kind, "it cannot be fetched")));
        }
        if let Some(facts) = self.facts(sender.process, number, latest) {
            self.answer(sender, delay, Outcome::Done(Receipt::Host(facts)));
        }
    }

    pub(super) fn operation_ended(&mut self, number: u32, work: &Work, ended: Ended, sessions: Vec<u32>) {
        let now = self.queue.now();
        self.breaks.remove(&number);
        self.kills.remove(&number);
        self.late_harm_follows(number, work, ended);
        let (kind, sequence) = (ended_number(ended), work.id.sequence);
        self.trace.record(&[word("ended"), u64::from(number), sequence, kind, now.millis()]);
        self.last_operation = now;
        self.happened(&Happening::Ended(number, work, ended));
        self.stand_in_registers(number, work, ended);
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
}

const fn ended_number(ended: Ended) -> u64 {
    match ended {
        Ended::Succeeded => 0,
        Ended::Interrupted => 1,
        Ended::Failed(kind) => 2 + kind as u64,
    }
}
