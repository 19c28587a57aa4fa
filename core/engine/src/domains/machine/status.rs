//! The status of a machine: made from the host's report and one verdict, and written only if it differs from the
//! recorded status.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::detail::Detail;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::host::InstalledComponent;
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{
    ComponentStatus, Condition, ConditionKind, HostKeyPolicy, Identity, Installed, MachineStatus, Reason,
    Truth,
};
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use super::step::Step;
use crate::domains::draft::{Draft, write};
use crate::rows::trouble::Trouble;

/// The conditions that a step sets: `None` leaves a condition as recorded.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    reachable: Option<(Truth, Reason)>,
    in_sync: Option<(Truth, Reason)>,
    /// The host is not this machine's: none of its report is recorded.
    is_stranger: bool,
    /// The present generation of the spec is not finished: `observedGeneration` stays.
    keeps_generation: bool,
    /// The detail of the conditions that it sets.
    detail: Option<Arc<Detail>>,
}

impl Verdict {
    pub(super) const fn in_sync() -> Self {
        Self {
            reachable: Some((Truth::True, Reason::Connected)),
            in_sync: Some((Truth::True, Reason::AsDesired)),
            is_stranger: false,
            keeps_generation: false,
            detail: None,
        }
    }

    pub(super) fn out_of_sync(reason: Reason) -> Self {
        Self { reachable: None, in_sync: Some((Truth::False, reason)), ..Self::in_sync() }
    }

    /// The host was reached, and nothing else is known yet.
    pub(super) const fn contact() -> Self {
        Self {
            reachable: Some((Truth::True, Reason::Connected)),
            in_sync: None,
            is_stranger: false,
            keeps_generation: true,
            detail: None,
        }
    }

    /// Everything is as wanted, but another agent keeps changing it.
    pub(super) fn contested(detail: Detail) -> Self {
        Self { in_sync: Some((Truth::True, Reason::Contested)), ..Self::in_sync() }.because(detail)
    }

    /// The same, while the present generation of the spec is not finished.
    pub(super) fn unfinished(self) -> Self {
        Self { keeps_generation: true, ..self }
    }

    /// The same, with a detail.
    pub(super) fn because(self, detail: Detail) -> Self {
        self.with(Some(Arc::new(detail)))
    }

    /// The same, with a detail, if there is one.
    pub(super) fn with(self, detail: Option<Arc<Detail>>) -> Self {
        Self { detail, ..self }
    }

    /// A failure on the host that keeps it from what is wanted.
    pub(super) fn hindered(trouble: &Trouble) -> Self {
        Self::out_of_sync(Reason::from(trouble.kind)).unfinished().with(trouble.detail.clone())
    }

    pub(super) fn unreachable(trouble: &Trouble) -> Self {
        Self {
            reachable: Some((Truth::False, Reason::from(trouble.kind))),
            in_sync: None,
            keeps_generation: true,
            detail: trouble.detail.clone(),
            ..Self::in_sync()
        }
    }

    /// Not reachable any more, after an operation began or may have begun. A successor must know that.
    pub(super) fn lost(trouble: &Trouble) -> Self {
        Self { in_sync: Some((Truth::Unknown, Reason::OperationLost)), ..Self::unreachable(trouble) }
    }

    /// Not reachable, while an operation may be in flight there.
    pub(super) fn silent(trouble: &Trouble) -> Self {
        Self { reachable: Some((Truth::Unknown, Reason::from(trouble.kind))), ..Self::unreachable(trouble) }
    }

    pub(super) fn stranger(reason: Reason, detail: Option<Arc<Detail>>) -> Self {
        let told = Some((Truth::False, reason));
        let is_other_host = reason == Reason::IdentityMismatch;
        Self {
            reachable: if is_other_host { told } else { Some((Truth::True, Reason::Connected)) },
            in_sync: if is_other_host { None } else { told },
            is_stranger: true,
            detail,
            ..Self::in_sync()
        }
    }
}

impl Step<'_> {
    /// What is told of a machine whose change a disruption policy keeps back.
    pub(super) fn policy_verdict(self, blocker: Blocker) -> Option<Verdict> {
        let reason = if matches!(blocker, Blocker::PolicyPaused { .. }) {
            Reason::PolicyPaused
        } else if matches!(blocker, Blocker::PolicyInvalid { .. }) {
            Reason::PolicyInvalid
        } else if matches!(blocker, Blocker::Frozen { .. }) {
            Reason::Frozen
        } else if matches!(blocker, Blocker::OutsideWindow { .. }) {
            Reason::OutsideWindow
        } else {
            return None;
        };
        let policy = self.world.policies.name(blocker.policy()?);
        let until = if let Blocker::Frozen { until, .. } | Blocker::OutsideWindow { until, .. } = blocker {
            Some(until.whole_seconds())
        } else {
            None
        };
        Some(Verdict::out_of_sync(reason).because(Detail::Policy { policy, until }).unfinished())
    }

    /// Writes a verdict if it is not recorded already; otherwise waits.
    pub(in crate::domains::machine) fn tell(
        self,
        draft: &mut Draft<'_>,
        verdict: &Verdict,
        blocker: Blocker,
    ) {
        if !self.write_verdict(draft, verdict) {
            draft.wait(blocker);
        }
    }

    /// Writes a verdict if it is not recorded already. True if it writes.
    pub(in crate::domains::machine) fn write_verdict(self, draft: &mut Draft<'_>, verdict: &Verdict) -> bool {
        let status = self.status(draft.now, verdict);
        let is_news = status.is_some();
        if let Some(status) = status {
            let (target, meta) = (Target::Machine(self.machine.id), &self.object.meta);
            write(draft, target, meta, Effect::WriteMachineStatus(Box::new(status)));
        }
        is_news
    }

    /// The status that follows from `verdict`; `None` when it equals the recorded status.
    pub(super) fn status(self, now: Timestamp, verdict: &Verdict) -> Option<MachineStatus> {
        let recorded = &self.object.status;
        let is_known = self.machine.host.facts.is_some() || !self.object.meta.is_held();
        let observed_generation = if verdict.keeps_generation || !is_known {
            recorded.observed_generation
        } else {
            self.object.meta.generation
        };
        let (identity, components) = (self.identity(verdict), self.components(verdict));
        let told = self.told(verdict);
        let told = || told.iter().flatten();
        let paused = recorded.condition(ConditionKind::Paused).is_some();
        let says_the_same = observed_generation == recorded.observed_generation
            && tells_the_same(identity.as_ref(), recorded.identity.as_ref())
            && lists_the_same(&components, recorded)
            && paused == self.is_paused()
            && told().all(|told| self.is_recorded(told, verdict));
        if says_the_same {
            return None;
        }
        let conditions = told().map(|told| self.condition(told, now, verdict)).collect();
        Some(MachineStatus { observed_generation, identity, components, conditions })
    }

    /// The identity of the host: as first recorded, with the facts that may change.
    fn identity(self, verdict: &Verdict) -> Option<Identity> {
        let recorded = self.object.status.identity.as_ref();
        let facts = self.machine.host.facts.as_ref().filter(|_| !verdict.is_stranger);
        if let Some(recorded) = recorded {
            let reported = facts.and_then(|facts| facts.cgroup_version);
            return Some(Identity {
                cgroup_version: reported.or(recorded.cgroup_version),
                ..recorded.clone()
            });
        }
        facts.and_then(|_| self.found_identity())
    }

    /// The identity of the host, as it was read; `None` if it was not.
    pub(super) fn found_identity(self) -> Option<Identity> {
        let facts = self.machine.host.facts.as_ref()?;
        let trusts_first = self.machine.spec()?.connection.host_key_policy == HostKeyPolicy::TrustOnFirstUse;
        Some(Identity {
            host: facts.host,
            host_key: if trusts_first { facts.host_key.clone() } else { None },
            architecture: facts.architecture,
            cgroup_version: facts.cgroup_version,
        })
    }

    fn components(self, verdict: &Verdict) -> Arc<[ComponentStatus]> {
        let recorded = &self.object.status.components;
        if verdict.is_stranger {
            return Arc::clone(recorded);
        }
        let Some(facts) = self.machine.host.facts.as_ref() else { return self.with_failures() };
        if self.machine.failed.is_empty() && self.says_what_is_recorded(&facts.components) {
            return Arc::clone(recorded);
        }
        let mut components: Vec<ComponentStatus> = facts
            .components
            .iter()
            .map(|reported| self.component(reported.component, Some(reported)))
            .collect();
        let known = |component: ComponentId| facts.components.iter().any(|c| c.component == component);
        let recorded = self.object.status.components.iter().map(|status| status.component);
        let fresh = self.machine.failed.iter().map(|failure| failure.component);
        for component in recorded.chain(fresh).filter(|component| !known(*component)) {
            if components.iter().all(|status| status.component != component) {
                components.push(self.component(component, None));
            }
        }
        components.retain(|status| status.installed.is_some() || status.failed.is_some());
        self.sort(&mut components);
        components.into()
    }

    /// The recorded components, with the failures that are known since: the host may have gone before it was read again.
    fn with_failures(self) -> Arc<[ComponentStatus]> {
        let recorded = &self.object.status.components;
        if self.machine.failed.is_empty() {
            return Arc::clone(recorded);
        }
        let mut components = recorded.to_vec();
        for failure in self.machine.failed.iter() {
            let (component, failed) = (failure.component, Some(failure.release.into()));
            match components.iter_mut().find(|status| status.component == component) {
                Some(status) => status.failed = failed,
                None => components.push(ComponentStatus { component, installed: None, failed, set: None }),
            }
        }
        self.sort(&mut components);
        components.into()
    }

    /// Sorts components as they are written, by name.
    fn sort(self, components: &mut [ComponentStatus]) {
        components.sort_by(|a, b| {
            self.world.component_name(a.component).cmp(self.world.component_name(b.component))
        });
    }

    /// The status of a component, given the host's report of it. While the component changes, `installed` stays as
    /// recorded: a release is installed before it is probed, and a successor that has only the record must not count it
    /// as done.
    fn component(self, component: ComponentId, reported: Option<&InstalledComponent>) -> ComponentStatus {
        let installed = if self.machine.is_changing(component) {
            self.object.status.component(component).and_then(|recorded| recorded.installed)
        } else {
            reported.map(|found| Installed { version: found.version, release: found.release })
        };
        let set = installed.and_then(|_| self.world.set_to_record(self.machine, component));
        ComponentStatus {
            component,
            installed,
            failed: self.machine.failed_release(component).map(Box::new),
            set,
        }
    }

    /// Fast path: whether a host reports exactly what is recorded, without a failed release. That is nearly always so.
    fn says_what_is_recorded(self, reported: &[InstalledComponent]) -> bool {
        let recorded = &self.object.status.components;
        recorded.len() == reported.len()
            && recorded.iter().all(|status| {
                let found = reported.iter().find(|reported| reported.component == status.component);
                let new = self.component(status.component, found);
                new.installed.is_some()
                    && (status.installed, status.set) == (new.installed, new.set)
                    && status.failed.is_none()
            })
    }

    /// The conditions that follow from a verdict. A machine that waits because it is paused stays ready if it was.
    fn told(self, verdict: &Verdict) -> [Option<Told>; ConditionKind::ALL.len()] {
        let contact = self.machine.host.facts.is_some().then_some((Truth::True, Reason::Connected));
        let set = |(truth, reason)| (truth, reason, None);
        let kept = |kind| {
            let (truth, reason) = self.recorded(kind);
            (truth, reason, Some(kind))
        };
        let reachable = verdict.reachable.or(contact);
        let reachable = reachable.map_or_else(|| kept(ConditionKind::Reachable), set);
        let in_sync = verdict.in_sync.map_or_else(|| kept(ConditionKind::InSync), set);
        let ready = if reachable.0 != Truth::True && reachable.1 != Reason::NotYetKnown {
            reachable
        } else if in_sync.1 == Reason::Paused {
            kept(ConditionKind::Ready)
        } else {
            in_sync
        };
        ConditionKind::ALL.map(|kind| {
            let (truth, reason, kept) = match kind {
                ConditionKind::Ready => ready,
                ConditionKind::Reachable => reachable,
                ConditionKind::InSync => in_sync,
                ConditionKind::Paused => self.is_paused().then_some((Truth::True, Reason::Paused, None))?,
            };
            Some(Told { kind, truth, reason, kept })
        })
    }

    /// The detail of a condition. One that stays as recorded keeps its own: that of the verdict is about other conditions,
    /// and under another reason it is not read back as what it was.
    fn detail<'v>(self, told: Told, verdict: &'v Verdict) -> Option<&'v Arc<Detail>>
    where
        Self: 'v,
    {
        let Told { kind, truth, reason, kept } = told;
        if let Some(kept) = kept {
            return self.object.status.condition(kept)?.detail.as_ref();
        }
        let before = self.object.status.condition(kind);
        let is_told = (truth != Truth::True && reason != Reason::NotYetKnown) || reason == Reason::Contested;
        match before.filter(|before| before.truth == truth && before.reason == reason) {
            Some(before) if verdict.detail.is_none() => before.detail.as_ref(),
            Some(_) | None if is_told => verdict.detail.as_ref(),
            Some(_) | None => None,
        }
    }

    /// Whether the record has the same condition. Times do not count, and most details do not either.
    fn is_recorded(self, told: &Told, verdict: &Verdict) -> bool {
        // These details carry news: the epoch that a person has to know, or the state of another component.
        let is_in_detail = matches!(
            told.reason,
            Reason::StoreRegressed
                | Reason::HostAhead
                | Reason::Dependency
                | Reason::VersionSkew
                | Reason::ApiServerUnknown
        );
        self.object.status.condition(told.kind).is_some_and(|recorded| {
            (recorded.truth, recorded.reason) == (told.truth, told.reason)
                && (!is_in_detail || recorded.detail.as_ref() == self.detail(*told, verdict))
        })
    }

    fn condition(self, told: &Told, now: Timestamp, verdict: &Verdict) -> Condition {
        let Told { kind, truth, reason, .. } = *told;
        let before = self.object.status.condition(kind).filter(|before| before.truth == truth);
        let since = before.map_or_else(|| now.whole_seconds(), |before| before.since);
        let observed_generation = self.object.meta.generation;
        let detail = self.detail(*told, verdict).map(Arc::clone);
        Condition { kind, truth, reason, detail, since, observed_generation }
    }

    fn recorded(self, kind: ConditionKind) -> (Truth, Reason) {
        let recorded = self.object.status.condition(kind);
        recorded.map_or((Truth::Unknown, Reason::NotYetKnown), |recorded| (recorded.truth, recorded.reason))
    }
}

/// A condition without its detail and times.
#[derive(Clone, Copy, Debug)]
struct Told {
    kind: ConditionKind,
    truth: Truth,
    reason: Reason,
    /// The recorded condition that it is taken from, if the verdict does not set it.
    kept: Option<ConditionKind>,
}

/// Whether a list of components equals the recorded one.
fn lists_the_same(new: &Arc<[ComponentStatus]>, recorded: &MachineStatus) -> bool {
    Arc::ptr_eq(new, &recorded.components)
        || (new.len() == recorded.components.len()
            && new.iter().all(|new| recorded.component(new.component) == Some(new)))
}

/// Whether two identities are equal. A field that older operators did not record is added with the next write that is
/// due anyway: otherwise a new operator would write to every Machine of a settled fleet.
fn tells_the_same(new: Option<&Identity>, old: Option<&Identity>) -> bool {
    match (new, old) {
        (Some(new), Some(old)) if old.cgroup_version.is_none() => {
            (new.host, &new.host_key, new.architecture) == (old.host, &old.host_key, old.architecture)
        }
        (new, old) => new == old,
    }
}
