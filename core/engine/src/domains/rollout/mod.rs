//! The rollouts of the fleet's defaults and of the sets: starts one for each changed version, permits machines batch by batch, grants them their
//! turn in waves, completes rollouts.
//!
//! One status write per wave, and none per machine: see [`Counts`](crate::Counts).

mod canary;
mod confirmation;
mod gate;
mod grant;
mod inquiry;
mod observe;
mod permission;
mod precedence;
mod progress;
mod sample;
mod skew;
mod standstill;
mod status;
mod succession;
mod suspects;
mod verdict;
mod wave;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::StoreId;
use seaworthy_model::machine::{ComponentSetting, Want};
use seaworthy_model::meta::Meta;
use seaworthy_model::package_version::{FleetReason, Rollout};
use seaworthy_model::report::Blocker;

use standstill::{Gate, Standstill};
use wave::Room;

use crate::domains::draft::{Draft, write_finalizers};
use crate::domains::refusals::Answer;
use crate::rows::fleet::RolloutState;
use crate::rows::note::RolloutNote;
use crate::rows::set::{Charter, Doubt, Owner};
use crate::rows::ticket::{InFlight, Ticket};
use crate::runtime::queue::Priority;
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;
use crate::world::index::skew::Plan as Order;

pub(crate) use confirmation::unconfirmed;
pub(super) use observe::{observe, observe_set};
pub(crate) use skew::refusal;

/// No API server executes a request later than this after it was sent: `--request-timeout` of kube-apiserver, whose default
/// is one minute.
const EXECUTED_WITHIN: Duration = Duration::from_secs(60);

/// The keys of the jitter of back-offs have this bit, if they are those of sets and canaries.
const SET_KEYS: u64 = 1 << 40;

/// A write is ordered.
pub(super) fn start(world: &mut World, owner: Owner, action: ActionId) {
    if let Some(writes) = world.writes_of_mut(owner) {
        writes.action = Some(action);
    }
}

/// A write has ended. The others may grant again.
pub(super) fn finish(
    world: &mut World,
    owner: Owner,
    in_flight: &InFlight,
    outcome: &Outcome,
    terms: &Terms<'_>,
) {
    if let Ticket::Check(ticket) = in_flight.ticket {
        if let Some(writes) = world.writes_of_mut(owner) {
            writes.action = None;
        }
        return inquiry::settle(world, owner, ticket, outcome);
    }
    let is_refused = matches!(outcome, Outcome::Retryable(_) | Outcome::Refused(_));
    for state in world.fleet.rollouts.iter_mut().filter(|state| state.owner == owner) {
        state.waves.settle(is_refused);
    }
    let (now, against) = (world.now, in_flight.resource_version);
    let is_unknown = *outcome == Outcome::Unknown;
    let doubt = is_unknown.then_some(Doubt { against, until: now + EXECUTED_WITHIN });
    let back_off = |retry: &mut Retry, key| match Answer::of(outcome) {
        Answer::Refused => terms.back_off_briefly(retry, now, key),
        Answer::Taken | Answer::Unclear => terms.back_off(retry, now, key),
    };
    match owner {
        Owner::Fleet => {
            world.fleet.tracked.settle(outcome, against, |retry| back_off(retry, 1));
            world.fleet.doubt = doubt;
        }
        Owner::Set(_) | Owner::Canary(_) => {
            let (table, index) = owner.subject().place();
            let key = SET_KEYS | (table as u64) << 32 | index as u64;
            let Some(set) = world.set_mut(owner) else { return };
            set.tracked.settle(outcome, against, |retry| back_off(retry, key));
            set.doubt = doubt;
        }
    }
    world.touch_owners(Priority::Normal);
}

/// Applies a note of a decision.
pub(super) fn remember(world: &mut World, note: RolloutNote) {
    let (RolloutNote::Wave(owner, component)
    | RolloutNote::SmallWave(owner, component)
    | RolloutNote::Inquire(owner, component)
    | RolloutNote::NothingToProbe(owner, component)
    | RolloutNote::Sample(owner, component)
    | RolloutNote::Ask(owner, component, _)
    | RolloutNote::GiveUpAsking(owner, component, _)) = note;
    let Some(index) = world.rollout_of(owner, component) else { return };
    let (now, state) = (world.now, &mut world.fleet.rollouts[index]);
    match note {
        RolloutNote::Wave(..) => state.waves.grant(now),
        RolloutNote::SmallWave(..) => {
            state.waves.small_since.get_or_insert(now);
        }
        RolloutNote::Inquire(..) => inquiry::begin(world, index),
        RolloutNote::NothingToProbe(..) => inquiry::has_nothing_to_probe(world, index),
        RolloutNote::Sample(..) => sample::begin(world, index),
        RolloutNote::Ask(.., machine) => sample::ask(world, index, machine),
        RolloutNote::GiveUpAsking(.., machine) => sample::give_up(world, index, machine),
    }
}

/// Begins an epoch: whatever is granted was granted by a predecessor, and whoever was asked under the last one may never answer.
pub(super) fn begin_epoch(world: &mut World) {
    for state in &mut world.fleet.rollouts {
        state.sample = None;
    }
    world.inherit_grants();
}

/// Forgets the awaited echo: everything is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    if store == StoreId::HOME {
        world.fleet.tracked.writes.written = None;
        world.fleet.recalls = true;
        for set in world.sets.iter_mut().chain(&mut world.canaries) {
            set.tracked.writes.written = None;
        }
    }
}

pub(super) fn reconcile(world: &World, owner: Owner, draft: &mut Draft<'_>) {
    let (Some(object), Some(writes)) = (world.charter(owner), world.writes_of(owner)) else { return };
    if !draft.is_ready(writes) {
        return;
    }
    let step = Step { world, owner, object };
    match world.gate(StoreId::HOME) {
        Some(blocker @ Blocker::StoreRegressed { .. }) => {
            draft.wait(blocker);
            if !world.leadership.in_time {
                return;
            }
            step.write(draft, step.recorded(), Standstill::Stopped(FleetReason::StoreRegressed));
        }
        Some(blocker) => draft.wait(blocker),
        None if object.meta.is_terminating() => step.terminate(draft),
        None => step.advance(draft),
    }
}

/// What one step reads.
#[derive(Clone, Copy)]
struct Step<'w> {
    world: &'w World,
    owner: Owner,
    object: Charter<'w>,
}

/// The room that is left, and the state of the fleet so far, while a step goes through the rollouts.
#[derive(Clone, Debug)]
struct Plan {
    order: Order,
    room: Room,
    standstill: Standstill,
}

impl<'w> Step<'w> {
    fn advance(self, draft: &mut Draft<'_>) {
        let meta = self.object.meta;
        let Some(settings) = self.object.components else {
            draft.wait(Blocker::InvalidSpec);
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::InvalidSpec));
        };
        if !meta.is_held() {
            return write_finalizers(draft, self.owner.target(), meta, meta.finalizers_with_ours());
        }
        if self.object.paused || self.world.fleet.is_paused() {
            draft.wait(Blocker::Paused);
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::Paused));
        }
        if let Some(blocker) = self.world.policy_halt() {
            let reason = standstill::reason_of(blocker).unwrap_or(FleetReason::PolicyPaused);
            draft.wait(blocker);
            return self.write(draft, self.recorded(), Standstill::Stopped(reason));
        }
        if let Owner::Set(set) = self.owner
            && self.world.is_emptied(self.owner)
        {
            draft.wait(Blocker::SetEmptied { set });
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::SetEmptied));
        }
        if self.has_to_pick() {
            let standstill = self.before_the_pick(draft);
            return self.write(draft, self.recorded(), standstill);
        }
        let order = match self.order() {
            Ok(order) => order,
            Err(conflict) => return self.tell_skew(draft, conflict),
        };
        let mut plan = Plan { order, room: Room::of(self.world), standstill: Standstill::Complete };
        let mut rollouts: Vec<Cow<'_, Rollout>> = Vec::with_capacity(settings.len());
        rollouts.extend(settings.iter().filter_map(|setting| self.next(draft, setting, &mut plan)));
        self.keep_unmentioned(draft, settings, &mut rollouts);
        plan.standstill = self.end().unwrap_or(plan.standstill);
        self.write_with(draft, rollouts, plan.standstill, plan.room.picked());
    }

    /// The record of one component's rollout, one step on.
    fn next(
        self,
        draft: &mut Draft<'_>,
        setting: &ComponentSetting,
        plan: &mut Plan,
    ) -> Option<Cow<'w, Rollout>> {
        let index = self.world.rollout_of(self.owner, setting.component);
        let known = index.map(|index| (index, &self.world.fleet.rollouts[index]));
        let Some((index, state)) = known.filter(|(_, state)| !state.superseded) else {
            return self.take_up(draft, setting, known.map(|(_, state)| state), &mut plan.standstill);
        };
        let mut record = self.record_of(state);
        if state.is_active() {
            if let Some(reason) = self.unusable(state.record.target()) {
                plan.standstill = Standstill::Stopped(reason);
                return Some(record);
            }
            let gate = self.judge(draft, (index, state), &mut record, plan);
            if gate == Gate::Closed {
                return Some(record);
            }
            let is_over = is_complete(self.world, state) && (gate == Gate::Passed || !has_gates(state));
            if !is_over {
                if is_at_its_end(self.world, state) && state.counts.failed > 0 {
                    plan.standstill.leaves_out();
                } else {
                    plan.standstill.moves();
                }
                match plan.order.before(setting.component) {
                    // An admitted machine would have to wait for the other default, and report that.
                    Some((_, conflict)) => draft.wait(conflict.blocker()),
                    None => self.go_on(draft, (index, state), &mut record, plan),
                }
                self.tell_reverted(state, plan);
                return Some(record);
            }
            let record = record.to_mut();
            record.completed_at = Some(draft.now.whole_seconds());
            // Who was lost at work may be at work still.
            record.granted = Some(wave::kept(self.world, (index, state)));
        } else if self.has_many_more(state) {
            match self.unconfirmed_anew(state) {
                Some(reason) => plan.standstill = Standstill::Stopped(reason),
                None => {
                    self.reopen((index, state), &mut record, draft.now);
                    plan.standstill.moves();
                }
            }
            return Some(record);
        } else if self.unusable(state.record.target()).is_none()
            && self.catch_up(draft, (index, state), &mut record, plan)
        {
            plan.standstill.moves();
            return Some(record);
        }
        if state.counts.pending() + state.counts.failed > 0 {
            plan.standstill.leaves_out();
        }
        self.tell_reverted(state, plan);
        Some(record)
    }

    /// A rollout that was reverted is told until people want something else.
    fn tell_reverted(self, state: &RolloutState, plan: &mut Plan) {
        if state.record.is_reverted() && !matches!(plan.standstill, Standstill::Stopped(_)) {
            plan.standstill = Standstill::Stopped(FleetReason::RolledBack);
        }
    }

    /// The record of a rollout, borrowed from the object: so an unchanged record is recognized without a comparison.
    fn record_of(self, state: &'w RolloutState) -> Cow<'w, Rollout> {
        Cow::Borrowed(self.object.status.rollout(state.record.component).unwrap_or(&state.record))
    }

    /// A version that does not exist starts nothing.
    fn unusable(self, want: &Want) -> Option<FleetReason> {
        self.world.version_spec(want.version()?).is_none().then_some(FleetReason::UnknownVersion)
    }

    /// Components that the spec does not mention any more: nothing is removed; the record goes when no machine is at
    /// work.
    fn keep_unmentioned(
        self,
        draft: &mut Draft<'_>,
        settings: &[ComponentSetting],
        rollouts: &mut Vec<Cow<'w, Rollout>>,
    ) {
        let is_mentioned =
            |record: &Rollout| settings.iter().any(|setting| setting.component == record.component);
        let others = self.rollouts().map(|(_, state)| state).filter(|state| !is_mentioned(&state.record));
        for busy in others.filter(|state| self.unresolved(state) > 0) {
            draft.wait(Blocker::Superseding);
            rollouts.push(self.record_of(busy));
        }
    }

    /// The object is being deleted: nothing is removed from any host, and the object stays until no machine is at work
    /// for it.
    fn terminate(self, draft: &mut Draft<'_>) {
        let meta: &Meta = self.object.meta;
        if !meta.is_held() {
            return;
        }
        let unresolved: u32 = self.rollouts().map(|(_, state)| self.unresolved(state)).sum();
        if unresolved > 0 {
            draft.wait(Blocker::InUse(unresolved));
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::Terminating));
        }
        write_finalizers(draft, self.owner.target(), meta, meta.finalizers_without_ours());
    }

    /// The rollouts of the owner, with their indexes.
    fn rollouts(self) -> impl Iterator<Item = (usize, &'w RolloutState)> {
        let rollouts = self.world.fleet.rollouts.iter().enumerate();
        rollouts.filter(move |(_, state)| state.owner == self.owner)
    }

    fn recorded(self) -> Vec<Cow<'w, Rollout>> {
        self.object.status.rollouts.iter().map(Cow::Borrowed).collect()
    }
}

/// Whether every machine that can be worked on has the new version. What gates have tolerated does not keep a rollout open: who
/// comes later has a gate to pass.
fn is_complete(world: &World, state: &RolloutState) -> bool {
    is_at_its_end(world, state)
        && (state.counts.failed == 0 || has_gates(state))
        && state.record.admitted_below == Rollout::EVERYBODY
}

/// Whether every permitted machine that can be worked on is done, or failed.
fn is_done(world: &World, state: &RolloutState) -> bool {
    is_idle(state) && undrained(world, state).is_none()
}

/// Whether no machine is at work for a rollout, and none can be granted.
fn is_idle(state: &RolloutState) -> bool {
    state.grantable() == 0 && state.counts.at_work() == 0
}

/// How many machines cannot be drained, and how many of them a batch ends without, if they are more. What goes back to a release
/// that is known to work waits for none.
fn undrained(world: &World, state: &RolloutState) -> Option<(u32, u32)> {
    let strategy = world.strategy_of(state).filter(|_| has_gates(state))?;
    let machines = state.counts.undrained();
    let limit = strategy.undrainable.skipped_of(state.counts.total());
    (machines > limit).then_some((machines, limit))
}

/// Whether a rollout has gates to pass before it is complete.
fn has_gates(state: &RolloutState) -> bool {
    state.record.course.is_some() && !state.record.is_reverted()
}

/// Whether nothing more can be done: every machine that can be worked on has the new version, or failed to get it.
fn is_at_its_end(world: &World, state: &RolloutState) -> bool {
    let counts = &state.counts;
    undrained(world, state).is_none()
        && state.record.granted.is_some()
        && counts.granted == 0
        && state.grantable() == 0
        && counts.waiting == 0
}
