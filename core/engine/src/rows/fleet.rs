//! The fleet's default versions: the object, its rollouts with their indexes, and the counters.

use crate::runtime::tracked::Tracked;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::component::ReleaseId;
use seaworthy_model::config::Config;
use seaworthy_model::host::Release;
use seaworthy_model::id::{ComponentId, MachineId, Uid};
use seaworthy_model::machine::Want;
use seaworthy_model::package_version::{DeferralReason, PackageVersionObject, PackageVersionSpec, Rollout};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::inquiry::Inquiry;
use crate::rows::machine::Machine;
use crate::rows::rank::RankKey;
use crate::rows::release::{Prepared, find};
use crate::rows::sample::Sample;
use crate::rows::set::{Doubt, Owner};
use crate::rows::standing::{Derived, Standing};

/// The default of `auditInterval`.
const AUDIT_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The fleet's default versions.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The `ClusterPackageVersion`.
    pub tracked: Tracked<Box<PackageVersionObject>>,
    /// The recorded rollouts of all owners: a runtime is listed before what runs on it.
    pub rollouts: Vec<RolloutState>,
    /// A write of its status whose outcome is not known.
    pub(crate) doubt: Option<Doubt>,
    /// Everything is listed again: whether the breaker was open, and where work began lately, is read from the record.
    pub(crate) recalls: bool,
}

/// When a rollout has granted machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waves {
    /// When the last wave was granted.
    pub last: Option<Timestamp>,
    /// Since when machines could be granted, though only a few.
    pub small_since: Option<Timestamp>,
    /// Both before the last wave, while its write is in flight.
    before: Option<(Option<Timestamp>, Option<Timestamp>)>,
}

impl Waves {
    /// A wave is granted by a write that is ordered now.
    pub(crate) fn grant(&mut self, now: Timestamp) {
        self.before = Some((self.last, self.small_since));
        (self.last, self.small_since) = (Some(now), None);
    }

    /// The write has ended. If it was refused, nothing was granted, and the next wave need not wait.
    pub(crate) fn settle(&mut self, is_refused: bool) {
        if let Some(before) = self.before.take().filter(|_| is_refused) {
            (self.last, self.small_since) = before;
        }
    }
}

/// A recorded rollout, with what is derived from it.
#[derive(Clone, Debug)]
pub struct RolloutState {
    /// What it belongs to.
    pub owner: Owner,
    /// The record.
    pub record: Rollout,
    /// The key of its ranks.
    pub key: RankKey,
    /// The keys of the ranks of the superseded rollouts, in the order of the record.
    pub(crate) superseded_keys: Vec<RankKey>,
    /// The spec wants something else by now: nothing more is started for this rollout.
    pub superseded: bool,
    /// The grants that were recorded before our epoch: a predecessor may have started an operation there.
    pub(crate) inherited: Inherited,
    /// The number of machines in each state.
    pub counts: Counts,
    /// Machines that are neither granted nor finished: by rank.
    pub waiting: BTreeSet<(u32, MachineId)>,
    /// Machines that are granted and not finished: by rank.
    pub holders: BTreeSet<(u32, MachineId)>,
    /// By superseded rollout, the machines that it lists.
    pub(crate) superseded_holders: Vec<Vec<MachineId>>,
    /// When a machine was last blocked after its grant: its unit came back unused, and the next machine may be blocked
    /// as well.
    pub hindered_at: Option<Timestamp>,
    /// When machines were granted.
    pub(crate) waves: Waves,
    /// What its last gate has asked besides the machines, if it has asked anything.
    pub inquiry: Option<Box<Inquiry>>,
    /// What its machines have said of its artefact before its first batch, if it has asked any.
    pub sample: Option<Box<Sample>>,
    /// The releases of `to` and of `from`, prepared once, unless they depend on facts or parameters of a single
    /// machine.
    pub(crate) to_releases: Prepared,
    pub(crate) from_releases: Prepared,
}

/// The grants that were recorded before our epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    own: Grants,
    /// Of the superseded rollouts, each with the key of their ranks.
    superseded: Vec<(RankKey, Grants)>,
}

/// Which ranks are granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Grants {
    /// By an operator that knew no grants: everybody whose rank is lower.
    below: u32,
    /// These ranks, in ascending order.
    ranks: Vec<u32>,
}

impl Grants {
    fn contains(&self, rank: u32) -> bool {
        rank < self.below || self.ranks.binary_search(&rank).is_ok()
    }
}

impl Inherited {
    /// The grants of a record.
    pub(crate) fn of(record: &Rollout, superseded_keys: &[RankKey]) -> Self {
        let own = match &record.granted {
            None => Grants { below: record.admitted_below, ranks: Vec::new() },
            Some(ranks) => Grants { below: 0, ranks: ranks.clone() },
        };
        let superseded = record.superseded.iter().map(|superseded| superseded.granted.clone());
        let superseded = superseded.map(|ranks| Grants { below: 0, ranks });
        Self { own, superseded: superseded_keys.iter().copied().zip(superseded).collect() }
    }

    /// The same grants, when the rollout with this key is superseded.
    pub(crate) fn superseded(&self, key: RankKey) -> Self {
        let superseded = self.superseded.iter().cloned().chain([(key, self.own.clone())]);
        Self { own: Grants::default(), superseded: superseded.collect() }
    }
}

/// The number of machines in each state of a rollout.
///
/// There is no write per machine before an operation starts, so the recorded grants are the only durable trace that one
/// may have started. A successor that knows just the record must assume that every granted machine that is not finished
/// is at work, until it has read the host. So a unit of the budget is taken when the grant is written, not when the
/// operation starts: otherwise the record would allow more machines at work than the budget.
///
/// A machine keeps its grant until it is done, or cannot be worked on: then it yields, and needs another one. A failed
/// machine keeps its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Not permitted.
    pub waiting: u32,
    /// Permitted, and could be granted.
    pub eligible: u32,
    /// Those of them that are out of service: they take no unit, but a place in the repair lane.
    pub idle: u32,
    /// Granted, and can be worked on.
    pub granted: u32,
    /// Granted, and cannot be worked on.
    pub held: u32,
    /// Permitted, not granted, and cannot be worked on.
    pub deferred: u32,
    /// Done, and no other release failed there.
    pub done: u32,
    /// Done, but another release failed there before: that proves nothing about this release.
    pub restored: u32,
    /// Failed.
    pub failed: u32,
    /// Granted, with an operation that is or may be under way.
    pub unresolved: u32,
    /// Granted, and cannot be worked on, with an operation whose outcome is not known: a predecessor may have started
    /// it, or the host was lost in the middle of it.
    pub unsettled: u32,
    /// Granted, and lost in the middle of an operation.
    pub lost: u32,
    /// Permitted, and cannot be worked on, with nothing under way there: by the reason, in the order of
    /// [`DeferralReason::ALL`].
    pub deferrals: [u32; DeferralReason::ALL.len()],
}

impl Counts {
    pub(crate) fn count(&mut self, standing: Standing, row: &Derived) {
        if let Some(counter) = self.of(standing) {
            *counter += 1;
        }
        self.idle += u32::from(row.out_of_service && standing == Standing::Eligible);
        self.unresolved += u32::from(row.unresolved && standing.is_granted());
        self.unsettled += u32::from((row.unresolved || row.lost) && standing == Standing::Held);
        self.lost += u32::from(row.lost && standing == Standing::Held);
        if let Some(reason) = row.deferral.filter(|_| standing.is_deferred()) {
            self.deferrals[reason as usize] += 1;
        }
    }

    pub(crate) fn uncount(&mut self, standing: Standing, row: &Derived) {
        if let Some(counter) = self.of(standing) {
            *counter -= 1;
        }
        self.idle -= u32::from(row.out_of_service && standing == Standing::Eligible);
        self.unresolved -= u32::from(row.unresolved && standing.is_granted());
        self.unsettled -= u32::from((row.unresolved || row.lost) && standing == Standing::Held);
        self.lost -= u32::from(row.lost && standing == Standing::Held);
        if let Some(reason) = row.deferral.filter(|_| standing.is_deferred()) {
            self.deferrals[reason as usize] -= 1;
        }
    }

    /// Machines that are at work, or about to be, or were lost at work.
    #[must_use]
    pub const fn at_work(&self) -> u32 {
        self.granted + self.unsettled
    }

    /// How many machines may be at work, for this `maxFailures`: the failures that are left, plus one for each machine
    /// that has succeeded. So a version that never works harms at most `maxFailures` machines, and one that works soon
    /// uses the whole budget.
    #[must_use]
    pub const fn allowance(&self, failures_max: u32) -> u32 {
        if self.failed >= failures_max { 0 } else { (failures_max - self.failed).saturating_add(self.done) }
    }

    /// How many more machines may be at work, for this `maxFailures`.
    #[must_use]
    pub const fn room(&self, failures_max: u32) -> u32 {
        self.allowance(failures_max).saturating_sub(self.at_work())
    }

    /// Whether every machine at work was lost there: only people can bring one back.
    pub(crate) const fn are_all_at_work_lost(&self) -> bool {
        self.lost > 0 && self.at_work() == self.lost
    }

    /// The blocker of a rollout that has no room, for this `maxFailures`.
    pub(crate) const fn without_room(&self, failures_max: u32) -> Blocker {
        Blocker::MaxFailures { at_work: self.at_work(), limit: self.allowance(failures_max) }
    }

    /// Machines that are permitted and neither done nor failed.
    #[must_use]
    pub const fn pending(&self) -> u32 {
        self.eligible + self.granted + self.held + self.deferred
    }

    /// Machines that are permitted and whose Nodes cannot be drained.
    #[must_use]
    pub const fn undrained(&self) -> u32 {
        self.deferrals[DeferralReason::Undrained as usize]
    }

    /// Machines that have the release.
    #[must_use]
    pub const fn updated(&self) -> u32 {
        self.done + self.restored
    }

    /// Machines that take part.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.waiting + self.pending() + self.done + self.restored + self.failed
    }

    const fn of(&mut self, standing: Standing) -> Option<&mut u32> {
        match standing {
            Standing::Outside => None,
            Standing::Waiting => Some(&mut self.waiting),
            Standing::Eligible => Some(&mut self.eligible),
            Standing::Granted => Some(&mut self.granted),
            Standing::Held => Some(&mut self.held),
            Standing::Deferred => Some(&mut self.deferred),
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

    /// When it began, while it permits nobody yet.
    #[must_use]
    pub fn begun_at(&self) -> Option<Timestamp> {
        let permits_nobody = self.record.admitted_below == 0 && self.is_active() && !self.superseded;
        permits_nobody.then_some(self.record.started_at)
    }

    /// Whether it has gates, and its first batch was not permitted yet.
    #[must_use]
    pub fn is_before_first_batch(&self) -> bool {
        self.record.course.is_some() && self.begun_at().is_some() && !self.record.is_reverted()
    }

    /// What its machines have said of its artefact.
    #[must_use]
    pub fn present_sample(&self) -> Option<&Sample> {
        self.sample.as_deref().filter(|sample| sample.is_for(&self.record))
    }

    /// Whether it wants to know before its first batch whether this machine can fetch its artefact.
    #[must_use]
    pub fn is_awaiting(&self, machine: MachineId) -> bool {
        self.is_before_first_batch() && self.present_sample().is_some_and(|sample| sample.awaits(machine))
    }

    /// Whether a machine of this rank is permitted to change.
    #[must_use]
    pub const fn admits(&self, rank: u32) -> bool {
        rank < self.record.admitted_below
    }

    /// Whether a machine of this rank is granted its turn.
    #[must_use]
    pub fn grants(&self, rank: u32) -> bool {
        self.record.granted.as_ref().is_some_and(|granted| granted.binary_search(&rank).is_ok())
    }

    /// Whether it has any grants that may not have ended, also of superseded rollouts.
    pub(crate) fn has_grants(&self) -> bool {
        self.record.granted.as_ref().is_none_or(|granted| !granted.is_empty())
            || !self.record.superseded.is_empty()
    }

    /// Whether both ask the same of every machine in the same state.
    pub(crate) fn asks_the_same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.record, &other.record);
        self.superseded == other.superseded
            && ours.generation == theirs.generation
            && ours.from == theirs.from
            && ours.to == theirs.to
            && ours.is_reverted() == theirs.is_reverted()
    }

    /// Whether `new` differs from the record in its grants, its progress, and in being complete, and in nothing else.
    pub(crate) fn is_only_granting(&self, new: &Rollout) -> bool {
        let seen = &self.record;
        (new.component, new.generation, new.admitted_below)
            == (seen.component, seen.generation, seen.admitted_below)
            && (&new.from, &new.to, new.started_at) == (&seen.from, &seen.to, seen.started_at)
            && new.granted.is_some()
            && seen.granted.is_some()
            && new.superseded == seen.superseded
            && new.is_reverted() == seen.is_reverted()
            && (seen.completed_at.is_none() || seen.completed_at == new.completed_at)
    }

    /// The release that permitted machines get, as prepared once for all machines of a sort.
    pub(crate) fn prepared_for(&self, machine: &Machine) -> Option<&Arc<Release>> {
        find(&self.to_releases, machine)
    }

    /// Whether this is what it brings to machines of any sort.
    pub(crate) fn brings(&self, release: ReleaseId) -> bool {
        self.to_releases.iter().any(|(_, prepared)| prepared.id == release)
    }

    /// Whether a predecessor may have started an operation on a machine under a grant, and the record does not show its
    /// end. That it has the release of this rollout says nothing of an operation for a superseded one.
    pub(crate) fn is_inherited(&self, machine: Uid, standing: Standing) -> bool {
        let Inherited { own, superseded } = &self.inherited;
        (standing.is_unfinished() && own.contains(self.key.rank(machine)))
            || superseded.iter().any(|(key, grants)| grants.contains(key.rank(machine)))
    }

    /// Adds a machine to the index of its state.
    pub(crate) fn enter(&mut self, place: (u32, MachineId), standing: Standing) {
        if standing.is_granted() {
            self.holders.insert(place);
        } else if standing.is_unfinished() {
            self.waiting.insert(place);
        }
    }

    /// Removes a machine from the index of its state.
    pub(crate) fn leave(&mut self, id: MachineId, uid: Option<Uid>, standing: Standing) {
        let Some(uid) = uid else { return };
        if standing.is_granted() {
            self.holders.remove(&(self.key.rank(uid), id));
        } else if standing.is_unfinished() {
            self.waiting.remove(&(self.key.rank(uid), id));
        }
    }

    /// The machines of a rank that take part and are not finished.
    pub(crate) fn of_rank(&self, rank: u32) -> impl Iterator<Item = MachineId> + '_ {
        let range = (rank, MachineId(0))..=(rank, MachineId(u32::MAX));
        self.waiting.range(range.clone()).chain(self.holders.range(range)).map(|(_, id)| *id)
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

    /// How often hosts without a Node are audited: as configured, and less often in proportion where `auditInterval` is
    /// longer than its default.
    #[must_use]
    pub fn audit_without_node(&self, config: &Config) -> Duration {
        let longer = self.audit_interval().as_millis().max(AUDIT_INTERVAL.as_millis());
        let millis =
            config.audit_without_node.as_millis().saturating_mul(longer) / AUDIT_INTERVAL.as_millis();
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// `pauseWhenUnavailable`; a fifth by default.
    #[must_use]
    pub fn pause_when_unavailable(&self) -> CountOrPercent {
        self.spec().map_or(CountOrPercent::Percent(20), |spec| spec.pause_when_unavailable)
    }

    /// Whether a person has paused the fleet.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec().is_some_and(|spec| spec.paused)
    }

    /// Whether the new spec differs from the current one in the versions only: the pace and the pause are the same.
    pub(crate) fn has_terms_of(&self, new: Option<&PackageVersionObject>) -> bool {
        let new = new.and_then(|new| new.spec.as_ref().ok());
        self.spec().zip(new).is_some_and(|(seen, new)| {
            let terms = PackageVersionSpec {
                components: seen.components.clone(),
                strategy: seen.strategy.clone(),
                ..(**new).clone()
            };
            terms == *seen
        })
    }
}
