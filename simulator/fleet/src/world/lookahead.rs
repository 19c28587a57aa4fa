//! Bringing near what the next events are about.
//!
//! A hundred thousand machines do not fit into a processor's caches, and an event is about one of them: reading it where
//! it lies would cost more than the event itself. Memory that is asked for many things at once answers nearly all in
//! the time of one. Nothing here changes anything: a run is the same with it and without.

use std::hint::black_box;

use seaworthy_model::effect::ActionId;
use seaworthy_model::id::Kind;
use seaworthy_model::report::Subject;

use super::World;
use super::api_server::Change;
use super::event::Event;
use super::host::{Running, Step};
use super::mail::{Letter, Sender};
use super::operator::Process;

/// Smaller fleets are near as they are.
const LARGE: usize = 4_096;
/// So many changes are brought near at once: enough to hide the way to the memory, few enough for the nearest cache.
pub(super) const WARM_AT_ONCE: usize = 32;

impl World {
    /// Brings near what the events of a new slot of time are about, in a large fleet.
    pub(super) fn look_ahead(&mut self) {
        if self.queue.begins_slot() && self.hosts.len() >= LARGE {
            let words = self.queue.near().map(|event| self.warm_event(event));
            black_box(words.fold(0, |sum, word| sum ^ word));
        }
    }

    /// What an event is about that was not looked at for long. What the operator decided on or a host did a moment ago is
    /// near anyway.
    fn warm_event(&self, event: &Event) -> u64 {
        match *event {
            Event::Mail(number) => self.warm_letter(number),
            Event::Step { host, .. } => self.warm_step(host),
            Event::Start { .. }
            | Event::Deliver { .. }
            | Event::List { .. }
            | Event::Turn { .. }
            | Event::Deadline { .. }
            | Event::Renewal { .. }
            | Event::Expiry { .. }
            | Event::People(_)
            | Event::Adoption
            | Event::Workload { .. }
            | Event::Fault(_) => 0,
        }
    }

    fn warm_letter(&self, number: u32) -> u64 {
        match self.mail.letter(number) {
            Some(Letter::Order { host, .. }) => {
                self.hosts.get(*host as usize).map_or(0, |found| found.warm() ^ self.oracle.warm(*host))
            }
            Some(Letter::Request { request, .. }) => {
                let (kind, name) = request.object();
                self.api.collection(kind).get(name).map_or(0, |stored| stored.warm())
            }
            Some(Letter::Outcome { .. } | Letter::Session { .. }) | None => 0,
        }
    }

    /// What the end of a step changes: what is installed; and when it was probed, its Machine is next.
    fn warm_step(&self, number: u32) -> u64 {
        let Some(host) = self.hosts.get(number as usize) else { return 0 };
        let Some(running) = host.running() else { return 0 };
        if matches!(running.step, Step::Swap | Step::Restart) {
            return host.installed().first().map_or(0, |installed| u64::from(installed.version.0));
        }
        if running.step == Step::Probe { self.warm_machine(number, running) } else { 0 }
    }

    fn warm_machine(&self, number: u32, running: &Running) -> u64 {
        if let Some(Letter::Session { sender }) =
            running.sessions().first().and_then(|session| self.mail.letter(*session))
        {
            self.warm_sender(*sender);
        }
        // Most fleets are created in the order of their hosts.
        self.api.collection(Kind::Machine).created(number).map_or(0, |stored| stored.warm())
    }

    fn warm_sender(&self, sender: Sender) {
        if let Some(Some(process)) = self.processes.get(sender.process as usize) {
            process.warm(sender.action);
        }
    }
}

impl Process {
    /// Brings near what changes of Machines are about that are delivered next.
    pub(super) fn warm_changes<'a>(&self, changes: impl Iterator<Item = &'a Change>) {
        let (engine, names) = self.mind();
        if (engine.world().live() as usize) < LARGE {
            return;
        }
        let words = changes.filter(|change| change.object.kind() == Kind::Machine).map(|change| {
            let id = names.find_machine(change.object.name());
            engine.world().warm(id);
            change.object.warm()
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    /// Brings near what the end of an action is about.
    fn warm(&self, action: ActionId) {
        let world = self.mind().0.world();
        if let Some(Subject::Machine(id)) = world.in_flight().get(&action).map(|in_flight| in_flight.subject)
        {
            world.warm([id]);
        }
    }
}
