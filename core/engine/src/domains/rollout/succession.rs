//! How a rollout follows another: what it keeps of those before it until their machines have ended.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{ComponentSetting, Want};
use seaworthy_model::package_version::{End, FleetReason, Past, Progress, Rollout, Superseded};
use seaworthy_model::report::Blocker;
use seaworthy_model::strategy::Course;
use seaworthy_model::time::Timestamp;

use super::standstill::Standstill;
use super::{Step, wave};
use crate::domains::draft::Draft;
use crate::rows::fleet::RolloutState;

impl<'w> Step<'w> {
    /// Starts the rollout of a new default. Machines that are at work on the former one stay in the record until they
    /// have ended.
    pub(super) fn take_up(
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
        if let Some(reason) = self.unconfirmed(setting.component) {
            *standstill = Standstill::Stopped(reason);
            return before.map(|before| self.record_of(before));
        }
        let Some(superseded) = before.map_or(Some(Vec::new()), |before| self.superseded(before)) else {
            draft.wait(Blocker::Superseding);
            *standstill = Standstill::Stopped(FleetReason::Superseding);
            return before.map(|before| self.record_of(before));
        };
        standstill.moves();
        let before_it = before.and_then(|before| before.record.from.as_ref());
        let from = match before {
            // The way back: what was there before the last change is known to work.
            Some(_) if before_it == Some(&setting.want) => before_it.cloned(),
            Some(before) => self.proven(before),
            None => self.of_those_below(setting.component),
        };
        // What is known to work needs no gates.
        let is_new = from.as_ref() != Some(&setting.want);
        let from = from.filter(|_| is_new || before.is_some());
        let strategy = self.object.strategy.cloned();
        Some(Cow::Owned(Rollout {
            component: setting.component,
            generation: self.object.meta.generation,
            from,
            to: setting.want.clone(),
            admitted_below: 0,
            granted: Some(Vec::new()),
            superseded,
            course: strategy.filter(|_| is_new).map(Course::new),
            cause: self.object.cause.cloned(),
            by: self.object.by.cloned(),
            progress: Progress::default(),
            started_at: draft.now.whole_seconds(),
            completed_at: None,
        }))
    }

    /// How many machines came to a completed rollout, by labels, by another selector, or because they could not be worked on
    /// before. Machines without anything that could be disrupted do not count.
    pub(super) fn came(self, state: &RolloutState) -> u32 {
        let is_gated = self.object.strategy.is_some() && !state.record.is_reverted();
        if is_gated { state.newcomers() } else { 0 }
    }

    /// Whether so many machines came to a completed rollout that they go through its batches.
    pub(super) fn has_many_more(self, state: &RolloutState) -> bool {
        self.came(state) > 0 && state.has_many_newcomers()
    }

    /// Begins a completed rollout anew: with a catch-up batch, or at its first batch if many machines came. When a gate fails,
    /// nobody falls back: the machines that had it before came from something else than those that came since. The batches are
    /// counted on, so that no verdict, no answer and no leave of a person is taken for that of a gate to come.
    pub(super) fn reopen(
        self,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        now: Timestamp,
    ) {
        let catches_up = !state.has_many_newcomers();
        let strategy = self.object.strategy.cloned();
        let granted = wave::kept(self.world, (index, state));
        let record = record.to_mut();
        let last = record.course.as_ref().map_or(0, |course| course.batch);
        let batch = last.saturating_add(1);
        record.course = strategy.map(|strategy| Course {
            batch,
            excused: state.counts.failed,
            judged_before: state.counts.updated() + state.counts.failed,
            batches_before: batch,
            catches_up,
            ..Course::new(strategy)
        });
        // Those that catch up leave what is known of the others as it is.
        record.from = record.from.take().filter(|from| catches_up && *from != record.to);
        record.granted = Some(granted);
        record.admitted_below = if catches_up { Rollout::EVERYBODY } else { 0 };
        record.started_at = now.whole_seconds();
        record.completed_at = None;
    }

    /// What machines may fall back on when a rollout is replaced.
    fn proven(self, before: &RolloutState) -> Option<Want> {
        let record = &before.record;
        if self.is_proven(before) { Some(record.to.clone()) } else { record.from.clone() }
    }

    /// What the machines of a new set or canary had of a component before: what the fleet's defaults say, or the set that
    /// decided until then.
    fn of_those_below(self, component: ComponentId) -> Option<Want> {
        let below = self.governor_below(component).filter(|below| *below != self.owner)?;
        let rollout = self.world.rollout_of(below, component)?;
        self.proven(&self.world.fleet.rollouts[rollout])
    }

    /// The history with those rollouts that are replaced by these.
    pub(super) fn history(self, rollouts: &[Rollout], now: Timestamp) -> Vec<Past> {
        let status = self.object.status;
        let replaced = status.rollouts.iter().filter(|old| {
            let new = rollouts.iter().find(|new| new.component == old.component);
            new.is_none_or(|new| new.generation != old.generation)
        });
        let replaced = replaced.map(|old| Past {
            component: old.component,
            generation: old.generation,
            to: old.to.clone(),
            end: End::of(old),
            progress: (old.progress.total, old.progress.updated),
            cause: old.cause.clone(),
            by: old.by.clone(),
            started_at: old.started_at,
            replaced_at: now.whole_seconds(),
        });
        let mut history: Vec<Past> = status.history.iter().cloned().chain(replaced).collect();
        let mut kept = BTreeMap::new();
        // The last ones of each component stay.
        history.reverse();
        history.retain(|past| {
            let count: &mut usize = kept.entry(past.component).or_default();
            *count += 1;
            *count <= Past::KEPT
        });
        history.reverse();
        history
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
            superseded.push(Superseded {
                generation: record.generation,
                to: record.target().clone(),
                granted,
            });
        }
        (superseded.len() <= Rollout::SUPERSEDED_MAX).then_some(superseded)
    }

    /// The superseded rollouts for which machines may still be at work.
    pub(super) fn unended(self, state: &RolloutState) -> Vec<Superseded> {
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
    pub(super) fn unresolved(self, state: &RolloutState) -> u32 {
        let own = match state.record.granted {
            Some(_) => state.counts.unresolved as usize,
            None => wave::at_work_without_grants(self.world, state)
                .map_or(Rollout::GRANTS_MAX, |ranks| ranks.len()),
        };
        let holders = state.superseded_holders.iter().flatten();
        let superseded = holders.filter(|id| self.world.machine(**id).is_unresolved()).count();
        u32::try_from(own + superseded).unwrap_or(u32::MAX)
    }

    /// Whether machines may fall back on a default. Its completion alone does not prove that it works: a rollout also
    /// completes if all machines were unreachable, or if there were none; and it may have failed since.
    fn is_proven(self, rollout: &RolloutState) -> bool {
        let RolloutState { record, counts, .. } = rollout;
        let works = || counts.done > 0 && self.world.failed_on(rollout) < self.world.failures_max();
        record.was_complete() && !record.is_reverted() && (record.to == Want::Absent || works())
    }
}
