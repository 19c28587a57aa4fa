//! The driver: calls `reconcile`, sends the orders, and gives up actions at their deadline.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::UnknownId;
use seaworthy_api::request::{self, Request};
use seaworthy_kernel::{Priority, Span, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{ProbeCheck, Recipe};
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::event::{Event as Input, Outcome, Receipt};
use seaworthy_model::host::{
    self, Connection, HostCommand, HostFacts, HostOrder, InstalledComponent, OperationReport, OperationState,
    Owner,
};
use seaworthy_model::id::Kind;
use seaworthy_model::machine::Installed;
use seaworthy_model::report::{Blocker, Turn};

use super::renewal::is_renewal;
use super::{Process, build, identity};
use crate::vocabulary::{
    Destination, Occasion, OrderFate, Passage, Place, Point, Reply, RequestFate, SessionFate, Side,
};
use crate::world::api_server::KINDS;
use crate::world::event::Event;
use crate::world::happening::{End, Happening, Observer, Turned};
use crate::world::host::{CGROUP_VERSION, Change, Command, Ended, Install, Operation, Order, Report, Work};
use crate::world::mail::{Letter, Sender};
use crate::world::meeting::Encounter;
use crate::world::{Catalogue, World};

/// The time of one `reconcile` with its bookkeeping.
const TURN: Duration = Duration::from_millis(1);
/// The time of one way to the API server, with the processing there.
const API: Span = Span::millis(1, 8);
/// Connecting and logging in to a host.
const CONNECT: Span = Span::millis(30, 400);
/// The time after which a process gives up on a host that does not answer.
const CONNECT_TIMEOUT: Span = Span::millis(5_000, 10_000);
/// The time after which an ended process is started again.
const RESTART: Span = Span::millis(2_000, 30_000);

/// Whether the process is still alive after it sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum Dispatched {
    Alive,
    Crashed,
}

impl World {
    /// Starts a process in `seat`.
    pub(in crate::world) fn start_process(&mut self, seat: u32) {
        let number = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        let build = self.builds.get(&seat).copied().unwrap_or(self.scenario.fleet.operator_build);
        let process = Process::new((number, seat, build), self.seed, self.clock_of(seat));
        let follows = self.observer().is_some_and(Observer::follows_machines);
        let mut process = Box::new(process.followed(follows));
        self.happened(&Happening::ProcessStarted(seat));
        self.trace.record(&[word("start"), u64::from(number), self.queue.now().0]);
        self.processes.push(None);
        self.live.push(number);
        self.want_list(&mut process, Kind::Lease);
        self.put_process(process);
    }

    /// Ends a process. Messages that it had sent stay in flight.
    pub(in crate::world) fn end_process(&mut self, process: &Process, restarts: bool) {
        self.live.retain(|live| *live != process.number);
        self.happened(&Happening::ProcessEnded(process.number, process.end()));
        self.trace.record(&[word("end"), u64::from(process.number), self.queue.now().0]);
        if restarts {
            let delay = self.draws.within(word("restart"), u64::from(process.number), 0, RESTART);
            self.queue.after(delay, Priority::NORMAL, Event::Start { seat: process.seat });
        }
    }

    /// Crashes the process in `seat`.
    pub(in crate::world) fn crash_seat(&mut self, seat: u32) {
        for number in self.live.clone() {
            let Some(process) = self.take_process(number) else { continue };
            if process.seat == seat {
                self.note_occasion(Occasion::OperatorCrashed);
                self.end_process(&process, true);
            } else {
                self.put_process(process);
            }
        }
    }

    pub(in crate::world) fn take_process(&mut self, number: u32) -> Option<Box<Process>> {
        self.processes.get_mut(number as usize)?.take()
    }

    pub(in crate::world) fn put_process(&mut self, process: Box<Process>) {
        let number = process.number as usize;
        self.processes[number] = Some(process);
    }

    /// A process has received news. It gets a turn soon, if it has anything to decide.
    pub(in crate::world) fn turn_soon(&mut self, process: &mut Process) {
        if !process.engine.has_work() {
            return;
        }
        let at = self.queue.now() + TURN;
        process.want_turn(at, &mut self.queue);
    }

    /// A process has its turn: it calls `reconcile`.
    pub(in crate::world) fn turn(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        if !process.takes_turn(self.queue.now()) {
            self.queue.discount();
            return self.put_process(process);
        }
        let mut turn = process.engine.reconcile(process.clock.read(self.queue.now()));
        self.warm_actions(&process, &turn.actions);
        self.note_turn(&mut process, &turn);
        if process.has_stopped(&turn) {
            self.note_occasion(Occasion::OperatorStopped);
            return self.end_process(&process, true);
        }
        if let Some(wake) = turn.wake {
            let at = process.clock.when(wake.at);
            process.want_turn(at.max(self.queue.now() + TURN), &mut self.queue);
        }
        for action in turn.actions.drain(..) {
            if self.dispatch(&mut process, action) == Dispatched::Crashed {
                self.note_occasion(Occasion::OperatorCrashed);
                return self.end_process(&process, true);
            }
        }
        if turn.report.blocked.iter().any(|blocked| matches!(blocked.blocker, Blocker::SteppedDown { .. })) {
            self.note_occasion(Occasion::OperatorSteppedDown);
            return self.end_process(&process, true);
        }
        process.engine.reuse(turn);
        self.put_process(process);
    }

    fn note_turn(&mut self, process: &mut Process, turn: &Turn) {
        let now = self.queue.now();
        let mut acts = turn.actions.iter().filter(|action| !is_renewal(action));
        if let Some(first) = acts.next() {
            let actions = 1 + acts.count() as u64;
            self.trace.record(&[word("turn"), u64::from(process.number), now.0, actions, first.id.0]);
        }
        if turn.report.blocked.iter().any(|b| matches!(b.blocker, Blocker::RenewalOverdue { .. })) {
            self.note_occasion(Occasion::RenewalOverdue);
        }
        // Machines and their versions, also those that are gone, the fleet's defaults, and the operator itself.
        let subjects = process.names.subjects() + 2;
        let touched = process.take_touched();
        let (process, engine) = (process.number, &process.engine);
        self.happened(&Happening::Turned(Turned { process, engine, subjects, turn, touched }));
    }

    /// Sends what was ordered.
    fn dispatch(&mut self, process: &mut Process, action: Action) -> Dispatched {
        self.happened(&Happening::Ordered(process.number, &action));
        let sender = Sender { process: process.number, action: action.id };
        if is_renewal(&action) {
            self.renew(process, sender, &action);
            return Dispatched::Alive;
        }
        process.track(action.id, process.clock.when(action.deadline), &mut self.queue);
        match &action.effect {
            Effect::Watch => {
                for kind in KINDS {
                    self.want_list(process, kind);
                }
                self.want_versions(process);
                self.answer(sender, Duration::ZERO, Outcome::Done(Receipt::Nothing));
                Dispatched::Alive
            }
            Effect::Host(order) => self.send_order(process, sender, &action, order),
            Effect::WriteLease(_)
            | Effect::WriteFinalizers(_)
            | Effect::WriteMachineStatus(_)
            | Effect::WritePackageVersionStatus(_)
            | Effect::CreateCertificateRequest(_)
            | Effect::ApproveCertificateRequest
            | Effect::WriteEvent(_)
            | Effect::Cordon(_)
            | Effect::Uncordon(_)
            | Effect::WriteNodeAttributes(_)
            | Effect::DeleteNode
            | Effect::ListPods
            | Effect::Evict(_) => self.send_request(process, sender, &action),
        }
    }

    fn send_request(&mut self, process: &mut Process, sender: Sender, action: &Action) -> Dispatched {
        let mut request = match request::request(action, &mut process.names) {
            Ok(request) => request,
            Err(error) => {
                self.happened(&Happening::Unsound(format!("{:?}: {error}", action.target)));
                return Dispatched::Alive;
            }
        };
        self.happened(&Happening::Requests(process.number, action, &request));
        build::write(process.build, &mut request);
        if action.effect != Effect::ListPods {
            self.pass(&Point::Write { to: Destination::Api, side: Side::Before }, None);
        }
        let fate = self.request_fate(Encounter::message(sender, false), process.seat, &request);
        if fate.crashes_before {
            return Dispatched::Crashed;
        }
        let place = action.target.machine().map_or(0, |id| id.0);
        self.send_by_fate(sender, request, place, fate);
        Dispatched::Alive
    }

    /// The fate that faults choose for a request.
    pub(super) fn request_fate(&mut self, encounter: Encounter, seat: u32, request: &Request) -> RequestFate {
        let mut fate = RequestFate::default();
        let place = |_: &Self| Place::request(seat, request, encounter.is_renewal);
        self.meet(encounter, place, |model, chance| model.on_request(chance, &mut fate));
        fate
    }

    /// Sends a request about the object that the API server most likely keeps in `place`.
    pub(super) fn send_by_fate(&mut self, sender: Sender, request: Request, place: u32, fate: RequestFate) {
        let owner = u64::from(sender.process);
        let delay = self.draws.within(word("request"), owner, sender.action.0, API);
        if let Some(again) = fate.again {
            let (request, reply) = (Box::new(request.clone()), Reply::Unwanted);
            self.post(delay + again, Letter::Request { sender, request, place, reply, raced: false });
        }
        match fate.passage {
            Passage::Arrives => {
                let RequestFate { reply, raced, .. } = fate;
                if fate.late > Duration::ZERO {
                    self.note_occasion(Occasion::RequestLate);
                }
                let letter = Letter::Request { sender, request: Box::new(request), place, reply, raced };
                self.post(delay + fate.late, letter);
            }
            Passage::Refused => self.answer_unavailable(sender, delay),
            Passage::Lost => self.note_occasion(Occasion::RequestLost),
        }
    }

    /// The API server refuses a request.
    pub(in crate::world) fn answer_unavailable(&mut self, sender: Sender, delay: Duration) {
        self.note_occasion(Occasion::RequestRefused);
        let cause = Cause::new(CauseKind::ApiUnavailable, "the server asks to come back later");
        self.answer(sender, delay, Outcome::Retryable(cause));
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
        self.happened(&Happening::Commands(process.number, action, &process.names));
        let command = match self.command(process, action.target, &order.command) {
            Ok(command) => command,
            Err(problem) => {
                self.happened(&Happening::Unsound(problem));
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

    fn post(&mut self, delay: Duration, letter: Letter) {
        let number = self.mail.post(letter);
        self.queue.after(delay, Priority::NORMAL, Event::Mail(number));
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

    /// A command in the numbers of this world.
    fn command(
        &mut self,
        process: &mut Process,
        target: Target,
        command: &HostCommand,
    ) -> Result<Command, String> {
        let operation = match command {
            HostCommand::Facts => return Ok(Command::Facts),
            HostCommand::Status(id) => return Ok(Command::Status(*id)),
            HostCommand::Confirm(id) => return Ok(Command::Confirm(*id)),
            HostCommand::Disown => return Ok(Command::Disown),
            HostCommand::RequestCertificate { .. } | HostCommand::InstallCertificate { .. } => {
                return self.identity_command(process, target, command);
            }
            HostCommand::Apply(operation) => operation,
        };
        let Process { names, dialect, .. } = process;
        let unknown = |error: UnknownId| error.to_string();
        let component = dialect.component_number(operation.component, &mut self.catalogue, names);
        let component = component.map_err(unknown)?;
        let change = match &operation.change {
            host::Change::Remove => Change::Remove,
            host::Change::Install(release) => {
                let version = dialect.version_number(release.version, &mut self.catalogue, names);
                Change::Install(Install {
                    version: version.map_err(unknown)?,
                    release: self.catalogue.release(release.id),
                    rollback: release.recipe.content.rollback,
                    has_preflight: release.recipe.content.preflight.is_some(),
                    has_removal: release.recipe.content.removal.is_some(),
                    reboots: release.recipe.content.reboot,
                    confirm: confirmed_within(&release.recipe),
                    probe: probe_length(&release.recipe),
                    probe_deadline: probe_deadline(&release.recipe),
                })
            }
        };
        let (id, generation) = (operation.id, operation.generation);
        Ok(Command::Apply(Work { id, generation, component, change }))
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
        let operation = report.map(|report| process.operation_report(report, &self.catalogue));
        let Process { names, dialect, .. } = &mut **process;
        let mut components: Vec<InstalledComponent> = host
            .installed()
            .iter()
            .map(|installed| InstalledComponent {
                component: dialect.component(installed.component, &self.catalogue, names),
                version: dialect.version(installed.version, &self.catalogue, names),
                release: self.catalogue.release_id(installed.release),
                drift: installed.drift,
            })
            .collect();
        components.sort_by_key(|component| component.component);
        Some(Box::new(HostFacts {
            host: host.identity,
            host_key: None,
            architecture: host.architecture,
            cgroup_version: Some(CGROUP_VERSION),
            boot: host.boot(),
            owner: host.owner().map_or(Owner::Nobody, Owner::Machine),
            epoch: host.epoch(),
            components,
            operation,
            identity: identity::report(host, &self.catalogue),
        }))
    }
}

impl Process {
    /// The reason why the process ends, if it ends now.
    fn end(&self) -> End {
        match self.engine.world().gate() {
            Some(Blocker::SteppedDown { .. }) => End::SteppedDown,
            Some(Blocker::Stopping) => End::Stopped,
            Some(_) | None => End::Crashed,
        }
    }

    /// What a host reports of an operation, in the ids of this process.
    fn operation_report(&mut self, report: Report, catalogue: &Catalogue) -> OperationReport {
        let Self { names, dialect, .. } = self;
        let Operation { id, generation, component, release } = report.operation;
        let release = release.map(|(version, release)| Installed {
            version: dialect.version(version, catalogue, names),
            release: catalogue.release_id(release),
        });
        let state = match report.ended {
            None if report.waits => OperationState::Unconfirmed,
            None => OperationState::Running,
            Some(Ended::Interrupted) => OperationState::Interrupted,
            Some(Ended::Succeeded) => OperationState::Succeeded,
            Some(Ended::Failed(kind)) => OperationState::Failed(Cause::new(kind, "the operation failed")),
        };
        let component = dialect.component(component, catalogue, names);
        OperationReport { id, generation, component, release, state }
    }
}

/// The length of the probe of a working release: one success after the other.
fn probe_length(recipe: &Recipe) -> Duration {
    recipe.content.probe.as_ref().map_or(Duration::ZERO, |probe| match probe.check {
        ProbeCheck::Http { .. } | ProbeCheck::Tcp { .. } | ProbeCheck::Exec { .. } => {
            Duration::from_secs(u64::from(probe.period_seconds) * u64::from(probe.success_threshold))
        }
    })
}

fn confirmed_within(recipe: &Recipe) -> u16 {
    recipe.content.confirm.map_or(0, |confirm| u16::try_from(confirm.within_seconds).unwrap_or(u16::MAX))
}

fn probe_deadline(recipe: &Recipe) -> Duration {
    let seconds = recipe.content.probe.as_ref().map_or(0, |probe| probe.deadline_seconds);
    Duration::from_secs(u64::from(seconds))
}

const _: () = assert!(KINDS.len() == Kind::WATCHED.len() + 1, "the Lease is watched besides");
