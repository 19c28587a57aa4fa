//! Answers on their way to a process, and actions that it gives up.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Event as Input, Outcome};
use seaworthy_model::host::HostFacts;

use crate::vocabulary::Occasion;
use crate::world::World;
use crate::world::event::Event;
use crate::world::host::Report;
use crate::world::mail::{Letter, Sender};

/// The time after which a process gives up on a host that does not answer.
const CONNECT_TIMEOUT: Span = Span::millis(5_000, 10_000);

impl World {
    /// Answers a process after `delay`.
    pub(in crate::world) fn answer(&mut self, sender: Sender, delay: Duration, outcome: Outcome) {
        self.post(delay, Letter::Outcome { sender, outcome });
    }

    /// A host did not answer.
    pub(in crate::world) fn answer_unreachable(&mut self, sender: Sender, repeated: bool) {
        let owner = u64::from(sender.process);
        let delay = self.draws.within(word("timeout"), owner, sender.action.0, CONNECT_TIMEOUT);
        let cause = Cause::new(CauseKind::ConnectionFailed, "connection timed out");
        self.answer_not_done(sender, delay, cause, repeated);
    }

    /// An order was not executed. The sender of two copies cannot know that: the other copy may have arrived, or may
    /// still arrive.
    pub(in crate::world) fn answer_not_done(
        &mut self,
        sender: Sender,
        delay: Duration,
        cause: Cause,
        repeated: bool,
    ) {
        let outcome = if repeated { Outcome::Unknown } else { Outcome::Retryable(cause) };
        self.answer(sender, delay, outcome);
    }

    pub(super) fn post(&mut self, delay: Duration, letter: Letter) {
        let number = self.mail.post(letter);
        self.queue.after(delay, Priority::NORMAL, Event::Mail(number));
    }

    /// Whether a process waits for the answer to an action.
    pub(in crate::world) fn awaits(&self, sender: Sender) -> bool {
        let process = self.processes.get(sender.process as usize).and_then(Option::as_ref);
        process.is_some_and(|process| process.deadlines.is_under_way(sender.action))
    }

    /// An answer arrives.
    pub(in crate::world) fn finished(&mut self, sender: Sender, outcome: Outcome) {
        let Some(mut process) = self.take_process(sender.process) else { return self.queue.discount() };
        if process.deadlines.remove(sender.action) {
            if outcome == Outcome::Stale {
                self.note_occasion(Occasion::WriteStale);
            }
            process.observe(Input::Finished { action: sender.action, outcome });
            self.turn_soon(&mut process);
        } else {
            self.queue.discount();
        }
        self.put_process(process);
    }

    /// A process gives up the actions that have passed their deadline.
    pub(in crate::world) fn give_up(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let now = self.queue.now();
        process.deadline_at = None;
        let mut any = false;
        for action in process.deadlines.overdue(now) {
            any |= process.deadlines.remove(action);
            process.observe(Input::Finished { action, outcome: Outcome::Unknown });
        }
        if any {
            self.turn_soon(&mut process);
        } else {
            self.queue.discount();
        }
        if let Some(at) = process.deadlines.next() {
            process.want_deadline(at, &mut self.queue);
        }
        self.put_process(process);
    }

    /// The API server refuses a request.
    pub(in crate::world) fn answer_unavailable(&mut self, sender: Sender, delay: Duration) {
        self.note_occasion(Occasion::RequestRefused);
        let cause = Cause::new(CauseKind::ApiUnavailable, "the server asks to come back later");
        self.answer(sender, delay, Outcome::Retryable(cause));
    }

    /// What a host reports, in the ids of a process. `None` when that is gone.
    pub(in crate::world) fn facts(
        &mut self,
        process: u32,
        host: u32,
        report: Option<Report>,
    ) -> Option<Box<HostFacts>> {
        let process = self.processes.get_mut(process as usize)?.as_mut()?;
        let host = self.hosts.get(host as usize)?;
        Some(process.facts(host, report, &self.catalogue))
    }
}
