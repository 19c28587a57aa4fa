//! The status of an owner of rollouts: its records, and whether rollouts go on, as conditions.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::Effect;
use seaworthy_model::machine::Truth;
use seaworthy_model::package_version::{
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionStatus, Rollout,
};

use super::progress::is_outdated;
use super::standstill::Standstill;
use super::{Step, undrained};
use crate::domains::draft::{Draft, write};
use crate::rows::fleet::{Counts, RolloutState};
use crate::rows::policy::Places;
use crate::rows::set::Owner;

impl<'w> Step<'w> {
    /// Writes the status if it differs from the recorded one; nothing is granted.
    pub(super) fn write(
        self,
        draft: &mut Draft<'_>,
        rollouts: Vec<Cow<'w, Rollout>>,
        standstill: Standstill,
    ) {
        self.write_with(draft, rollouts, standstill, &[]);
    }

    /// Writes the status if it differs from the recorded one. `places` is what the disruption policies are to the machines
    /// that are granted their turn.
    pub(super) fn write_with(
        self,
        draft: &mut Draft<'_>,
        mut rollouts: Vec<Cow<'w, Rollout>>,
        standstill: Standstill,
        places: &[Places],
    ) {
        // The spec has an order of its own; records are kept in the order of the ids.
        if !rollouts.is_sorted_by_key(|rollout| rollout.component) {
            rollouts.sort_by_key(|rollout| rollout.component);
        }
        let meta = self.object.meta;
        let keeps = matches!(
            standstill,
            Standstill::Stopped(
                FleetReason::Superseding | FleetReason::StoreRegressed | FleetReason::InvalidSpec
            )
        );
        let observed_generation =
            if keeps { self.object.status.observed_generation } else { meta.generation };
        let recorded = self.object.status;
        let is_regressed = standstill == Standstill::Stopped(FleetReason::StoreRegressed);
        let is_kept = is_kept(standstill);
        let epoch = self.world.epoch();
        // A late write of a predecessor must find another version before any owner grants.
        let is_only_owner = self.world.owners().count() == 1;
        let has_grants = || self.rollouts().any(|(_, state)| !is_only_owner || state.has_grants());
        let picked = self.picked();
        let same = observed_generation == recorded.observed_generation
            && (is_regressed || epoch == recorded.epoch || !has_grants())
            && is_recorded(&rollouts, &recorded.rollouts)
            && picked == recorded.picked
            && !self.stands_still_outdated(standstill)
            && (is_kept || !self.has_lost_all())
            && self.tells(standstill, &rollouts, &recorded.conditions);
        if !same {
            let conditions = self.conditions(draft, standstill, observed_generation, &rollouts);
            let rollouts = rollouts.into_iter().map(Cow::into_owned);
            let rollouts = rollouts.map(|rollout| if is_kept { rollout } else { self.as_it_is(rollout) });
            let epoch = if is_regressed { recorded.epoch } else { epoch };
            let rollouts: Vec<Rollout> = rollouts.collect();
            let begun = self.world.ledger.limits.begun(places, draft.now);
            let history = self.history(&rollouts, draft.now);
            let status = Box::new(PackageVersionStatus {
                observed_generation,
                epoch,
                conditions,
                rollouts,
                begun,
                history,
                picked,
            });
            let effect = match self.owner {
                Owner::Fleet => Effect::WritePackageVersionStatus(status),
                Owner::Set(_) | Owner::Canary(_) => Effect::WriteSetStatus(status),
            };
            write(draft, self.owner.target(), meta, effect);
        }
    }

    /// Whether a set has lost all its machines, for no mistake in its selector, and its record counts some.
    fn has_lost_all(self) -> bool {
        let is_outdated = |(_, state): (usize, &RolloutState)| {
            let recorded = self.object.status.rollout(state.record.component);
            state.counts.total() == 0 && recorded.is_some_and(|recorded| recorded.progress.total > 0)
        };
        let is_empty = matches!(self.owner, Owner::Set(_)) && !self.world.members.contains_key(&self.owner);
        is_empty && self.rollouts().any(is_outdated)
    }

    /// Whether no machine is at work any more for rollouts that stand still, and the record says otherwise: the next write may
    /// be hours away. While they move, each wave brings the record up to date.
    fn stands_still_outdated(self, standstill: Standstill) -> bool {
        let is_outdated = |state: &RolloutState| {
            let recorded = self.object.status.rollout(state.record.component);
            recorded.is_some_and(|recorded| {
                recorded.generation == state.record.generation && is_outdated(recorded, &state.counts)
            })
        };
        let is_told = matches!(standstill, Standstill::Stopped(_)) && !is_kept(standstill);
        is_told && self.rollouts().any(|(_, state)| is_outdated(state))
    }

    /// Whether the conditions report this state. Times do not count, and details only where they carry the news: the
    /// epoch that a person has to know, the rule that is broken, or the rollouts that wait for others.
    fn tells(
        self,
        standstill: Standstill,
        rollouts: &[Cow<'_, Rollout>],
        conditions: &[FleetCondition],
    ) -> bool {
        let (reason, kinds) = standstill.told();
        let overlap = self.overlap();
        let extra = overlap.iter().map(|_| (FleetConditionKind::Overlapping, Truth::True));
        let is_extra = |told: &FleetCondition| told.kind == FleetConditionKind::Overlapping;
        let as_told =
            conditions.iter().map(|told| (told.kind, told.truth)).eq(kinds.into_iter().chain(extra))
                && conditions.iter().all(|told| is_extra(told) || told.reason == reason)
                && conditions.iter().filter(|told| is_extra(told)).all(|told| told.detail == overlap);
        let is_in_detail = matches!(
            reason,
            FleetReason::StoreRegressed
                | FleetReason::VersionSkew
                | FleetReason::RollingOut
                | FleetReason::Baking
                | FleetReason::ArtefactUnavailable
                | FleetReason::GateFailed
                | FleetReason::RolledBack
        );
        let detail = || self.detail(reason, rollouts);
        // What people have to mend, so that a gate is answered.
        let is_in_detail = is_in_detail
            || (reason == FleetReason::GateInconclusive
                && matches!(detail(), Some(FleetDetail::Unanswered(..))));
        as_told
            && (!is_in_detail || {
                let detail = self.detail(reason, rollouts);
                conditions.iter().all(|told| is_extra(told) || told.detail == detail)
            })
    }

    /// The detail that goes with a reason.
    fn detail(self, reason: FleetReason, rollouts: &[Cow<'_, Rollout>]) -> Option<FleetDetail> {
        match reason {
            FleetReason::StoreRegressed => Some(FleetDetail::Regress(self.world.leadership.regress())),
            FleetReason::VersionSkew => self.skew_detail(),
            FleetReason::TooManyFailures => {
                let failed = self.rollouts().map(|(_, state)| state.counts.failed).sum();
                Some(FleetDetail::Failures {
                    failed,
                    limit: self.world.failures_max().min(self.world.slots()),
                })
            }
            FleetReason::ConfirmationNeeded => self.reach(),
            FleetReason::TooManyLost => {
                let sum =
                    |count: fn(&Counts) -> u32| self.rollouts().map(|(_, state)| count(&state.counts)).sum();
                let (lost, failed) = (sum(|counts| counts.lost), sum(|counts| counts.failed));
                Some(FleetDetail::Lost { lost, failed, limit: self.world.failures_max() })
            }
            FleetReason::TooManyUnavailable => {
                let (unavailable, limit) = (self.world.sick(), self.world.breaker_limit());
                Some(FleetDetail::Unavailable { unavailable, limit })
            }
            FleetReason::TooManyUndrained => {
                let found = self.rollouts().find_map(|(_, state)| undrained(self.world, state));
                found.map(|(machines, limit)| FleetDetail::Undrained { machines, limit })
            }
            FleetReason::MachinesLeftOut => {
                let counts = || self.rollouts().map(|(_, state)| state.counts);
                let failed = counts().map(|counts| counts.failed).sum();
                let pending: u32 = counts().map(|counts| counts.pending()).sum();
                Some(FleetDetail::LeftOut { left: pending + failed, failed })
            }
            FleetReason::RollingOut => self.waits_detail(),
            FleetReason::Baking | FleetReason::GateFailed | FleetReason::RolledBack => {
                rollouts.iter().find_map(|record| self.course_detail(reason, record))
            }
            FleetReason::GateInconclusive => self.doubt(),
            FleetReason::ArtefactUnavailable => self.unfetched(),
            FleetReason::AllUpdated
            | FleetReason::Superseding
            | FleetReason::Overlap
            | FleetReason::TooDisruptive
            | FleetReason::RollbackUnsafe
            | FleetReason::SetEmptied
            | FleetReason::Paused
            | FleetReason::PolicyPaused
            | FleetReason::PolicyInvalid
            | FleetReason::Frozen
            | FleetReason::OutsideWindow
            | FleetReason::InvalidSpec
            | FleetReason::UnknownVersion
            | FleetReason::Terminating
            | FleetReason::NoMachines
            | FleetReason::Promoted
            | FleetReason::Aborted => None,
        }
    }

    fn conditions(
        self,
        draft: &Draft<'_>,
        standstill: Standstill,
        observed_generation: u64,
        rollouts: &[Cow<'_, Rollout>],
    ) -> Vec<FleetCondition> {
        let (reason, told) = standstill.told();
        let recorded = &self.object.status.conditions;
        let told = told.map(|(kind, truth)| (kind, truth, reason, self.detail(reason, rollouts)));
        let overlap = self.overlap().map(|overlap| {
            (FleetConditionKind::Overlapping, Truth::True, FleetReason::Overlap, Some(overlap))
        });
        let condition = |(kind, truth, reason, detail)| {
            let before = recorded.iter().find(|before| before.kind == kind && before.truth == truth);
            let since = before.map_or(draft.now.whole_seconds(), |before| before.since);
            FleetCondition { kind, truth, reason, detail, since, observed_generation }
        };
        told.into_iter().chain(overlap).map(condition).collect()
    }

    /// Another set that has a say on the same machines.
    fn overlap(self) -> Option<FleetDetail> {
        let (component, other, decides) = self.world.overlap(self.owner)?;
        let component = self.world.name_of_component(component);
        Some(FleetDetail::Overlap { component, other: self.world.name_of(other).into(), decides })
    }
}

/// Whether the progress of rollouts is left as it is recorded: what a lost store has recorded, and how many machines a set had
/// before an edit that a person has to confirm.
const fn is_kept(standstill: Standstill) -> bool {
    matches!(
        standstill,
        Standstill::Stopped(
            FleetReason::StoreRegressed | FleetReason::SetEmptied | FleetReason::ConfirmationNeeded
        )
    )
}

/// Whether these are the recorded rollouts. Most are borrowed from the object, and need no comparison.
fn is_recorded(rollouts: &[Cow<'_, Rollout>], recorded: &[Rollout]) -> bool {
    let is_one = |(one, recorded): (&Cow<'_, Rollout>, &Rollout)| {
        core::ptr::eq(&**one, recorded) || **one == *recorded
    };
    rollouts.len() == recorded.len() && rollouts.iter().zip(recorded).all(is_one)
}
