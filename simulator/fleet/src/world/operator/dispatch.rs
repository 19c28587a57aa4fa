//! Orders on their way: requests to the API server, and commands to hosts.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::request::{self, Request};
use seaworthy_kernel::{Span, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::Connection;
use seaworthy_model::host_order::HostOrder;
use seaworthy_model::id::{Kind, StoreId};

use super::renewal::is_renewal;
use crate::vocabulary::{
    Destination, Occasion, OrderFate, Passage, Place, Point, Reply, RequestFate, SessionFate, Side,
};
use crate::world::World;
use crate::world::api_server::KINDS;
use crate::world::happening::Happening;
use crate::world::host::{Command, Order};
use crate::world::mail::{Letter, Sender};
use crate::world::process::{Process, build};
use crate::world::strikes::Encounter;

/// The time of one way to the API server, with the processing there.
const API: Span = Span::millis(1, 8);
/// Connecting and logging in to a host.
const CONNECT: Span = Span::millis(30, 400);

/// Whether the process is still alive after it sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum Dispatched {
    Alive,
    Crashed,
}

impl World {
    /// Sends what was ordered.
    pub(super) fn dispatch(&mut self, process: &mut Process, action: Action) -> Dispatched {
        self.happened(&Happening::Ordered(process.number, &action));
        let sender = Sender { process: process.number, action: action.id };
        if is_renewal(&action) {
            self.renew(process, sender, &action);
            return Dispatched::Alive;
        }
        process.track(action.id, process.clock.when(action.deadline), &mut self.queue);
        if let Effect::Host(order) = &action.effect {
            return self.send_order(process, sender, &action, order);
        }
        if !matches!(action.effect, Effect::Watch) {
            return self.send_request(process, sender, &action);
        }
        for kind in KINDS {
            self.want_list(process, kind);
        }
        self.want_versions(process);
        self.answer(sender, Duration::ZERO, Outcome::Done(Receipt::Nothing));
        Dispatched::Alive
    }

    fn send_request(&mut self, process: &mut Process, sender: Sender, action: &Action) -> Dispatched {
        let mut request = match request::request(action, &mut process.names) {
            Ok(request) => request,
            Err(error) => {
                self.happened(&Happening::Unsound(&format!("{:?}: {error}", action.target)));
                return Dispatched::Alive;
            }
        };
        self.message_sent(&Happening::Requests(process.number, action, &request));
        build::write(process.build, &mut request);
        if !request.is_read() {
            self.pass(&Point::Write { to: Destination::Api, side: Side::Before }, None);
        }
        let fate = self.request_fate(Encounter::message(sender, false), process.seat, &request);
        if fate.crashes_before {
            return Dispatched::Crashed;
        }
        let place = action.target.machine().map_or(0, |id| id.0);
        self.send_by_fate((sender, action.store), request, place, fate);
        Dispatched::Alive
    }

    /// The fate that faults choose for a request.
    pub(in crate::world) fn request_fate(
        &mut self,
        encounter: Encounter,
        seat: u32,
        request: &Request,
    ) -> RequestFate {
        let mut fate = RequestFate::default();
        let place = |_: &Self| Place::request(seat, request, encounter.is_renewal);
        self.meet(encounter, place, |model, chance| model.on_request(chance, &mut fate));
        fate
    }

    /// Sends a request about the object that the API server most likely keeps in `place`.
    pub(in crate::world) fn send_by_fate(
        &mut self,
        (sender, store): (Sender, StoreId),
        request: Request,
        place: u32,
        fate: RequestFate,
    ) {
        let owner = u64::from(sender.process);
        let delay = self.draws.within(word("request"), owner, sender.action.0, API);
        if let Some(again) = fate.again {
            let (request, reply) = (Box::new(request.clone()), Reply::Unwanted);
            self.post(delay + again, Letter::Request { sender, store, request, place, reply, raced: false });
        }
        match fate.passage {
            Passage::Arrives => {
                let RequestFate { reply, raced, .. } = fate;
                if fate.late > Duration::ZERO {
                    self.note_occasion(Occasion::RequestLate);
                }
                let letter =
                    Letter::Request { sender, store, request: Box::new(request), place, reply, raced };
                self.post(delay + fate.late, letter);
            }
            Passage::Refused => self.answer_unavailable(sender, delay),
            Passage::Lost => self.note_occasion(Occasion::RequestLost),
        }
    }

    fn send_order(
        &mut self,
        process: &mut Process,
        sender: Sender,
        action: &Action,
        order: &HostOrder,
    ) -> Dispatched {
        let (Fence::Host(fence), Some(host)) = (action.fence, self.route(action.target, &order.connection))
        else {
            let cause = Cause::new(CauseKind::ConnectionFailed, "no route to host");
            self.answer(sender, Duration::from_secs(3), Outcome::Retryable(cause));
            return Dispatched::Alive;
        };
        self.message_sent(&Happening::Commands(process.number, action, &process.names));
        let command = match process.command(action.target, &order.command, &mut self.catalogue) {
            Ok(command) => command,
            Err(problem) => {
                self.happened(&Happening::Unsound(&problem));
                return Dispatched::Alive;
            }
        };
        if !matches!(command, Command::Facts | Command::Status(_)) {
            self.pass(&Point::Write { to: Destination::Host, side: Side::Before }, Some(host));
        }
        let mut fate = OrderFate::default();
        let place = |_: &Self| Place::order(process.seat, host, &order.command);
        self.meet(Encounter::message(sender, false), place, |model, chance| {
            model.on_order(chance, &mut fate);
        });
        if fate.crashes_before {
            return Dispatched::Crashed;
        }
        let reply = if fate.crashes_after { Reply::SenderCrashes } else { Reply::Comes };
        let sent = self.queue.now();
        let order = Order { fence, command };
        let letter = Letter::Order { sender, host, order, sent, reply, repeated: fate.again.is_some() };
        let delay = self.draws.within(word("connect"), u64::from(sender.process), sender.action.0, CONNECT);
        self.send_to_host(letter, delay, fate);
        Dispatched::Alive
    }

    fn send_to_host(&mut self, letter: Letter, delay: Duration, fate: OrderFate) {
        let Letter::Order { sender, .. } = letter else { return };
        if fate.busy {
            self.note_occasion(Occasion::HostBusy);
            let cause = Cause::new(CauseKind::HostBusy, "something else holds the lock");
            return self.answer(sender, delay, Outcome::Retryable(cause));
        }
        if let Some(again) = fate.again {
            self.note_occasion(Occasion::OrderRepeated);
            self.post(delay + again, letter.clone());
        }
        match fate.session {
            SessionFate::Holds => self.post(delay, letter),
            SessionFate::LostBefore(noticed) => {
                self.note_occasion(Occasion::SessionLost);
                self.answer(sender, noticed, Outcome::Unknown);
            }
            SessionFate::LostAfter(noticed) => {
                self.note_occasion(Occasion::SessionLost);
                self.post(delay, letter);
                self.answer(sender, noticed.max(delay), Outcome::Unknown);
            }
            SessionFate::Late(noticed, arrives) => {
                self.note_occasion(Occasion::SessionLost);
                self.answer(sender, noticed, Outcome::Unknown);
                self.post(arrives, letter);
            }
        }
    }

    /// The host that a connection leads to. It is cached, so that repeated orders need not parse the address.
    fn route(&mut self, target: Target, connection: &Arc<Connection>) -> Option<u32> {
        let index = target.machine()?.index();
        if let Some(Some((known, host))) = self.routes.get(index)
            && Arc::ptr_eq(known, connection)
        {
            return Some(*host);
        }
        let host = self.host_at(&connection.address.ip)?;
        if self.routes.len() <= index {
            self.routes.resize(index + 1, None);
        }
        self.routes[index] = Some((Arc::clone(connection), host));
        Some(host)
    }
}

const _: () = assert!(KINDS.len() == Kind::WATCHED.len() + 1, "the Lease is watched besides");
