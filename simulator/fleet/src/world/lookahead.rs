//! Bringing near what the next events are about.
//!
//! A hundred thousand machines do not fit into a processor's caches, and an event is about one of them: reading it where
//! it lies would cost more than the event itself. Memory that is asked for many things at once answers nearly all in
//! the time of one. Nothing here changes anything: a run is the same with it and without.

use std::hint::black_box;
use std::sync::Arc;

use seaworthy_model::effect::{Action, ActionId};
use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::report::Subject;

use super::World;
use super::api_server::Stored;
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
            | Event::Certificate(_)
            | Event::Fault(_) => 0,
        }
    }

    fn warm_letter(&self, number: u32) -> u64 {
        match self.mail.letter(number) {
            Some(Letter::Order { sender, host, .. }) => {
                self.warm_sender(*sender);
                self.hosts.get(*host as usize).map_or(0, |found| found.warm() ^ self.oracle.warm(*host))
            }
            Some(Letter::Request { sender, request, place, .. }) => {
                self.warm_sender(*sender);
                let collection = self.api.collection(request.object().0);
                collection.at(*place).map_or(0, |stored| stored.warm())
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
        self.api.collection(Kind::Machine).at(number).map_or(0, |stored| stored.warm())
    }

    /// Brings near what is looked at when a process sends what it ordered.
    pub(super) fn warm_actions(&self, process: &Process, actions: &[Action]) {
        if self.hosts.len() < LARGE {
            return;
        }
        let machines = actions.iter().filter_map(|action| action.target.machine());
        let words = machines.map(|id| {
            process.mind().0.warm_machine(id);
            self.warm_orders(process, id)
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    fn warm_orders(&self, process: &Process, id: MachineId) -> u64 {
        let route = self.routes.get(id.index()).and_then(Option::as_ref).map_or(0, |(_, host)| *host);
        let name = process.mind().1.warm_machine(id) as u64;
        self.oracle.warm_orders(process.number, id) ^ u64::from(route) ^ name
    }

    /// What whoever has sent something looks at when the answer comes, which is soon, and when it sends something next.
    fn warm_sender(&self, sender: Sender) {
        let Some(Some(process)) = self.processes.get(sender.process as usize) else { return };
        if let Some(id) = process.warm(sender.action) {
            black_box(self.warm_orders(process, id));
        }
    }
}

impl Process {
    /// Brings near Machines that are delivered next, of so many in all.
    pub(super) fn warm_objects<'a>(&self, all: usize, objects: impl Iterator<Item = &'a Arc<Stored>>) {
        if all < LARGE {
            return;
        }
        let (engine, names) = self.mind();
        let words = objects.filter(|object| object.kind() == Kind::Machine).map(|object| {
            engine.world().warm(names.find_machine_near(MachineId(object.place()), object.name()));
            object.warm()
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    /// Brings near the machine that an action is about, if it is about one.
    fn warm(&self, action: ActionId) -> Option<MachineId> {
        let (engine, _) = self.mind();
        let Subject::Machine(id) = engine.world().in_flight().get(&action)?.subject else { return None };
        engine.warm_machine(id);
        Some(id)
    }
}
