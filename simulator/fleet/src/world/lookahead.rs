//! Prefetches the data of the next events.
//!
//! A hundred thousand machines do not fit into a processor's caches, and each event concerns one of them: waiting for
//! its memory would cost more than the event itself. Many reads at once take hardly longer than one. Prefetching
//! changes nothing: a run is the same with and without it.

use std::hint::black_box;

use seaworthy_model::effect::{Action, Target};
use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::report::Subject;

use super::World;
use super::event::Event;
use super::happening::Ahead;
use super::host::{Command, Host, Running};
use super::mail::{Letter, Sender};
use super::process::{LARGE, Process};
use crate::vocabulary::Step;

impl World {
    /// Prefetches the data of the events in a new time slot, in a large fleet.
    pub(super) fn look_ahead(&mut self) {
        if self.queue.begins_slot() && self.hosts.len() >= LARGE {
            let words = self.queue.near().map(|event| self.warm_event(event));
            black_box(words.fold(0, |sum, word| sum ^ word));
        }
    }

    /// Prefetches the data of an event that was not used for long. What the operator decided or a host did a moment ago
    /// is in the cache anyway.
    fn warm_event(&self, event: &Event) -> u64 {
        match *event {
            Event::Mail(number) => self.warm_letter(number),
            Event::Step { host, .. } | Event::Boot(host) => self.warm_step(host),
            Event::Start { .. }
            | Event::Replace { .. }
            | Event::Stop { .. }
            | Event::Kill { .. }
            | Event::Deliver { .. }
            | Event::List { .. }
            | Event::Versions { .. }
            | Event::Turn { .. }
            | Event::Deadline { .. }
            | Event::Fetched { .. }
            | Event::Renewal { .. }
            | Event::Expiry { .. }
            | Event::People(_)
            | Event::Adoption
            | Event::Override
            | Event::Confirmation
            | Event::Workload { .. }
            | Event::Certificate(_)
            | Event::Pod { .. }
            | Event::Fault(_) => 0,
        }
    }

    fn warm_letter(&self, number: u32) -> u64 {
        match self.mail.letter(number) {
            Some(Letter::Order { sender, host, order, .. }) => {
                // The sender of an operation gets the answer much later, so its data is not needed yet.
                if !matches!(order.command, Command::Apply(_)) {
                    self.warm_sender(*sender, *host);
                }
                self.hosts
                    .get(*host as usize)
                    .map_or(0, |found| found.warm() ^ self.prefetch(Ahead::Order(*host)))
            }
            Some(Letter::Request { sender, store, request, place, .. }) => {
                self.warm_sender(*sender, *place);
                let collection = self.api_servers[*store].collection(request.object().0);
                collection.at(*place).map_or(0, |stored| stored.warm())
            }
            Some(Letter::Outcome { .. } | Letter::Session { .. }) | None => 0,
        }
    }

    /// Prefetches what the end of a step changes: the installed software, and after the probe also the Machine.
    fn warm_step(&self, number: u32) -> u64 {
        let Some(host) = self.hosts.get(number as usize) else { return 0 };
        let Some(running) = host.running() else { return 0 };
        // The steps after staging are short, so the installed software changes soon after the end of the staging.
        if matches!(running.step, Step::Stage | Step::Swap | Step::Restart | Step::Reload) {
            let ends = [host.installed().first(), host.installed().last()];
            return ends.into_iter().flatten().fold(0, |sum, end| sum ^ u64::from(end.version.0));
        }
        if running.step == Step::Probe { self.warm_end(number, host, running) } else { 0 }
    }

    /// Prefetches the records that the end of an operation changes, and the data of the process that waits for it.
    fn warm_end(&self, number: u32, host: &Host, running: &Running) -> u64 {
        if let Some(Letter::Session { sender }) =
            running.sessions().next().and_then(|session| self.mail.letter(session))
        {
            self.warm_sender(*sender, number);
        }
        // Most fleets are created in the order of their hosts.
        let stored =
            self.api_servers.home().collection(Kind::Machine).at(number).map_or(0, |stored| stored.warm());
        stored ^ host.warm() ^ self.prefetch(Ahead::End(number, running.work.component))
    }

    /// Prefetches what is needed when a process sends its orders.
    pub(super) fn warm_actions(&self, process: &Process, actions: &[Action]) {
        if self.hosts.len() < LARGE {
            return;
        }
        let words = actions.iter().map(|action| {
            let (Target::Machine(id) | Target::Host(id)) = action.target else { return 0 };
            process.mind().0.prefetch(Subject::Machine(id));
            let name =
                if action.target == Target::Machine(id) { process.mind().1.warm_machine(id) } else { 0 };
            self.warm_orders(process, id) ^ name as u64
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    fn warm_orders(&self, process: &Process, id: MachineId) -> u64 {
        let route = self.routes.get(id.index()).and_then(Option::as_ref).map_or(0, |(_, host)| *host);
        self.prefetch(Ahead::Send(process.number, id)) ^ u64::from(route)
    }

    /// Prefetches the sender's data for the answer, which comes soon, and for its next message. The machine most likely
    /// has the number of the host or place: most fleets are created and listed in one order.
    fn warm_sender(&self, sender: Sender, number: u32) {
        let Some(Some(process)) = self.processes.get(sender.process as usize) else { return };
        let ((engine, names), id) = (process.mind(), MachineId(number));
        engine.prefetch(Subject::Machine(id));
        black_box(self.warm_orders(process, id) ^ names.warm_machine(id) as u64);
    }
}
