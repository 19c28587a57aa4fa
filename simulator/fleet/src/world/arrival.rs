//! Handles messages that arrive at the API server and at hosts.

use std::time::Duration;

use seaworthy_api::request::Request;
use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::{Kind, StoreId};

use super::World;
use super::api_server::{Preconditions, WriteResult, Written, outcome, required};
use super::event::Event;
use super::happening::{Commit, Happening};
use super::host::{Answer, Command, Order};
use super::mail::{Letter, Sender};
use super::writer::Writer;
use crate::vocabulary::{Destination, Occasion, Point, Reply, Side};

/// The way back from the API server or a host.
const WAY_BACK: Span = Span::millis(1, 10);
/// An order that arrives later than this after it was sent is late: its sender has stopped waiting.
const LATE: Duration = Duration::from_secs(2);

impl World {
    /// A message arrives.
    pub(super) fn arrive(&mut self, number: u32) {
        match self.mail.take(number) {
            Some(Letter::Request { sender, store, request, place, reply, raced }) => {
                self.api_servers[store].expect(request.object().0, place);
                if raced {
                    let (kind, name) = request.object();
                    self.race(store, kind, name);
                }
                self.execute(sender, store, *request, reply);
            }
            Some(Letter::Order { sender, host, order, sent, reply, repeated }) => {
                self.receive(sender, host, &order, (sent, reply, repeated));
                if reply == Reply::SenderCrashes {
                    self.crash_sender(sender);
                }
            }
            Some(Letter::Outcome { sender, outcome }) => self.finished(sender, outcome),
            Some(Letter::Session { .. }) | None => self.queue.discount(),
        }
    }

    /// The API server executes a request, if it answers at all.
    fn execute(&mut self, sender: Sender, store: StoreId, request: Request, reply: Reply) {
        let now = self.queue.now();
        if now < self.disturbance.api_down || !self.disturbance.admits(now) {
            if reply != Reply::Unwanted {
                let delay = self.way_back(sender);
                self.answer_unavailable(sender, delay);
            }
            return;
        }
        if let Request::ListPods(query) = &request {
            let outcome = self.list_pods(&query.node);
            return self.reply_with(sender, reply, outcome);
        }
        if let Request::Evict(eviction) = &request {
            let outcome = self.evict_for_operator(&eviction.pod);
            if matches!(outcome, Outcome::Done(_)) {
                self.pass(&Point::Write { to: Destination::Api, side: Side::After }, None);
            }
            return self.reply_with(sender, reply, outcome);
        }
        if let Request::DeletePod(deletion) = &request {
            let outcome = self.delete_for_operator(&deletion.pod);
            if matches!(outcome, Outcome::Done(_)) {
                self.pass(&Point::Write { to: Destination::Api, side: Side::After }, None);
            }
            return self.reply_with(sender, reply, outcome);
        }
        if let Some(outcome) = self.ask_for_gate(&request) {
            if !request.is_read() && matches!(outcome, Outcome::Done(_)) {
                self.pass(&Point::Write { to: Destination::Api, side: Side::After }, None);
            }
            return self.reply_with(sender, reply, outcome);
        }
        let required = required(&request);
        let result = self.api_servers[store].execute(request, now);
        if let (Some(required), Ok(written)) = (required, &result) {
            self.happened(&Happening::Accepted(required, written));
        }
        self.reply(sender, reply, result);
    }

    fn reply(&mut self, sender: Sender, reply: Reply, result: WriteResult) {
        if let Ok(written) = &result {
            self.happened(&Happening::OperatorWrote(written));
            self.committed(written, Writer::Operator);
            if !written.object.is_renewed_lease() {
                self.pass(&Point::Write { to: Destination::Api, side: Side::After }, None);
            }
        }
        self.reply_with(sender, reply, outcome(result));
    }

    fn reply_with(&mut self, sender: Sender, reply: Reply, outcome: Outcome) {
        match reply {
            Reply::Comes => {
                let delay = self.way_back(sender);
                self.answer(sender, delay, outcome);
            }
            Reply::Late(by) => {
                self.note_occasion(Occasion::ReplyLate);
                let delay = self.way_back(sender);
                self.answer(sender, delay + by, outcome);
            }
            Reply::Unwanted => self.note_occasion(Occasion::RequestRepeated),
            Reply::Lost => self.note_occasion(Occasion::ReplyLost),
            Reply::SenderCrashes => self.crash_sender(sender),
        }
    }

    fn crash_sender(&mut self, sender: Sender) {
        if let Some(process) = self.take_process(sender.process) {
            self.note_occasion(Occasion::OperatorCrashed);
            self.end_process(&process, true);
        }
    }

    pub(super) fn way_back(&self, sender: Sender) -> Duration {
        self.draws.within(word("way back"), u64::from(sender.process), sender.action.0, WAY_BACK)
    }

    /// Another writer changes an object: a label, as tools do.
    fn race(&mut self, store: StoreId, kind: Kind, name: &str) {
        let label = self.api_servers[store].revision().to_string();
        let now = self.queue.now();
        let result = self.api_servers[store].update((kind, name), Preconditions::default(), now, |object| {
            object.metadata_mut().labels.insert("example.com/seen".into(), label);
        });
        if let Ok(written) = result {
            self.note_occasion(Occasion::WriteRaced);
            self.committed(&written, Writer::Other);
        }
    }

    /// Passes a write on to the trace, the observer and the watches.
    pub(super) fn committed(&mut self, written: &Written, writer: Writer) {
        if !written.committed {
            return;
        }
        let kind = written.object.kind();
        let renews = writer == Writer::Operator && written.object.is_renewed_lease();
        if !renews {
            self.note_commit(written, writer);
        }
        let by_operator = writer == Writer::Operator;
        self.happened(&Happening::Committed(Commit { written, by_operator, renews }));
        if kind == Kind::Node {
            self.node_written(written, writer);
        }
        self.notify(kind);
        if kind == Kind::CertificateSigningRequest {
            self.request_committed(written);
        }
        if !renews {
            self.pass_commit(written, writer);
        }
    }

    /// Notes a write that is no renewal of the Lease.
    fn note_commit(&mut self, written: &Written, writer: Writer) {
        let (now, name) = (self.queue.now(), written.object.name());
        let words =
            [word("commit"), self.api_servers.home().revision(), word(name), u64::from(written.removed)];
        self.trace.record(&words);
        if writer == Writer::Operator {
            self.last_write = now;
        }
    }

    /// An order arrives at a host.
    fn receive(
        &mut self,
        sender: Sender,
        number: u32,
        order: &Order,
        (sent, reply, repeated): (Timestamp, Reply, bool),
    ) {
        let now = self.queue.now();
        if now.since(sent) > LATE {
            self.note_occasion(Occasion::OrderLate);
        }
        if !self.hosts[number as usize].is_reachable() {
            self.happened(&Happening::OrderLost(number, sender.process));
            return self.answer_unreachable(sender, repeated);
        }
        if self.hosts[number as usize].is_shut() && !self.gets_in(sender, &order.command) {
            self.note_occasion(Occasion::HostShut);
            return self.answer_unreachable(sender, repeated);
        }
        let is_awaited = reply == Reply::Comes && self.awaits(sender);
        self.happened(&Happening::OrderArrives { host: number, command: &order.command, is_awaited });
        self.start_program(number);
        let session = self.mail.post(Letter::Session { sender });
        let setting = setting!(self, number);
        let answer = self.hosts[number as usize].receive(order, session, &setting);
        if matches!((&order.command, &answer), (Command::ResetFences(_), Answer::Facts(_))) {
            self.happened(&Happening::FencesReset(number, order.fence.epoch));
        }
        if !matches!(answer, Answer::Begun(_) | Answer::Fetching { .. }) {
            let epoch = self.hosts[number as usize].epoch();
            self.happened(&Happening::Heard(number, epoch));
        }
        if matches!(order.command, Command::RequestCertificate(_) | Command::InstallCertificate(_)) {
            self.identity_ordered(number, &order.command, &answer);
        }
        if order.command == Command::Disown {
            self.software_changed(number);
        }
        match answer {
            Answer::Begun(length) => {
                self.operation_begun(number, order, sent, length);
                return self.pass(&Point::Write { to: Destination::Host, side: Side::After }, Some(number));
            }
            Answer::Attached => return,
            Answer::Fetching { number: fetch, length } => {
                self.note_occasion(Occasion::ArtefactFetched);
                let ends = Event::Fetched { host: number, number: fetch };
                self.queue.after(length, Priority::NORMAL, ends);
                return self.pass(&Point::Write { to: Destination::Host, side: Side::After }, Some(number));
            }
            Answer::Confirmed(length) => {
                self.operation_confirmed(number, length);
                return self.pass(&Point::Write { to: Destination::Host, side: Side::After }, Some(number));
            }
            Answer::Facts(report) => {
                if matches!(order.command, Command::RequestCertificate(_) | Command::InstallCertificate(_)) {
                    self.pass(&Point::Write { to: Destination::Host, side: Side::After }, Some(number));
                }
                if let Some(facts) = self.facts(sender.process, number, report) {
                    let delay = self.way_back(sender);
                    self.answer(sender, delay, Outcome::Done(Receipt::Host(facts)));
                }
            }
            Answer::Refused(kind) => {
                self.note_refusal(kind);
                let delay = self.way_back(sender);
                self.answer(sender, delay, Outcome::Refused(Cause::new(kind, "refused by the host")));
            }
            Answer::Later(kind) => {
                let delay = self.way_back(sender);
                self.answer_not_done(sender, delay, Cause::new(kind, "not now"), repeated);
            }
        }
        self.mail.take(session);
    }

    /// Whether an order reaches a host that accepts no new connections. Every other order uses a session from before; a
    /// confirmation always needs a new connection.
    fn gets_in(&self, sender: Sender, command: &Command) -> bool {
        let owner = u64::from(sender.process);
        let is_kept = self.draws.below(word("kept session"), owner, sender.action.0, 2) == 0;
        is_kept && !matches!(command, Command::Confirm(_))
    }

    fn note_refusal(&mut self, kind: CauseKind) {
        if kind == CauseKind::FenceRefused {
            self.note_occasion(Occasion::FenceRefused);
        } else if kind == CauseKind::OwnedByAnother {
            self.note_occasion(Occasion::OwnerRefused);
        }
    }
}
