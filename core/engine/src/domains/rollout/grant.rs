//! One step of a rollout: permits the next batch, and grants the next wave.

use alloc::borrow::Cow;
use core::time::Duration;

use seaworthy_model::package_version::{FleetReason, Rollout};
use seaworthy_model::report::{Blocker, WakeReason};

use super::standstill::{self, Standstill};
use super::wave::{self, Pace, Wave};
use super::{Plan, Step, gate, is_done, is_idle, permission, undrained};
use crate::domains::draft::Draft;
use crate::rows::fleet::RolloutState;
use crate::rows::note::{MachineNote, Note, RolloutNote};

/// The least time between two waves of a rollout. Units may come back as soon as they are granted, as for a certificate that
/// has to be asked for first: then a small budget would cost one write after the other.
const WAVE_SPACING: Duration = Duration::from_secs(2);

impl Step<'_> {
    /// One step of a rollout that is under way: permits the next batch, and grants the next wave.
    pub(super) fn go_on(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) {
        if self.is_stopped_by_failures(draft, state, plan) {
            return;
        }
        // Skip a predecessor that is itself blocked by a rule about versions.
        let predecessor = self.predecessor(record.component);
        if let Some(component) = predecessor.filter(|first| plan.order.before(*first).is_none()) {
            // A granted machine would have to wait for the predecessor, and yield to the next one, which would wait as
            // well.
            return draft.wait_as_well(Blocker::Dependency { component });
        }
        if is_done(self.world, state) && !self.may_begin(draft, state, plan) {
            return;
        }
        let own = state.record.course.as_ref().map(|course| &course.strategy.batches);
        let batches = own.unwrap_or(&draft.config.batches);
        if let Some(below) = permission::next_threshold(self.world, (index, state), batches) {
            let record = record.to_mut();
            record.admitted_below = below;
            gate::begin_batch(record, state);
        }
        self.grant(draft, (index, state), record, plan);
        if let Some((machines, limit)) = undrained(self.world, state).filter(|_| is_idle(state)) {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyUndrained);
            draft.wait(Blocker::TooManyUndrained { machines, limit });
        }
        if let Some(blocker) = self.world.breaker().filter(|_| !record.goes_back()) {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyUnavailable);
            draft.wait(blocker);
        }
    }

    /// One step of a rollout that was completed: machines that could not be worked on then get their turn. Whether it begins
    /// anew for them, because they have a gate to pass.
    pub(super) fn catch_up(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> bool {
        let is_over = state.record.granted.as_ref().is_some_and(|granted| !granted.is_empty());
        if is_over && state.holders.is_empty() {
            // The next wave may follow soon, and its write says this as well.
            let until = state.waves.last.map(|at| at + draft.config.admission_wait);
            match until.filter(|until| draft.now < *until) {
                Some(until) => draft.wake_at(until, WakeReason::Admission),
                None => record.to_mut().granted = Some(wave::kept(self.world, (index, state))),
            }
        }
        if state.counts.eligible == 0
            || self.is_stopped_by_failures(draft, state, plan)
            || plan.order.before(record.component).is_some()
        {
            return false;
        }
        let has_gate = self.came(state) > 0;
        if has_gate {
            self.reopen((index, state), record, draft.now);
        } else {
            self.grant(draft, (index, state), record, plan);
        }
        has_gate
    }

    /// Whether as many machines failed as may, and says so if others would be granted otherwise.
    fn is_stopped_by_failures(self, draft: &mut Draft<'_>, state: &RolloutState, plan: &mut Plan) -> bool {
        let (counts, limit) = (&state.counts, self.world.failures_max());
        if counts.failed < limit {
            return false;
        }
        if counts.eligible + counts.waiting > 0 {
            plan.standstill = Standstill::Stopped(FleetReason::TooManyFailures);
        }
        draft.wait(Blocker::TooManyFailures { failed: counts.failed, limit });
        true
    }

    /// Whether a wave has to wait for the record of another owner: what it grants does not show yet, or a predecessor may
    /// still write it. This one is requeued when that has ended.
    fn is_kept_waiting(self, draft: &mut Draft<'_>) -> bool {
        let doubts = self.world.owners().filter_map(|owner| self.world.doubt_about(owner));
        if let Some(until) = doubts.map(|doubt| doubt.until).max() {
            draft.wake_at(until, WakeReason::Admission);
        }
        self.world.is_another_granting(self.owner) || !self.world.are_others_ours(self.owner)
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
        let pace = pace(draft, state);
        let wave = wave::next_wave(self.world, (index, state), record, &mut plan.room, pace);
        if let Some(until) = plan.room.more_at() {
            draft.wake_at(until, WakeReason::Admission);
        }
        match wave {
            Wave::Grant(_) if self.is_kept_waiting(draft) => {}
            Wave::Grant(picks) => {
                // When the last units came back unused, the next ones may, too: there is no point in going through the
                // fleet quickly.
                let hindered = state.hindered_at.map(|at| at + draft.config.admission_wait);
                let spaced = state.waves.last.map(|at| at + WAVE_SPACING);
                if let Some(until) = hindered.max(spaced).filter(|until| draft.now < *until) {
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
                if state.awaits_catch_up() {
                    gate::begin_catch_up(record);
                }
                draft.note(RolloutNote::Wave(self.owner, record.component));
            }
            Wave::TooSmall => {
                let since = state.waves.small_since.unwrap_or(draft.now);
                draft.note(RolloutNote::SmallWave(self.owner, record.component));
                draft.wake_at(since + draft.config.admission_wait, WakeReason::Admission);
            }
            Wave::NoFailureLeft => {
                if state.counts.are_all_at_work_lost() {
                    plan.standstill = Standstill::Stopped(FleetReason::TooManyLost);
                }
                draft.wait(state.counts.without_room(self.world.failures_max()));
            }
            Wave::NoUnit => self.wait_for_unit(draft, plan),
            Wave::Listed(limit) => draft.wait(Blocker::MaxUnavailable { occupied: limit, limit }),
            Wave::Nobody => {
                let Some(blocker) = plan.room.take_kept_back() else { return };
                if let Some(reason) = standstill::reason_of(blocker) {
                    plan.standstill = Standstill::Stopped(reason);
                }
                draft.wait(blocker);
            }
        }
    }

    fn wait_for_unit(self, draft: &mut Draft<'_>, plan: &mut Plan) {
        let (failed, limit) = (self.world.failed(), self.world.slots());
        if failed >= limit {
            // Each failed machine keeps its unit, so none comes back until a person has corrected something.
            plan.standstill = Standstill::Stopped(FleetReason::TooManyFailures);
            return draft.wait(Blocker::TooManyFailures { failed, limit });
        }
        let (occupied, laned) = (self.world.occupied(), self.world.laned());
        let occupied = if occupied < limit { laned } else { occupied };
        draft.wait(Blocker::MaxUnavailable { occupied, limit });
    }
}

fn pace(draft: &Draft<'_>, state: &RolloutState) -> Pace {
    let is_over = |since| since + draft.config.admission_wait <= draft.now;
    match (state.waves.small_since, state.waves.last) {
        (Some(since), _) if is_over(since) => Pace::Waited,
        (_, Some(at)) if !is_over(at) => Pace::Follows,
        _ => Pace::Starts,
    }
}
