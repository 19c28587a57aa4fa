//! The fleet's default versions: the object, its rollouts with their indexes, and the counters.

use crate::runtime::tracked::{Object, Tracked};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use seaworthy_model::meta::Meta;

use seaworthy_model::host::Release;
use seaworthy_model::id::{ComponentId, MachineId, Uid};
use seaworthy_model::machine::Want;
use seaworthy_model::package_version::{PackageVersionObject, PackageVersionSpec, Rollout};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::rank::RankKey;
use crate::rows::release::{Prepared, find};
use crate::rows::standing::{Derived, Standing};

/// The default of `auditInterval`.
const AUDIT_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The fleet's default versions.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The `ClusterPackageVersion`.
    pub tracked: Tracked<Box<PackageVersionObject>>,
    /// The recorded rollouts, in the recorded order.
    pub rollouts: Vec<RolloutState>,
    /// Since when a batch could be admitted, though only a small one.
    pub small_batch_since: Option<Timestamp>,
}

/// A recorded rollout, with what is derived from it.
#[derive(Clone, Debug)]
pub struct RolloutState {
    /// The record.
    pub record: Rollout,
    /// The key of its ranks.
    pub key: RankKey,
    /// The spec wants something else by now: nothing more is started for this rollout.
    pub superseded: bool,
    /// The number of machines in each state.
    pub counts: Counts,
    /// Machines that are not admitted, by rank.
    pub waiting: BTreeSet<(u32, MachineId)>,
    /// When a machine was last blocked after its admission: its slot came back unused, and the next machine may be
    /// blocked as well.
    pub hindered_at: Option<Timestamp>,
    /// The releases of `to` and of `from`, prepared once, unless they depend on facts or parameters of a single
    /// machine.
    pub(crate) to_releases: Prepared,
    pub(crate) from_releases: Prepared,
}

/// The number of machines in each state of a rollout.
///
/// `admitted_below`, the recorded threshold, is also a reservation: raising it takes a slot of `maxUnavailable` for
/// every machine that it admits. There is no write per machine before an operation starts, so the threshold is the only
/// durable record that one may have started. A successor that knows just the record must assume that every admitted and
/// unfinished machine is at work, until it has read the host. So the slots are taken when the threshold is raised, not
/// when operations start: otherwise the record would allow more machines at work than the budget.
///
/// A machine holds its reservation until it is done. It gives the reservation up (`parked`) while it has to wait, for
/// instance because it is blocked, and then needs a free slot before it starts. A failed machine keeps its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Not admitted.
    pub waiting: u32,
    /// Admitted, with a reservation.
    pub reserved: u32,
    /// Admitted, without a reservation.
    pub parked: u32,
    /// Admitted, but they cannot be worked on.
    pub excused: u32,
    /// Done, and no other release failed there.
    pub done: u32,
    /// Done, but another release failed there before: that proves nothing about this release.
    pub restored: u32,
    /// Failed.
    pub failed: u32,
    /// Admitted, and an operation is or may be under way.
    pub unresolved: u32,
    /// Admitted, without a reservation, with an operation whose outcome is not known: a predecessor may have started
    /// it, or the host was lost in the middle of it.
    pub unsettled: u32,
}

impl Counts {
    pub(crate) fn count(&mut self, standing: Standing, row: &Derived) {
        if let Some(counter) = self.of(standing) {
            *counter += 1;
        }
        self.unresolved += u32::from(row.unresolved && standing.is_pending());
        self.unsettled += u32::from((row.unresolved || row.lost) && standing.is_unreserved());
    }

    pub(crate) fn uncount(&mut self, standing: Standing, row: &Derived) {
        if let Some(counter) = self.of(standing) {
            *counter -= 1;
        }
        self.unresolved -= u32::from(row.unresolved && standing.is_pending());
        self.unsettled -= u32::from((row.unresolved || row.lost) && standing.is_unreserved());
    }

    /// Machines that are at work, or about to be.
    #[must_use]
    pub const fn at_work(&self) -> u32 {
        self.reserved + self.unsettled
    }

    /// How many machines may be at work, for this `maxFailures`: the failures that are left, plus one for each machine
    /// that has succeeded. So a version that never works harms at most `maxFailures` machines, and one that works soon
    /// uses all slots.
    #[must_use]
    pub const fn allowance(&self, failures_max: u32) -> u32 {
        if self.failed >= failures_max { 0 } else { (failures_max - self.failed).saturating_add(self.done) }
    }

    /// How many more machines may be at work, for this `maxFailures`.
    #[must_use]
    pub const fn room(&self, failures_max: u32) -> u32 {
        self.allowance(failures_max).saturating_sub(self.at_work())
    }

    /// The blocker of a rollout that has no room, for this `maxFailures`.
    pub(crate) const fn without_room(&self, failures_max: u32) -> Blocker {
        Blocker::MaxFailures { at_work: self.at_work(), limit: self.allowance(failures_max) }
    }

    /// Machines that are admitted and neither done nor failed.
    #[must_use]
    pub const fn pending(&self) -> u32 {
        self.reserved + self.parked + self.excused
    }

    const fn of(&mut self, standing: Standing) -> Option<&mut u32> {
        match standing {
            Standing::Outside => None,
            Standing::Waiting => Some(&mut self.waiting),
            Standing::Reserved => Some(&mut self.reserved),
            Standing::Parked => Some(&mut self.parked),
            Standing::Excused => Some(&mut self.excused),
            Standing::Done => Some(&mut self.done),
            Standing::Restored => Some(&mut self.restored),
            Standing::Failed => Some(&mut self.failed),
        }
    }
}

impl RolloutState {
    /// Whether it is still under way.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.record.completed_at.is_none()
    }

    /// Whether a machine of this rank is admitted.
    #[must_use]
    pub const fn admits(&self, rank: u32) -> bool {
        rank < self.record.admitted_below
    }

    /// Applies a record that has only advanced. Returns the machines that it admits in addition.
    pub(crate) fn advance(&mut self, record: Rollout) -> Vec<MachineId> {
        let below = (record.admitted_below, MachineId(0));
        let unaffected = self.waiting.split_off(&below);
        let admitted = core::mem::replace(&mut self.waiting, unaffected);
        self.record = record;
        admitted.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether both ask the same of every machine in the same state.
    pub(crate) fn asks_the_same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.record, &other.record);
        self.superseded == other.superseded
            && ours.generation == theirs.generation
            && ours.from == theirs.from
            && ours.to == theirs.to
    }

    /// Whether `new` differs from the record only in a higher threshold or in being complete.
    fn is_only_advanced(&self, new: &Rollout) -> bool {
        let advanced = Rollout {
            admitted_below: self.record.admitted_below,
            completed_at: self.record.completed_at,
            ..new.clone()
        };
        new.admitted_below >= self.record.admitted_below
            && (self.record.completed_at.is_none() || self.record.completed_at == new.completed_at)
            && advanced == self.record
    }

    /// The release that admitted machines get, as prepared once for all machines of a sort.
    pub(crate) fn prepared_for(&self, machine: &Machine) -> Option<&Arc<Release>> {
        find(&self.to_releases, machine)
    }

    /// Removes a machine from those that wait.
    pub(crate) fn leave(&mut self, id: MachineId, uid: Option<Uid>) {
        if let Some(uid) = uid {
            self.waiting.remove(&(self.key.rank(uid), id));
        }
    }
}

impl Object for Box<PackageVersionObject> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Fleet {
    /// The `ClusterPackageVersion`, as last seen.
    #[must_use]
    pub fn object(&self) -> Option<&PackageVersionObject> {
        self.tracked.object.as_deref()
    }

    /// The spec, if the object exists and the spec is valid.
    #[must_use]
    pub fn spec(&self) -> Option<&PackageVersionSpec> {
        self.object()?.spec.as_ref().ok().map(AsRef::as_ref)
    }

    /// The index of the rollout of `component`.
    #[must_use]
    pub fn rollout_of(&self, component: ComponentId) -> Option<usize> {
        self.rollouts.iter().position(|rollout| rollout.record.component == component)
    }

    /// What the fleet wants of `component`.
    #[must_use]
    pub fn want(&self, component: ComponentId) -> Option<&Want> {
        let spec = self.spec()?;
        spec.components.iter().find(|setting| setting.component == component).map(|setting| &setting.want)
    }

    /// `maxUnavailable`; 1 by default.
    #[must_use]
    pub fn max_unavailable(&self) -> CountOrPercent {
        self.spec().map_or_else(CountOrPercent::default, |spec| spec.max_unavailable)
    }

    /// `maxFailures`; 1 by default.
    #[must_use]
    pub fn max_failures(&self) -> CountOrPercent {
        self.spec().map_or_else(CountOrPercent::default, |spec| spec.max_failures)
    }

    /// `auditInterval`; a day by default.
    #[must_use]
    pub fn audit_interval(&self) -> Duration {
        self.spec().map_or(AUDIT_INTERVAL, |spec| spec.audit_interval)
    }

    /// Whether a person has paused the fleet.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec().is_some_and(|spec| spec.paused)
    }

    /// The start of the oldest active rollout. Machines that became unavailable later count against the budget.
    #[must_use]
    pub fn active_since(&self) -> Option<Timestamp> {
        self.rollouts
            .iter()
            .filter(|rollout| rollout.is_active())
            .map(|rollout| rollout.record.started_at)
            .min()
    }

    /// Whether the record differs from the rollouts only in higher thresholds and completions.
    pub(crate) fn is_only_advanced(&self, new: Option<&PackageVersionObject>) -> bool {
        let (Some(seen), Some(new)) = (self.object(), new) else { return false };
        seen.meta.uid == new.meta.uid
            && seen.meta.is_terminating() == new.meta.is_terminating()
            && new.status.rollouts.len() == self.rollouts.len()
            && new.status.rollouts.iter().all(|record| {
                self.rollout_of(record.component)
                    .is_some_and(|index| self.rollouts[index].is_only_advanced(record))
            })
    }

    /// Whether the new spec differs from the current one in the versions only: the pace and the pause are the same.
    pub(crate) fn has_terms_of(&self, new: Option<&PackageVersionObject>) -> bool {
        let new = new.and_then(|new| new.spec.as_ref().ok());
        self.spec().zip(new).is_some_and(|(seen, new)| {
            let terms = PackageVersionSpec { components: seen.components.clone(), ..(**new).clone() };
            terms == *seen
        })
    }
}
