//! The reconciliation core: `observe` applies facts, `reconcile` decides.
//!
//! No I/O, no clock, no entropy: time is an argument, randomness is a seed. The engine is disposable. After a crash a
//! new one is rebuilt from observations alone; whatever must survive was written by an action first.
#![no_std]

extern crate alloc;

mod domains;
mod rows;
mod runtime;
mod world;

use alloc::vec::Vec;

use seaworthy_model::config::Config;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Action, ActionId};
use seaworthy_model::event::Event;
use seaworthy_model::id::ComponentId;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::report::{Blocked, Report, Subject, Turn, Wake, WakeReason};
use seaworthy_model::time::Timestamp;

use domains::draft::{Draft, Order};
pub use rows::api_servers::KnownApiServers;
pub use rows::certificates::{Certificates, Request};
pub use rows::drain::{Drain, Listed};
pub use rows::few::Few;
pub use rows::fleet::{Counts, Fleet, RolloutState};
pub use rows::host::Host;
pub use rows::inquiry::Inquiry;
pub use rows::leadership::Leadership;
pub use rows::machine::{Contact, Failure, Machine, Progress};
pub use rows::node_use::NodeUse;
pub use rows::node_write::NodeWrite;
use rows::note::Note;
pub use rows::policy::{Policies, Policy};
pub use rows::rank::{RankKey, end_of_batch};
pub use rows::sample::{Answers, Sample};
pub use rows::set::{Charter, Owner, Set};
pub use rows::standing::Standing;
pub use rows::store::{Store, Stores};
pub use rows::ticket::{CheckTicket, HostTicket, Lane, NodeTicket, Ticket};
pub use rows::trouble::Trouble;
pub use rows::usage::Use;
pub use rows::version::Version;
use runtime::queue::{self, WorkQueue};
pub use runtime::retry::Retry;
use runtime::retry::Terms;
pub use runtime::tracked::{Object, Tracked, Writes};
pub use runtime::under_way::{InFlight, UnderWay};
pub use world::World;
pub use world::index::limits::DomainUse;
pub use world::index::picks::{Choice, PassedOver};
pub use world::index::policies::Work;
pub use world::index::resolution::{Aim, Origin, Target, targets};
pub use world::index::users::User;
pub use world::index::witnesses::Witnesses;
use world::prefetch::AT_ONCE;

/// A turn with at most this capacity is kept for the next one.
const TURN_KEPT: usize = 64;

/// The core.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    seed: Seed,
    world: World,
    queue: WorkQueue,
    actions: u64,
    /// A spare buffer for the notes of a decision; empty between decisions.
    notes: Vec<Note>,
    /// A spare buffer for a turn; empty between turns.
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

    /// Applies one fact. Cheap, infallible, decides nothing.
    pub fn observe(&mut self, event: Event) {
        match event {
            Event::Observed(store, observation) => domains::observe(&mut self.world, store, observation),
            Event::Finished { action, outcome } => {
                let terms = Terms { config: &self.config, seed: self.seed };
                domains::finish(&mut self.world, action, outcome, &terms);
            }
        }
    }

    /// Decides one bounded batch: the only place where actions are created. `now` must not decrease.
    pub fn reconcile(&mut self, now: Timestamp) -> Turn {
        debug_assert!(now >= self.world.now(), "time went back");
        domains::begin_turn(&mut self.world, now, &self.config);
        self.queue.advance(now);
        self.offer();
        let mut turn = core::mem::take(&mut self.spare);
        while turn.actions.len() < self.config.actions_per_turn_max as usize
            && turn.report.reconciled < self.config.subjects_per_turn_max
        {
            if (turn.report.reconciled as usize).is_multiple_of(AT_ONCE) {
                self.prefetch_ahead();
            }
            let Some(subject) = self.next_subject() else { break };
            let actions = turn.actions.len();
            self.decide(subject, now, &mut turn);
            if domains::ends_turn(subject) && turn.actions.len() > actions {
                break;
            }
        }
        self.offer();
        self.enqueue_touched();
        turn.wake = self.next_wake(now);
        turn
    }

    /// Takes back a processed turn to reuse its memory. A caller may also drop the turn.
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

    /// Why nothing is rolled out of what an owner wants of a component, as far as that shows before a rollout begins: the
    /// version does not exist, or a rule about versions excludes it.
    #[must_use]
    pub fn refusal(
        &self,
        owner: Owner,
        component: ComponentId,
    ) -> Option<(FleetReason, Option<FleetDetail>)> {
        domains::refusal(&self.world, owner, component)
    }

    /// Why a person has to confirm what an owner wants of a component, as far as that shows before a rollout begins. `coming` is
    /// how many machines do not have it yet.
    #[must_use]
    pub fn unconfirmed(
        &self,
        owner: Owner,
        component: ComponentId,
        coming: u32,
    ) -> Option<(FleetReason, Option<FleetDetail>)> {
        domains::unconfirmed(&self.world, owner, component, coming)
    }

    /// Whether a `reconcile` at this moment could decide anything: a fact arrived or a resource became free since the
    /// last one, or that one reached its limits. If not, the next one may wait until the time that the last one named.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.world.has_work(self.config.host_sessions_max)
    }

    /// How many subjects are queued.
    #[must_use]
    pub fn queue_depth(&self) -> usize {
        self.queue.len()
    }

    /// Prefetches what the next event about a subject reads, and the decision after it. Changes nothing.
    pub fn prefetch(&self, subject: Subject) {
        self.world.prefetch([subject]);
        core::hint::black_box(self.queue.touch(subject));
    }

    /// The next subject to reconcile. When the queue is empty, free units and sessions are offered once more: the
    /// machine that got the last offer may not have needed it.
    fn next_subject(&mut self) -> Option<Subject> {
        self.enqueue_touched();
        self.queue.pop().or_else(|| {
            self.offer();
            self.enqueue_touched();
            self.queue.pop()
        })
    }

    /// Prefetches queued rows when the queue is long. Rows that have just changed are in a cache anyway.
    fn prefetch_ahead(&self) {
        if self.queue.len() >= AT_ONCE {
            let touch = |subject: &Subject| {
                core::hint::black_box(self.queue.touch(*subject));
            };
            self.world.prefetch(self.queue.ahead(AT_ONCE).inspect(touch));
        }
    }

    fn offer(&mut self) {
        self.world.offer_units();
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
        let (store, notes) = (self.world.stores.of(subject), core::mem::take(&mut self.notes));
        let mut draft = Draft::new((&self.config, self.seed), store, now, notes);
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
            domains::remember(&mut self.world, note);
        }
        self.notes = notes;
        if let Some(order) = order {
            turn.actions.push(self.start(subject, order));
        }
    }

    fn start(&mut self, subject: Subject, order: Order) -> Action {
        self.actions += 1;
        let id = ActionId(self.actions);
        domains::start(&mut self.world, subject, id, &order);
        Action {
            id,
            store: order.store,
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
        Some(Wake { at, reason: domains::wakes_for(subject) })
    }
}
