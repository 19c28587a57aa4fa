//! One row of the world: what is known of a machine, first hand and from the API server.

use crate::rows::few::Few;
use crate::rows::host::{Host, is_wrong};
use crate::rows::policy::Places;
use crate::rows::set::Owner;
use crate::rows::trouble::Trouble;
use crate::runtime::retry::Retry;
use crate::runtime::tracked::Writes;
use alloc::boxed::Box;
use alloc::sync::Arc;
use seaworthy_model::detail::Detail;
use seaworthy_model::draw::mix;

use seaworthy_model::component::{Architecture, CgroupVersion};
use seaworthy_model::host::{HostFacts, InstalledComponent, OperationId, OperationReport, OperationState};
use seaworthy_model::id::{ComponentId, MachineId, Uid, VersionId};
use seaworthy_model::machine::{
    ComponentStatus, ConditionKind, FailedRelease, HostId, Installed, MachineObject, MachineSpec, Reason,
    Truth,
};
use seaworthy_model::node::{Health, NodeState};
use seaworthy_model::package_version::DeferralReason;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::drain::Drain;
use crate::rows::node_use::NodeUse;
use crate::rows::standing::{Derived, Standing};

/// What is known of a machine.
///
/// The row has four parts, in this order. The objects, `object` and `node`, come from the watch, and what is written
/// there is the only durable memory. From `drain` to `blocked` the row holds what this engine learnt or decided in its
/// epoch; it is lost with the engine, and found again by reading the host. `progress` holds what no counter depends on.
/// The `derived` fields are the result of all that, and never an input.
///
/// The split is by type because the counters (slots, rollout states, Nodes) are kept incrementally.
/// [`World::change`](crate::World) gives out the whole row and recounts it. `World::note` gives out a `Progress` only,
/// and skips the recount: it is called several times for each action. A field that any counter reads must therefore
/// stay outside `Progress`.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its id.
    pub id: MachineId,
    /// The Machine object, as last observed.
    pub object: Option<MachineObject>,
    /// The sets that select it, those that decide before others first.
    pub(crate) sets: Option<Arc<[Owner]>>,
    /// Its Node, as last observed.
    pub node: Option<NodeState>,
    /// Since when its Node was seen not to be ready, without a break. `None` while it is ready, or there is no Node.
    pub(crate) unready_since: Option<Timestamp>,
    /// Whether that has lasted so long that nothing can be disrupted there.
    pub(crate) lasts_unready: bool,
    /// The drain of its Node, if there is one.
    pub drain: Option<Box<Drain>>,
    /// The newest of our own marks that we ordered to be removed from its Node, by its order number, whatever the reply
    /// was; 0 if none was. A refused removal says nothing of an earlier one, nor of its own copies, and a delayed copy
    /// of the order that set the mark may bring it back long after the drain. If a drain is needed again, it goes on
    /// under a later mark.
    pub(crate) lifted: u64,
    /// People have uncordoned its Node under the present mark, which says that the cordon is ours: from then on it is
    /// up to them whether the Node is schedulable.
    pub freed: bool,
    /// What the host reported in this epoch.
    pub host: Host,
    /// Whether a service does not run there, or another program in its place: a gate looks at all machines, and few have this.
    pub(crate) has_wrong_service: bool,
    /// An operation on the host whose outcome is not known.
    pub uncertain: Option<OperationId>,
    /// What the last operation that we ordered installs. Means nothing once it has ended.
    pub(crate) installs: Option<VersionId>,
    /// Whether the last operation that we ordered repairs a release that was installed before.
    pub(crate) repairs: bool,
    /// Releases that failed, for the present generation of the spec; the status may not show them yet.
    pub failed: Few<Failure>,
    /// When that operation was ordered, or was last seen to go on.
    pub(crate) ordered_at: Timestamp,
    /// The components for which it gave its grant back: it needs another one before it starts, also while the record still
    /// lists it.
    pub(crate) yielded: Few<ComponentId>,
    /// Whether it was out of service when the operation on its host began, so that takes no unit of the budget. `None` if a
    /// predecessor began it: then it takes a unit and a place in the repair lane.
    pub spared: Option<bool>,
    /// Whether it was unavailable when the operation on its host began: then that operation is not the cause. It stays while
    /// the host is lost.
    pub(crate) unavailable_before: bool,
    /// Its host was lost at work so long ago that nothing of ours goes on there, and it claims no unit.
    pub given_up: bool,
    /// Why it cannot be worked on until something else changes.
    pub blocked: Option<Blocker>,
    /// The components that alone are blocked; if there are none, the whole machine is.
    pub(crate) hindered: Few<ComponentId>,
    /// What is in flight for it, and when it is retried or reconciled again. No counter depends on it.
    pub progress: Progress,
    /// What follows from all this, kept by [`World::refresh`](crate::World).
    pub(crate) derived: Derived,
    /// What its Node is counted as.
    pub(crate) derived_node: NodeUse,
}

/// The part of a row that no counter depends on: the only part that may change without a recount.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Our writes of the Machine. `action` may also be another action about it: there is at most one at a time.
    pub writes: Writes,
    /// Results of contacts with the host, and when the next one is due.
    pub contact: Contact,
}

/// Results of contacts with a host, and when the next one is due.
#[derive(Clone, Debug, Default)]
pub struct Contact {
    /// The host may have changed since it was read: it is read again before the engine acts.
    pub stale: bool,
    /// A lookup in [`World::owner_of`](crate::World::owner_of) has shown that the host belongs to this machine.
    pub(crate) owned: bool,
    /// When the host was last read.
    pub read_at: Timestamp,
    /// When the next audit is due; `None` until it was drawn.
    pub audit_at: Option<Timestamp>,
    /// Failed contacts in a row.
    pub failures: u32,
    /// Why the last contact or operation failed.
    pub trouble: Option<Box<Trouble>>,
    /// Back-off of contacts.
    pub retry: Retry,
}

/// A release that failed, with what the host reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The component that was to change.
    pub component: ComponentId,
    /// What failed.
    pub release: FailedRelease,
    /// What the host reported.
    pub detail: Option<Arc<Detail>>,
}

/// The key of the jitter of its back-offs.
pub(crate) fn key(id: MachineId) -> u64 {
    mix(&[3, u64::from(id.0)])
}

impl Machine {
    /// A row of which nothing is known.
    pub(crate) const EMPTY: Self = Self::new(MachineId(u32::MAX));

    /// The row of a machine of which nothing is known yet.
    pub(crate) const fn new(id: MachineId) -> Self {
        Self {
            id,
            object: None,
            sets: None,
            node: None,
            unready_since: None,
            lasts_unready: false,
            drain: None,
            host: Host { facts: None, unreachable_since: None, ahead: None },
            has_wrong_service: false,
            uncertain: None,
            installs: None,
            repairs: false,
            failed: Few::NONE,
            ordered_at: Timestamp::ZERO,
            yielded: Few::NONE,
            spared: None,
            unavailable_before: false,
            given_up: false,
            blocked: None,
            hindered: Few::NONE,
            progress: Progress {
                writes: Writes::NONE,
                contact: Contact {
                    stale: false,
                    owned: false,
                    read_at: Timestamp::ZERO,
                    audit_at: None,
                    failures: 0,
                    trouble: None,
                    retry: Retry::NONE,
                },
            },
            derived: Derived::NONE,
            derived_node: NodeUse::Closed,
            lifted: 0,
            freed: false,
        }
    }

    /// Its uid, while the object exists.
    #[must_use]
    pub fn uid(&self) -> Option<Uid> {
        self.object.as_ref().map(|object| object.meta.uid)
    }

    /// Whether the object exists and is not being deleted.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.object.as_ref().is_some_and(|object| !object.meta.is_terminating())
    }

    /// Its spec, if it is valid.
    #[must_use]
    pub fn spec(&self) -> Option<&Arc<MachineSpec>> {
        self.object.as_ref()?.spec.as_ref().ok()
    }

    /// The architecture, as the host reported it or as it is recorded.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        let reported = self.host.facts.as_ref().map(|facts| facts.architecture);
        reported.or_else(|| Some(self.object.as_ref()?.status.identity.as_ref()?.architecture))
    }

    /// The version of control groups, as the host reported it or as it is recorded.
    #[must_use]
    pub fn cgroup_version(&self) -> Option<CgroupVersion> {
        match &self.host.facts {
            Some(facts) => facts.cgroup_version,
            None => self.object.as_ref()?.status.identity.as_ref()?.cgroup_version,
        }
    }

    /// What the host reported of `component`.
    #[must_use]
    pub fn reported(&self, component: ComponentId) -> Option<&InstalledComponent> {
        let facts = self.host.facts.as_ref()?;
        facts.components.iter().find(|installed| installed.component == component)
    }

    /// Takes over what the host reported, or forgets it.
    pub(crate) fn take_facts(&mut self, facts: Option<Box<HostFacts>>) {
        self.host.facts = facts;
        self.has_wrong_service = self.host.has_wrong_service();
    }

    /// Whether the service of `component` did not run, or another program in its place, when the host was last read.
    pub(crate) fn is_service_wrong(&self, component: ComponentId) -> bool {
        self.has_wrong_service && self.reported(component).is_some_and(|reported| is_wrong(reported.drift))
    }

    /// Whether the host was changing `component` when it was last read.
    #[must_use]
    pub fn is_changing(&self, component: ComponentId) -> bool {
        let facts = self.host.facts.as_ref();
        facts
            .and_then(|facts| facts.operation.as_ref())
            .is_some_and(|operation| operation.component == component && operation.state.is_open())
    }

    /// The operation on the host that waits for its confirmation, as of the last read.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<&OperationReport> {
        let report = self.host.facts.as_ref()?.operation.as_ref()?;
        let is_open = report.state == OperationState::Unconfirmed && self.uncertain == Some(report.id);
        is_open.then_some(report)
    }

    /// What is installed of `component`: as the host reported in this epoch, else as recorded.
    #[must_use]
    pub fn installed(&self, component: ComponentId) -> Option<Installed> {
        if self.host.facts.is_some() {
            let reported = self.reported(component)?;
            return Some(Installed { version: reported.version, release: reported.release });
        }
        self.object.as_ref()?.status.component(component)?.installed
    }

    /// The release of `component` that failed here, and is not retried while the spec stays as it is.
    #[must_use]
    pub fn failed_release(&self, component: ComponentId) -> Option<FailedRelease> {
        let fresh =
            self.failed.iter().find(|failure| failure.component == component).map(|failure| failure.release);
        fresh.or_else(|| {
            let object = self.object.as_ref()?;
            if object.status.observed_generation != object.meta.generation {
                return None;
            }
            object.status.component(component)?.failed_release()
        })
    }

    /// A release that failed here, and that its status does not show yet.
    pub(crate) fn unrecorded_failure(&self) -> Option<&Failure> {
        let MachineObject { meta, status, .. } = self.object.as_ref()?;
        let is_told = |failure: &Failure| {
            let recorded = status.component(failure.component).and_then(ComponentStatus::failed_release);
            status.observed_generation == meta.generation && recorded == Some(failure.release)
        };
        self.failed.iter().find(|failure| !is_told(failure))
    }

    /// Whether a release failed here, and its status does not show that yet.
    #[must_use]
    pub const fn is_failure_unrecorded(&self) -> bool {
        self.derived.unrecorded
    }

    /// Whether it is recorded as unreachable. Such a machine holds no reservation across a restart: it needs a free
    /// slot again.
    #[must_use]
    pub fn is_recorded_unreachable(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::Reachable)
                .is_some_and(|reachable| reachable.truth == Truth::False)
        })
    }

    /// Whether it is recorded that the host has drifted. A repair starts only after that: a new operator has to know
    /// that one may be in flight.
    #[must_use]
    pub fn is_recorded_drifted(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::InSync)
                .is_some_and(|in_sync| in_sync.reason == Reason::Drifted)
        })
    }

    /// Whether a trouble is recorded that passes by itself. It may have passed since, and nobody else would say so.
    pub(crate) fn is_recorded_in_trouble(&self) -> bool {
        let in_sync = self.object.as_ref().and_then(|object| object.status.condition(ConditionKind::InSync));
        let passes = |reason| {
            matches!(
                reason,
                Reason::AwaitingCertificate
                    | Reason::Draining
                    | Reason::DrainForbidden
                    | Reason::DrainOverdue
                    | Reason::NodeConflict
                    | Reason::LastSchedulableNode
            ) || matches!(reason, Reason::Cause(cause) if !cause.blames_release())
        };
        in_sync.is_some_and(|in_sync| passes(in_sync.reason))
    }

    /// The host that is recorded as its own.
    #[must_use]
    pub fn recorded_host(&self) -> Option<HostId> {
        Some(self.object.as_ref()?.status.identity.as_ref()?.host)
    }

    /// Whether the host is known to belong to this machine, without a lookup in
    /// [`World::owner_of`](crate::World::owner_of).
    pub(crate) fn owns(&self, host: HostId) -> bool {
        self.progress.contact.owned && self.host.facts.as_ref().is_some_and(|facts| facts.host == host)
    }

    /// Whether an operation of ours is in flight on the host, as far as is known. On a host that is lost it may go on
    /// out of our sight, until it is given up.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.uncertain.is_some() && !self.given_up
    }

    /// Whether its Node reports that it is not healthy, or does not report at all. Without a Node nothing is known.
    #[must_use]
    pub fn is_node_sick(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.ready != Health::Healthy)
    }

    /// Takes over its Node, as observed at this time; gives the former one.
    pub(crate) fn take_node(&mut self, node: Option<NodeState>, now: Timestamp) -> Option<NodeState> {
        let unready = |node: &Option<NodeState>| {
            node.as_ref().filter(|node| node.ready != Health::Healthy).map(|node| node.since)
        };
        let before = core::mem::replace(&mut self.node, node);
        let is = unready(&self.node);
        if is != unready(&before) {
            self.unready_since = is.map(|_| now);
            self.lasts_unready = false;
        }
        self.freed = self.is_freed(before.as_ref());
        before
    }

    /// Whether its host does not answer, as far as is known.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        self.host.unreachable_since.is_some() || (self.host.facts.is_none() && self.is_recorded_unreachable())
    }

    /// Whether a person has paused it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec().is_some_and(|spec| spec.paused)
    }

    /// Whether a component can be worked on now, if there is room for that.
    #[must_use]
    pub fn is_workable(&self, component: ComponentId) -> bool {
        !self.is_unreachable() && !self.is_paused() && !self.is_blocked(component)
    }

    /// Why it cannot be worked on, if it cannot.
    pub(crate) fn deferral_reason(&self) -> DeferralReason {
        if self.is_unreachable() {
            DeferralReason::Unreachable
        } else if self.is_paused() {
            DeferralReason::Paused
        } else if self.blocked.is_some_and(Blocker::keeps_pods) {
            DeferralReason::Undrained
        } else {
            DeferralReason::Blocked
        }
    }

    /// Whether a component, or the whole machine, has to wait until something else changes.
    pub(crate) fn is_blocked(&self, component: ComponentId) -> bool {
        self.blocked.is_some() && (self.hindered.is_empty() || self.hindered.contains(&component))
    }

    /// Gives the grant for a component back.
    pub(crate) fn yield_grant(&mut self, component: ComponentId) {
        if !self.yielded.contains(&component) {
            self.yielded.push(component);
        }
    }

    /// Takes a grant for a component.
    pub(crate) fn take_grant(&mut self, component: ComponentId) {
        self.yielded.retain(|yielded| *yielded != component);
    }

    /// Nothing blocks it any more.
    pub(crate) fn unblock(&mut self) {
        self.blocked = None;
        self.hindered.clear();
    }

    /// Whether an operation is or may be in flight on the host.
    #[must_use]
    pub const fn is_unresolved(&self) -> bool {
        self.derived.unresolved
    }

    /// Whether its host was lost in the middle of an operation, or may have been, and the outcome is not known.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.derived.lost
    }

    /// Since when it has been unavailable, if it is. The Node decides; without one, the reachability of the host.
    #[must_use]
    pub fn unavailable_since(&self) -> Option<Timestamp> {
        match &self.node {
            Some(node) if node.ready == Health::Healthy => None,
            Some(node) => Some(node.since),
            None => self.host.unreachable_since.or_else(|| {
                let object = self.object.as_ref()?;
                let reachable = object.status.condition(ConditionKind::Reachable)?;
                let told_otherwise = self.host.facts.is_some() || reachable.truth != Truth::False;
                (!told_otherwise).then_some(reachable.since)
            }),
        }
    }

    /// Its state in the fleet's rollout of this index.
    #[must_use]
    pub fn standing(&self, rollout: usize) -> Standing {
        self.derived.standings.get(rollout).unwrap_or_default()
    }

    /// Whether it claims a unit of `maxUnavailable`.
    #[must_use]
    pub const fn claims(&self) -> bool {
        self.derived.claims
    }

    /// Whether the release of a rollout has failed on it.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.derived.failed
    }

    /// Whether it takes a place in the repair lane.
    #[must_use]
    pub const fn is_laned(&self) -> bool {
        self.derived.laned
    }

    /// Whether it became unavailable after a rollout under way had changed it, and claims no unit.
    #[must_use]
    pub const fn fell(&self) -> bool {
        self.derived.fell
    }

    /// Whether it is unavailable for reasons of its own: it counts for `pauseWhenUnavailable`.
    #[must_use]
    pub const fn is_sick(&self) -> bool {
        self.derived.sick
    }

    /// Whether a rollout grants it its turn now.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.derived.standings.iter().any(|standing| standing == Standing::Granted)
    }

    /// Whether work on it takes no unit of the budget, since it is or was out of service anyway.
    #[must_use]
    pub const fn is_spared(&self) -> bool {
        matches!(self.spared, Some(true))
    }

    /// Whether nothing can be disrupted there: its Node is not ready, or it is to become a Node and is none yet.
    #[must_use]
    pub const fn is_out_of_service(&self) -> bool {
        self.derived.out_of_service
    }

    /// What each disruption policy is to it.
    pub(crate) fn places(&self) -> Option<Places> {
        self.derived.places.clone()
    }

    /// Whether it was set up once: its first spec was carried out or failed, and something is recorded as installed.
    #[must_use]
    pub fn was_set_up(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            let status = &object.status;
            status.observed_generation > 0 && status.components.iter().any(|it| it.installed.is_some())
        })
    }

    /// Whether it is recorded that the host was lost in the middle of an operation.
    pub(crate) fn is_recorded_lost(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::InSync)
                .is_some_and(|in_sync| in_sync.reason == Reason::OperationLost)
        })
    }

    /// Whether the record leaves open that an operation is in flight: by an unfinished change of the spec, a grant, a
    /// recorded drift or loss, or the deletion.
    pub(crate) fn is_unsettled(&self, is_granted: bool) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object.meta.generation != object.status.observed_generation
                || object.meta.is_terminating()
                || self.is_recorded_drifted()
                || self.is_recorded_lost()
                || is_granted
        })
    }

    /// Whether an operation may be in flight that this engine has not ordered: the record leaves it open, and the host
    /// was not read yet. A lost host is treated as in [`Self::is_busy`].
    pub(crate) fn may_be_busy(&self, is_inherited: bool) -> bool {
        self.was_left_open(is_inherited) && !self.is_recorded_unreachable() && !self.given_up
    }

    /// Whether its host was lost in the middle of an operation, or may have been. The caller has checked that none is
    /// in flight any more, as far as is known.
    pub(crate) fn may_be_lost(&self, is_inherited: bool) -> bool {
        let is_told = || !self.is_recorded_unreachable() || self.is_recorded_lost();
        self.uncertain.is_some() || (self.was_left_open(is_inherited) && is_told())
    }

    /// Whether a predecessor may have begun an operation whose outcome nobody knows. Without our finalizer nothing was
    /// ever started.
    fn was_left_open(&self, is_inherited: bool) -> bool {
        self.host.facts.is_none()
            && self.object.as_ref().is_some_and(|object| object.meta.is_held())
            && self.is_unsettled(is_inherited)
    }

    /// Whether a successor that knows only the record assumes an operation on this host. Nothing is started before that
    /// holds.
    #[must_use]
    pub fn is_recorded_at_work(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.meta.is_held())
            && !self.is_recorded_unreachable()
            && self.is_unsettled(self.derived.standings.iter().any(Standing::is_granted))
    }

    /// Forgets everything but the objects: for a new incarnation, or a new epoch.
    pub(crate) fn forget_contact(&mut self) {
        self.host = Host::default();
        self.has_wrong_service = false;
        self.progress.contact = Contact::default();
        self.drain = None;
        self.uncertain = None;
        self.installs = None;
        self.failed.clear();
        self.progress.writes.forget();
        self.yielded.clear();
        self.spared = None;
        self.unavailable_before = false;
        self.given_up = false;
        self.unblock();
    }
}
