//! The fleet's rollouts: starts one for each changed default version, permits machines batch by batch, grants them their
//! turn in waves, completes rollouts.
//!
//! One status write per wave, and none per machine: see [`Counts`](crate::Counts).

mod observe;
mod permission;
mod precedence;
mod progress;
mod skew;
mod wave;

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
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionObject, PackageVersionStatus, Progress,
    Rollout, Superseded,
};
use seaworthy_model::report::{Blocker, WakeReason};

use wave::{Room, Wave};

use crate::domains::draft::{Draft, write, write_finalizers};
use crate::rows::fleet::{Fleet, RolloutState};
use crate::rows::note::{MachineNote, Note, RolloutNote};
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
        RolloutNote::SmallWave(since) => world.fleet.small_wave_since = since,
    }
}

/// Begins an epoch: whatever is granted was granted by a predecessor.
pub(super) fn begin_epoch(world: &mut World) {
    world.inherit_grants();
}

/// Forgets the awaited echo: everything is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    if store == StoreId::HOME {
        world.fleet.tracked.writes.written = None;
        world.fleet.recalls_breaker = true;
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

/// The room that is left, and the state of the fleet so far, while a step goes through the rollouts.
#[derive(Clone, Debug)]
struct Plan {
    order: Order,
    room: Room,
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
        let mut plan = Plan { order, room: Room::of(self.world), standstill: Standstill::Complete };
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
        let index = self.fleet.rollout_of(setting.component);
        let known = index.map(|index| (index, &self.fleet.rollouts[index]));
        let Some((index, state)) = known.filter(|(_, state)| !state.superseded) else {
            return self.take_up(draft, setting, known.map(|(_, state)| state), &mut plan.standstill);
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
                    None => self.go_on(draft, (index, state), &mut record, plan),
                }
                return Some(record);
            }
            let record = record.to_mut();
            record.completed_at = Some(draft.now.whole_seconds());
            // Who was lost at work may be at work still.
            record.granted = Some(wave::kept(self.world, (index, state)));
        } else if self.unusable(&setting.want).is_none() {
            self.catch_up(draft, (index, state), &mut record, plan);
        }
        if state.counts.pending() + state.counts.failed > 0 && plan.standstill == Standstill::Complete {
            plan.standstill = Standstill::LeftOut;
        }
        Some(record)
    }

    /// Starts the rollout of a new default. Machines that are at work on the former one stay in the record until they
    /// have ended.
    fn take_up(
        self,
        draft: &mut Draft<'_>,
        setting: &ComponentSetting,
        before: Option<&'w RolloutState>,
        standstill: &mut Standstill,
    ) -> Option<Cow<'w, Rollout>> {
        if let Some(reason) = self.unusable(&setting.want) {
            *standstill = Standstill::Stopped(reason);
            return before.map(|before| self.record_of(before));
        }
        let Some(superseded) = before.map_or(Some(Vec::new()), |before| self.superseded(before)) else {
            draft.wait(Blocker::Superseding);
            *standstill = Standstill::Stopped(FleetReason::Superseding);
            return before.map(|before| self.record_of(before));
        };
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
            granted: Some(Vec::new()),
            superseded,
            progress: Progress::default(),
            started_at: draft.now.whole_seconds(),
            completed_at: None,
        }))
    }

    /// What remains of a rollout when the next one starts: who may be at work for it, and for those before it. `None` if
    /// that is too much for a record.
    fn superseded(self, before: &RolloutState) -> Option<Vec<Superseded>> {
        let record = self.record_of(before);
        let mut superseded = self.unended(before);
        let granted = match &record.granted {
            Some(_) => wave::at_work(self.world, before),
            None => wave::at_work_without_grants(self.world, before)?,
        };
        if !granted.is_empty() {
            superseded.push(Superseded { generation: record.generation, to: record.to.clone(), granted });
        }
        (superseded.len() <= Rollout::SUPERSEDED_MAX).then_some(superseded)
    }

    /// The superseded rollouts for which machines may still be at work.
    fn unended(self, state: &RolloutState) -> Vec<Superseded> {
        let each = state.record.superseded.iter().zip(&state.superseded_keys).zip(&state.superseded_holders);
        let unended = each.filter_map(|((superseded, key), holders)| {
            let busy = holders.iter().map(|id| self.world.machine(*id)).filter(|row| row.is_unresolved());
            let mut granted: Vec<u32> = busy.filter_map(|row| Some(key.rank(row.uid()?))).collect();
            granted.sort_unstable();
            granted.dedup();
            (!granted.is_empty()).then(|| Superseded { granted, ..superseded.clone() })
        });
        unended.collect()
    }

    /// How many machines may be at work for a rollout, or for one that it has superseded.
    fn unresolved(self, state: &RolloutState) -> u32 {
        let own = match state.record.granted {
            Some(_) => state.counts.unresolved as usize,
            None => wave::at_work_without_grants(self.world, state)
                .map_or(Rollout::GRANTS_MAX, |ranks| ranks.len()),
        };
        let holders = state.superseded_holders.iter().flatten();
        let superseded = holders.filter(|id| self.world.machine(**id).is_unresolved()).count();
        u32::try_from(own + superseded).unwrap_or(u32::MAX)
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

    /// One step of a rollout that is under way: permits the next batch, and grants the next wave.
    fn go_on(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) {
        let limit = self.world.failures_max();
        if state.counts.failed >= limit {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyFailures);
            return draft.wait(Blocker::TooManyFailures { failed: state.counts.failed, limit });
        }
        // Skip a predecessor that is itself blocked by a rule about versions.
        let predecessor = self.predecessor(record.component);
        if let Some(component) = predecessor.filter(|first| plan.order.before(*first).is_none()) {
            // A granted machine would have to wait for the predecessor, and yield to the next one, which would wait as
            // well.
            return draft.wait_as_well(Blocker::Dependency { component });
        }
        if let Some(below) = permission::next_threshold(self.world, (index, state), &draft.config.batches) {
            record.to_mut().admitted_below = below;
        }
        self.grant(draft, (index, state), record, plan);
        if let Some(blocker) = self.world.breaker() {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyUnavailable);
            draft.wait(blocker);
        }
    }

    /// One step of a rollout that was completed: machines that could not be worked on then get their turn.
    fn catch_up(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) {
        let is_over = state.record.granted.as_ref().is_some_and(|granted| !granted.is_empty());
        if is_over && state.holders.is_empty() {
            record.to_mut().granted = Some(Vec::new());
        }
        if state.counts.eligible == 0 {
            return;
        }
        if state.counts.failed >= self.world.failures_max() || plan.order.before(record.component).is_some() {
            return;
        }
        self.grant(draft, (index, state), record, plan);
    }

    /// Grants the next wave.
    fn grant(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) {
        let Some(granted) = &state.record.granted else {
            // An operator that knew no grants has set machines to work: they are read first.
            if let Some(granted) = wave::at_work_without_grants(self.world, state) {
                record.to_mut().granted = Some(granted);
            }
            return;
        };
        let waited =
            self.fleet.small_wave_since.is_some_and(|since| since + draft.config.admission_wait <= draft.now);
        match wave::next_wave(self.world, (index, state), record, &mut plan.room, waited) {
            Wave::Grant(picks) => {
                let hindered = state.hindered_at.map(|at| at + draft.config.admission_wait);
                if let Some(until) = hindered.filter(|until| draft.now < *until) {
                    // The last units came back unused, and the next ones may, too: there is no point in going through
                    // the fleet quickly.
                    return draft.wake_at(until, WakeReason::Admission);
                }
                for pick in picks.iter().filter(|pick| granted.binary_search(&pick.rank).is_ok()) {
                    draft.note(Note::Machine(pick.id, MachineNote::Resume(state.record.component)));
                }
                let mut ranks = wave::kept(self.world, (index, state));
                ranks.extend(picks.iter().map(|pick| pick.rank));
                ranks.sort_unstable();
                ranks.dedup();
                if record.granted.as_ref() != Some(&ranks) {
                    record.to_mut().granted = Some(ranks);
                }
                draft.note(RolloutNote::SmallWave(None));
            }
            Wave::TooSmall => {
                let since = self.fleet.small_wave_since.unwrap_or(draft.now);
                draft.note(RolloutNote::SmallWave(Some(since)));
                draft.wake_at(since + draft.config.admission_wait, WakeReason::Admission);
            }
            Wave::NoFailureLeft => draft.wait(state.counts.without_room(self.world.failures_max())),
            Wave::NoUnit => {
                let (occupied, limit) = (self.world.occupied(), self.world.slots());
                draft.wait(Blocker::MaxUnavailable { occupied, limit });
            }
            Wave::Nobody => {}
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
        for busy in others.filter(|state| self.unresolved(state) > 0) {
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
        let unresolved: u32 = self.fleet.rollouts.iter().map(|state| self.unresolved(state)).sum();
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
        let is_regressed = standstill == Standstill::Stopped(FleetReason::StoreRegressed);
        let epoch = self.world.epoch();
        let has_grants = || self.fleet.rollouts.iter().any(RolloutState::has_grants);
        let same = observed_generation == recorded.observed_generation
            && (is_regressed || epoch == recorded.epoch || !has_grants())
            && is_recorded(&rollouts, &recorded.rollouts)
            && self.tells(standstill, &recorded.conditions);
        if !same {
            let conditions = self.conditions(draft, standstill, observed_generation).into();
            let rollouts = rollouts.into_iter().map(Cow::into_owned);
            let rollouts =
                rollouts.map(|rollout| if is_regressed { rollout } else { self.as_it_is(rollout) });
            let epoch = if is_regressed { recorded.epoch } else { epoch };
            let rollouts = rollouts.collect();
            let status = PackageVersionStatus { observed_generation, epoch, conditions, rollouts };
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
            FleetReason::TooManyUnavailable => {
                let (unavailable, limit) = (self.world.sick(), self.world.breaker_limit());
                Some(FleetDetail::Unavailable { unavailable, limit })
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
fn is_complete(state: &RolloutState) -> bool {
    let counts = &state.counts;
    state.record.admitted_below == Rollout::EVERYBODY
        && state.record.granted.is_some()
        && counts.failed == 0
        && counts.granted == 0
        && counts.eligible == 0
        && counts.waiting == 0
}
