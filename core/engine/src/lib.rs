//! The reconciliation core: `observe` takes facts in, `reconcile` decides.
//!
//! No I/O, no clock, no entropy: time is an argument, randomness is a seed. The engine is disposable. After a crash a
//! new one is rebuilt from observations alone; whatever must survive was written by an action first.
#![no_std]

extern crate alloc;

mod domains;
mod rows;
mod runtime;
mod world;

use alloc::boxed::Box;
use alloc::vec::Vec;

use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Action, ActionId, Effect, Fence};
use seaworthy_model::event::Event;
use seaworthy_model::id::MachineId;
use seaworthy_model::report::{Blocked, Report, Subject, Turn, Wake, WakeReason};
use seaworthy_model::time::Timestamp;

use domains::finish::Terms;
pub use rows::api_servers::KnownApiServers;
pub use rows::certificates::{Certificates, Request};
pub use rows::drain::{Drain, Listed};
pub use rows::fleet::{Counts, Fleet, RolloutState};
pub use rows::leadership::Leadership;
pub use rows::machine::{Contact, Failure, Machine, Retry, Standing};
pub use rows::rank::RankKey;
pub use rows::trouble::Trouble;
use runtime::draft::{Draft, Note, Order};
use runtime::queue::{self, WorkQueue};
pub use runtime::under_way::UnderWay;
use world::WARM_AT_ONCE;
pub use world::index::nodes::NodeUse;
pub use world::index::resolution::{Aim, Origin, Target, targets};
pub use world::index::users::{Use, User};
pub use world::{InFlight, InFlightKind, Version, World};

/// Room for so many actions is kept from one turn to the next.
const TURN_KEPT: usize = 64;

/// The core.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    seed: Seed,
    world: World,
    queue: WorkQueue,
    actions: u64,
    /// Room for what a decision leaves to be remembered; empty between two.
    notes: Vec<Note>,
    /// Room for what a turn orders and reports; empty.
    spare: Turn,
}

impl Engine {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new(config: Config, seed: Seed) -> Self {
        let mut world = World::default();
        world.leadership.holder.clone_from(&config.holder);
        world.leadership.renew_deadline = config.renew_deadline;
        world.touch(Subject::Leadership, queue::Priority::Urgent);
        let (queue, notes, spare) = (WorkQueue::default(), Vec::new(), Turn::default());
        Self { config, seed, world, queue, actions: 0, notes, spare }
    }

    /// Takes in one fact. Cheap, infallible, decides nothing.
    pub fn observe(&mut self, event: Event) {
        match event {
            Event::Observed(observation) => self.world.observe(observation),
            Event::Finished { action, outcome } => {
                let terms = Terms { config: &self.config, seed: self.seed };
                self.world.finish(action, outcome, &terms);
            }
        }
    }

    /// Decides one bounded batch: the only place where actions are born. `now` must not decrease.
    pub fn reconcile(&mut self, now: Timestamp) -> Turn {
        debug_assert!(now >= self.world.now(), "time went back");
        let before = self.world.now();
        self.world.set_now(now);
        // Before anything is decided: whoever slept through its renewals must not act on what it believed before.
        if self.world.leadership.tell_time(before, now, &self.config) {
            self.world.touch_held_up();
        }
        self.world.forget_api_servers(self.config.api_server_memory);
        self.world.take_up_lists();
        self.queue.advance(now);
        self.offer();
        let mut turn = core::mem::take(&mut self.spare);
        while turn.actions.len() < self.config.actions_per_turn_max as usize
            && turn.report.reconciled < self.config.subjects_per_turn_max
        {
            if (turn.report.reconciled as usize).is_multiple_of(WARM_AT_ONCE) {
                self.warm();
            }
            let Some(subject) = self.next_subject() else { break };
            let actions = turn.actions.len();
            self.decide(subject, now, &mut turn);
            // An admission is the last that a turn decides: then what it was decided on can be checked.
            if subject == Subject::PackageVersion && turn.actions.len() > actions {
                break;
            }
        }
        self.offer();
        self.enqueue_touched();
        turn.wake = self.next_wake(now);
        turn
    }

    /// Takes back a turn that was worked off, for the room that is in it. Who drops it instead does no harm.
    pub fn reuse(&mut self, turn: Turn) {
        let Turn { mut actions, report: Report { mut blocked, .. }, .. } = turn;
        if actions.capacity().max(blocked.capacity()) <= TURN_KEPT {
            actions.clear();
            blocked.clear();
            self.spare = Turn { actions, report: Report { reconciled: 0, blocked }, wake: None };
        }
    }

    /// What the engine knows, for checks, reports and tests.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// Whether a `reconcile` at this moment could decide anything: something was learnt or became free since the last one, or
    /// that one did not get through. If not, the next one may wait until the time that the last one named.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.world.has_work(self.config.host_sessions_max)
    }

    /// How many subjects wait to be looked at.
    #[must_use]
    pub fn queue_depth(&self) -> usize {
        self.queue.len()
    }

    /// Brings near what the next input about a machine, and the decision after it, look at: see [`World::warm`]. Changes
    /// nothing.
    pub fn warm_machine(&self, id: MachineId) {
        self.world.warm([id]);
        core::hint::black_box(self.queue.warm(Subject::Machine(id)));
    }

    /// What is to be looked at next. When nothing is left, what is still free goes on to those who wait for it: whoever
    /// it was offered to may not have needed it any more.
    fn next_subject(&mut self) -> Option<Subject> {
        self.enqueue_touched();
        self.queue.pop().or_else(|| {
            self.offer();
            self.enqueue_touched();
            self.queue.pop()
        })
    }

    /// Brings near what is decided next, when that is much. What has just changed is near anyway.
    fn warm(&self) {
        if self.queue.len() < WARM_AT_ONCE {
            return;
        }
        self.world.warm(self.queue.ahead(WARM_AT_ONCE).filter_map(|subject| match subject {
            Subject::Machine(id) => {
                core::hint::black_box(self.queue.warm(subject));
                Some(id)
            }
            Subject::Leadership
            | Subject::PackageVersion
            | Subject::Version(_)
            | Subject::CertificateRequest(_) => None,
        }));
    }

    fn offer(&mut self) {
        self.world.offer_slots();
        self.world.offer_sessions(self.config.host_sessions_max);
    }

    fn enqueue_touched(&mut self) {
        if !self.world.has_touched() {
            return;
        }
        for (subject, priority) in self.world.drain_touched() {
            self.queue.add(subject, priority);
        }
        self.world.shrink_touched();
    }

    fn decide(&mut self, subject: Subject, now: Timestamp, turn: &mut Turn) {
        let mut draft = Draft::new(&self.config, self.seed, now, core::mem::take(&mut self.notes));
        domains::reconcile(&self.world, subject, &mut draft);
        let Draft { order, blocker, wake, mut notes, .. } = draft;
        turn.report.reconciled += 1;
        self.world.set_blocker(subject, blocker);
        if let Some(blocker) = blocker {
            turn.report.blocked.push(Blocked { subject, blocker });
        }
        if let Some((at, _)) = wake {
            self.queue.add_at(subject, at);
        }
        for note in notes.drain(..) {
            self.remember(subject, note);
        }
        self.notes = notes;
        if let Some(order) = order {
            turn.actions.push(self.start(subject, order));
        }
    }

    fn remember(&mut self, subject: Subject, note: Note) {
        match (note, subject) {
            (Note::SmallBatch(since), _) => self.world.fleet.small_batch_since = since,
            (Note::ListAnew, _) => self.world.leadership.outdated = true,
            (Note::LeaseLost, _) => self.world.lose_lease(),
            (Note::Taking(epoch), _) => self.world.leadership.taking = epoch,
            (Note::Released, _) => self.world.leadership.released = true,
            (Note::Unsync, _) => {
                self.world.begin_lists();
            }
            (Note::Asked(key), Subject::Machine(id)) => {
                let now = self.world.now();
                self.world.certificates.note_asked(id, key, now);
            }
            (Note::Approve(machine), _) => {
                let now = self.world.now();
                self.world.certificates.note_approval(machine, now);
            }
            (Note::Reread(machine), Subject::CertificateRequest(id)) => {
                self.world.certificates.note_waiting(machine, id);
                self.world.reread(machine);
            }
            (Note::Reread(machine), _) => self.world.reread(machine),
            (Note::WaitForSlot, Subject::Machine(id)) => self.world.wait_for_slot(id),
            (Note::WaitForSession, Subject::Machine(id)) => self.world.wait_for_session(id),
            (Note::WaitForFleet, Subject::Machine(id)) => self.world.wait_for_fleet(id),
            (Note::WaitForNode, Subject::Machine(id)) => self.world.wait_for_node(id),
            (Note::Park, Subject::Machine(id)) => self.world.change(id, |machine| machine.parked = true),
            (Note::Reserve, Subject::Machine(id)) => self.world.change(id, |machine| machine.parked = false),
            (Note::Block(blocker), Subject::Machine(id)) => self.world.change(id, |machine| {
                machine.blocked = Some(blocker);
                machine.parked = true;
            }),
            (Note::Unblock, Subject::Machine(id)) => {
                self.world.change(id, |machine| machine.blocked = None);
            }
            (Note::Audit(at), Subject::Machine(id)) => {
                self.world.note(id, |machine| machine.host.audit_at = Some(at));
            }
            (Note::DrainRests(until), Subject::Machine(id)) => {
                self.world.note(id, |machine| machine.drain.get_or_insert_default().rests_until = until);
            }
            (Note::Passed(pods), Subject::Machine(id)) => {
                self.world.note(id, |machine| machine.drain.get_or_insert_default().passed = pods);
            }
            (Note::DrainOver, Subject::Machine(id)) => self.world.change(id, |machine| machine.drain = None),
            (
                Note::WaitForSlot
                | Note::WaitForSession
                | Note::WaitForFleet
                | Note::WaitForNode
                | Note::Park
                | Note::Reserve
                | Note::Block(_)
                | Note::Unblock
                | Note::Audit(_)
                | Note::Asked(_)
                | Note::DrainRests(_)
                | Note::Passed(_)
                | Note::DrainOver,
                Subject::Leadership
                | Subject::PackageVersion
                | Subject::Version(_)
                | Subject::CertificateRequest(_),
            ) => {}
        }
    }

    fn start(&mut self, subject: Subject, order: Order) -> Action {
        self.actions += 1;
        let id = ActionId(self.actions);
        let meta = match subject {
            Subject::Machine(machine) => {
                self.world.machine(machine).object.as_ref().map(|object| &object.meta)
            }
            Subject::Leadership
            | Subject::PackageVersion
            | Subject::Version(_)
            | Subject::CertificateRequest(_) => None,
        };
        let (uid, generation) = (meta.map(|meta| meta.uid), meta.map(|meta| meta.generation));
        let epoch = self.world.epoch();
        if order.kind.is_session() {
            self.world.leadership.sequence += 1;
        }
        if let Effect::WriteLease(record) = &order.effect {
            self.world.leadership.ordered = Some(Box::new(record.clone()));
        }
        let resource_version = match order.fence {
            Fence::Unchanged { resource_version, .. } => Some(resource_version),
            Fence::None | Fence::Absent | Fence::Incarnation(_) | Fence::Host(_) => None,
        };
        self.world
            .start(id, InFlight { subject, uid, generation, resource_version, epoch, kind: order.kind });
        Action {
            id,
            target: order.target,
            fence: order.fence,
            deadline: order.deadline,
            effect: order.effect,
        }
    }

    fn next_wake(&self, now: Timestamp) -> Option<Wake> {
        if !self.queue.is_empty() {
            return Some(Wake { at: now, reason: WakeReason::MoreWork });
        }
        let (at, subject) = self.queue.next_timer()?;
        let reason = match subject {
            Subject::PackageVersion => WakeReason::Admission,
            Subject::Leadership => WakeReason::Lease,
            Subject::Version(_) | Subject::CertificateRequest(_) => WakeReason::BackOff,
            Subject::Machine(_) => WakeReason::Audit,
        };
        Some(Wake { at, reason })
    }
}
