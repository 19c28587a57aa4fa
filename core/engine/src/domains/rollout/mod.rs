//! The fleet's rollouts: starts one for each changed default version, admits machines batch by batch, completes
//! rollouts.
//!
//! One status write per batch, and none per machine: raising a rollout's threshold admits exactly the machines whose
//! rank lies between the old and the new one. That write is also their reservation: see [`Counts`](crate::Counts).

mod batch;
mod observe;
mod precedence;
mod skew;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::{ActionId, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::id::StoreId;
use seaworthy_model::machine::{ComponentSetting, Truth, Want};
use seaworthy_model::meta::Meta;
use seaworthy_model::package_version::{
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionObject, PackageVersionStatus, Rollout,
};
use seaworthy_model::report::{Blocker, WakeReason};

use batch::Batch;

use crate::domains::draft::{Draft, write, write_finalizers};
use crate::rows::fleet::{Fleet, RolloutState};
use crate::rows::note::RolloutNote;
use crate::rows::ticket::InFlight;
use crate::runtime::retry::Terms;
use crate::world::World;
use crate::world::index::skew::Plan as Order;

pub(super) use observe::observe;

/// A write is ordered.
pub(super) const fn start(world: &mut World, action: ActionId) {
    world.fleet.tracked.writes.action = Some(action);
}

/// A write has ended.
pub(super) fn finish(world: &mut World, in_flight: &InFlight, outcome: &Outcome, terms: &Terms<'_>) {
    let now = world.now;
    let tracked = &mut world.fleet.tracked;
    tracked.settle(outcome, in_flight.resource_version, |retry| terms.back_off(retry, now, 1));
}

/// Applies a note of a decision.
pub(super) const fn remember(world: &mut World, note: RolloutNote) {
    match note {
        RolloutNote::SmallBatch(since) => world.fleet.small_batch_since = since,
    }
}

/// Forgets the awaited echo: everything is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    if store == StoreId::HOME {
        world.fleet.tracked.writes.written = None;
    }
}

pub(super) fn reconcile(world: &World, draft: &mut Draft<'_>) {
    let fleet = &world.fleet;
    let Some(object) = draft.ready(&fleet.tracked) else { return };
    let step = Step { world, fleet, object };
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
    fleet: &'w Fleet,
    object: &'w PackageVersionObject,
}

/// The slots that are left, and the state of the fleet so far, while a step goes through the rollouts.
#[derive(Clone, Debug)]
struct Plan {
    order: Order,
    free: u32,
    standstill: Standstill,
}

/// Whether rollouts go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standstill {
    Moving,
    Complete,
    LeftOut,
    Stopped(FleetReason),
}

impl Standstill {
    /// A rollout is under way.
    fn moves(&mut self) {
        if matches!(self, Self::Complete | Self::LeftOut) {
            *self = Self::Moving;
        }
    }

    /// The reason and the conditions for this state.
    const fn told(self) -> (FleetReason, [(FleetConditionKind, Truth); 2]) {
        let (reason, complete, progressing) = match self {
            Self::Complete => (FleetReason::AllUpdated, Truth::True, Truth::True),
            Self::LeftOut => (FleetReason::MachinesLeftOut, Truth::False, Truth::True),
            Self::Moving => (FleetReason::RollingOut, Truth::False, Truth::True),
            Self::Stopped(reason) => (reason, Truth::False, Truth::False),
        };
        let kinds =
            [(FleetConditionKind::Complete, complete), (FleetConditionKind::Progressing, progressing)];
        (reason, kinds)
    }
}

impl<'w> Step<'w> {
    fn advance(self, draft: &mut Draft<'_>) {
        let meta = &self.object.meta;
        let Ok(spec) = &self.object.spec else {
            draft.wait(Blocker::InvalidSpec);
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::InvalidSpec));
        };
        if !meta.is_held() {
            return write_finalizers(draft, Target::PackageVersion, meta, meta.finalizers_with_ours());
        }
        if spec.paused {
            draft.wait(Blocker::Paused);
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::Paused));
        }
        let order = match self.order() {
            Ok(order) => order,
            Err(conflict) => return self.tell_skew(draft, conflict),
        };
        let mut plan = Plan { order, free: batch::free_slots(self.world), standstill: Standstill::Complete };
        let mut rollouts: Vec<Cow<'_, Rollout>> = Vec::with_capacity(self.fleet.rollouts.len());
        rollouts.extend(spec.components.iter().filter_map(|setting| self.next(draft, setting, &mut plan)));
        self.keep_unmentioned(draft, &spec.components, &mut rollouts);
        self.write(draft, rollouts, plan.standstill);
    }

    /// The record of one component's rollout, one step on.
    fn next(
        self,
        draft: &mut Draft<'_>,
        setting: &ComponentSetting,
        plan: &mut Plan,
    ) -> Option<Cow<'w, Rollout>> {
        let state = self.fleet.rollout_of(setting.component).map(|index| &self.fleet.rollouts[index]);
        let Some(state) = state.filter(|state| !state.superseded) else {
            return self.take_up(draft, setting, state, &mut plan.standstill);
        };
        let mut record = self.record_of(state);
        if state.is_active() {
            if let Some(reason) = self.unusable(&setting.want) {
                plan.standstill = Standstill::Stopped(reason);
                return Some(record);
            }
            if !is_complete(state) {
                plan.standstill.moves();
                match plan.order.before(setting.component) {
                    // An admitted machine would have to wait for the other default, and report that.
                    Some((_, conflict)) => draft.wait(conflict.blocker()),
                    None => self.admit(draft, state, &mut record, plan),
                }
                return Some(record);
            }
            record.to_mut().completed_at = Some(draft.now.whole_seconds());
        }
        if state.counts.pending() + state.counts.failed > 0 && plan.standstill == Standstill::Complete {
            plan.standstill = Standstill::LeftOut;
        }
        Some(record)
    }

    /// Starts the rollout of a new default. Machines that are at work on the former default finish first: then the
    /// record never hides an operation of a former generation from a new operator.
    fn take_up(
        self,
        draft: &mut Draft<'_>,
        setting: &ComponentSetting,
        before: Option<&'w RolloutState>,
        standstill: &mut Standstill,
    ) -> Option<Cow<'w, Rollout>> {
        if let Some(before) = before
            && before.counts.unresolved > 0
        {
            draft.wait(Blocker::Superseding);
            *standstill = Standstill::Stopped(FleetReason::Superseding);
            return Some(self.record_of(before));
        }
        if let Some(reason) = self.unusable(&setting.want) {
            *standstill = Standstill::Stopped(reason);
            return before.map(|before| self.record_of(before));
        }
        standstill.moves();
        let from = before.and_then(|before| {
            let record = &before.record;
            if self.is_proven(before) { Some(record.to.clone()) } else { record.from.clone() }
        });
        Some(Cow::Owned(Rollout {
            component: setting.component,
            generation: self.object.meta.generation,
            from,
            to: setting.want.clone(),
            admitted_below: 0,
            started_at: draft.now.whole_seconds(),
            completed_at: None,
        }))
    }

    /// The record of a rollout, borrowed from the object: so an unchanged record is recognized without a comparison.
    fn record_of(self, state: &'w RolloutState) -> Cow<'w, Rollout> {
        Cow::Borrowed(self.object.status.rollout(state.record.component).unwrap_or(&state.record))
    }

    /// Whether machines may fall back on a default. Its completion alone does not prove that it works: a rollout also
    /// completes if all machines were unreachable, or if there were none; and it may have failed since.
    fn is_proven(self, rollout: &RolloutState) -> bool {
        let RolloutState { record, counts, .. } = rollout;
        let works = || counts.done > 0 && self.world.failed_on(rollout) < self.world.failures_max();
        record.completed_at.is_some() && (record.to == Want::Absent || works())
    }

    /// A version that does not exist starts nothing.
    fn unusable(self, want: &Want) -> Option<FleetReason> {
        let Want::Present { version, .. } = want else { return None };
        self.world.version_spec(*version).is_none().then_some(FleetReason::UnknownVersion)
    }

    fn admit(
        self,
        draft: &mut Draft<'_>,
        state: &RolloutState,
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) {
        let limit = self.world.failures_max();
        if state.counts.failed >= limit {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyFailures);
            return draft.wait(Blocker::TooManyFailures { failed: state.counts.failed, limit });
        }
        if state.record.admitted_below == Rollout::EVERYBODY {
            return;
        }
        // Skip a predecessor that is itself blocked by a rule about versions.
        let predecessor = self.predecessor(record.component);
        if let Some(component) = predecessor.filter(|first| plan.order.before(*first).is_none()) {
            // An admitted machine would have to wait for the predecessor, and leave its slot to the next one, which
            // would wait as well.
            return draft.wait_as_well(Blocker::Dependency { component });
        }
        let waited = self
            .fleet
            .small_batch_since
            .is_some_and(|since| since + draft.config.admission_wait <= draft.now);
        match batch::next_batch(self.world, state, plan.free, waited) {
            Batch::Admit { below, count } => {
                let hindered = state.hindered_at.map(|at| at + draft.config.admission_wait);
                if let Some(until) = hindered.filter(|until| count > 0 && draft.now < *until) {
                    // The last slots came back unused, and the next ones may, too: there is no point in admitting the
                    // fleet quickly.
                    return draft.wake_at(until, WakeReason::Admission);
                }
                record.to_mut().admitted_below = below;
                plan.free = plan.free.saturating_sub(count);
                draft.note(RolloutNote::SmallBatch(None));
            }
            Batch::TooSmall => {
                let since = self.fleet.small_batch_since.unwrap_or(draft.now);
                draft.note(RolloutNote::SmallBatch(Some(since)));
                draft.wake_at(since + draft.config.admission_wait, WakeReason::Admission);
            }
            Batch::Full if plan.free > 0 => draft.wait(state.counts.without_room(limit)),
            Batch::Full => {
                let (occupied, limit) = (self.world.occupied(), self.world.slots());
                draft.wait(Blocker::MaxUnavailable { occupied, limit });
            }
        }
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
        let others = self.fleet.rollouts.iter().filter(|state| !is_mentioned(&state.record));
        for busy in others.filter(|state| state.counts.unresolved > 0) {
            draft.wait(Blocker::Superseding);
            rollouts.push(self.record_of(busy));
        }
    }

    /// The object is being deleted: nothing is removed from any host, and the object stays until no machine is at work
    /// for it.
    fn terminate(self, draft: &mut Draft<'_>) {
        let meta: &Meta = &self.object.meta;
        if !meta.is_held() {
            return;
        }
        let unresolved: u32 = self.fleet.rollouts.iter().map(|state| state.counts.unresolved).sum();
        if unresolved > 0 {
            draft.wait(Blocker::InUse(unresolved));
            return self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::Terminating));
        }
        write_finalizers(draft, Target::PackageVersion, meta, meta.finalizers_without_ours());
    }

    fn recorded(self) -> Vec<Cow<'w, Rollout>> {
        self.object.status.rollouts.iter().map(Cow::Borrowed).collect()
    }

    fn write(self, draft: &mut Draft<'_>, mut rollouts: Vec<Cow<'w, Rollout>>, standstill: Standstill) {
        // The spec has an order of its own; records are kept in the order of the ids.
        if !rollouts.is_sorted_by_key(|rollout| rollout.component) {
            rollouts.sort_by_key(|rollout| rollout.component);
        }
        let meta = &self.object.meta;
        let keeps = matches!(
            standstill,
            Standstill::Stopped(
                FleetReason::Superseding | FleetReason::StoreRegressed | FleetReason::InvalidSpec
            )
        );
        let observed_generation =
            if keeps { self.object.status.observed_generation } else { meta.generation };
        let recorded = &self.object.status;
        let same = observed_generation == recorded.observed_generation
            && is_recorded(&rollouts, &recorded.rollouts)
            && self.tells(standstill, &recorded.conditions);
        if !same {
            let conditions = self.conditions(draft, standstill, observed_generation).into();
            let rollouts = rollouts.into_iter().map(Cow::into_owned).collect();
            let status = PackageVersionStatus { observed_generation, conditions, rollouts };
            write(draft, Target::PackageVersion, meta, Effect::WritePackageVersionStatus(Box::new(status)));
        }
    }

    /// Whether the conditions report this state. Times do not count, and details only where they carry the news: the
    /// epoch that a person has to know, the rule that is broken, or the rollouts that wait for others.
    fn tells(self, standstill: Standstill, conditions: &[FleetCondition]) -> bool {
        let (reason, kinds) = standstill.told();
        let as_told = conditions.iter().map(|told| (told.kind, told.truth)).eq(kinds)
            && conditions.iter().all(|told| told.reason == reason);
        let is_in_detail = matches!(
            reason,
            FleetReason::StoreRegressed | FleetReason::VersionSkew | FleetReason::RollingOut
        );
        as_told
            && (!is_in_detail || {
                let detail = self.detail(reason);
                conditions.iter().all(|told| told.detail == detail)
            })
    }

    /// The detail that goes with a reason.
    fn detail(self, reason: FleetReason) -> Option<FleetDetail> {
        match reason {
            FleetReason::StoreRegressed => Some(FleetDetail::Regress(self.world.leadership.regress())),
            FleetReason::VersionSkew => self.skew_detail(),
            FleetReason::TooManyFailures => {
                let failed = self.fleet.rollouts.iter().map(|state| state.counts.failed).sum();
                Some(FleetDetail::Failures { failed, limit: self.world.failures_max() })
            }
            FleetReason::MachinesLeftOut => {
                let counts = self.fleet.rollouts.iter().map(|state| state.counts);
                let left = counts.map(|counts| counts.pending() + counts.failed).sum();
                Some(FleetDetail::LeftOut(left))
            }
            FleetReason::RollingOut => self.waits_detail(),
            FleetReason::AllUpdated
            | FleetReason::Superseding
            | FleetReason::Paused
            | FleetReason::InvalidSpec
            | FleetReason::UnknownVersion
            | FleetReason::Terminating => None,
        }
    }

    fn conditions(
        self,
        draft: &Draft<'_>,
        standstill: Standstill,
        observed_generation: u64,
    ) -> [FleetCondition; 2] {
        let (reason, told) = standstill.told();
        let recorded = &self.object.status.conditions;
        told.map(|(kind, truth)| {
            let before = recorded.iter().find(|before| before.kind == kind && before.truth == truth);
            let since = before.map_or(draft.now.whole_seconds(), |before| before.since);
            FleetCondition { kind, truth, reason, detail: self.detail(reason), since, observed_generation }
        })
    }
}

/// Whether these are the recorded rollouts. Most are borrowed from the object, and need no comparison.
fn is_recorded(rollouts: &[Cow<'_, Rollout>], recorded: &[Rollout]) -> bool {
    let is_one = |(one, recorded): (&Cow<'_, Rollout>, &Rollout)| {
        core::ptr::eq(&**one, recorded) || **one == *recorded
    };
    rollouts.len() == recorded.len() && rollouts.iter().zip(recorded).all(is_one)
}

/// Whether every machine that can be worked on has the new version.
const fn is_complete(state: &RolloutState) -> bool {
    let counts = &state.counts;
    state.record.admitted_below == Rollout::EVERYBODY
        && counts.failed == 0
        && counts.reserved == 0
        && counts.parked == 0
        && counts.waiting == 0
}
