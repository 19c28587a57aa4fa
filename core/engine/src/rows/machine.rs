//! One row of the world: what is known of a machine, first hand and from the API server.

use crate::rows::trouble::Trouble;
use crate::runtime::retry::Retry;
use crate::runtime::tracked::Writes;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use seaworthy_model::detail::Detail;
use seaworthy_model::draw::mix;

use seaworthy_model::component::{Architecture, CgroupVersion};
use seaworthy_model::host::{HostFacts, InstalledComponent, OperationId, OperationReport, OperationState};
use seaworthy_model::id::{ComponentId, MachineId, Uid, VersionId};
use seaworthy_model::machine::{
    ConditionKind, FailedRelease, HostId, Installed, MachineObject, MachineSpec, Reason, Truth,
};
use seaworthy_model::node::{Health, NodeState};
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::drain::Drain;
use crate::rows::node_use::NodeUse;
use crate::rows::standing::{Derived, Standing, Standings};

/// What is known of a machine. Everything but `object` and `node` is lost with the engine, and found again by reading
/// the host.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its id.
    pub id: MachineId,
    /// The API server's object, as last seen.
    pub object: Option<MachineObject>,
    /// Its Node, as last seen.
    pub node: Option<NodeState>,
    /// What is known of the drain of its Node, if there is one.
    pub drain: Option<Box<Drain>>,
    /// The newest of our own marks that was ordered to be taken off its Node, by its order, whatever the answer was; 0 if
    /// none was. An order that is turned away says nothing of the one before, nor of its own copies, and a copy of the order
    /// that set the mark may bring it back when its drain is long over. Work that is wanted after all goes on under a later
    /// mark.
    pub(crate) lifted: u64,
    /// What was learnt by talking to the host in this epoch.
    pub host: Host,
    /// An operation on the host whose end is not known.
    pub uncertain: Option<OperationId>,
    /// What the last operation that we ordered installs. Says nothing once it has ended.
    pub(crate) installs: Option<VersionId>,
    /// Releases that failed and may not be in the status yet; of the present generation of the spec.
    pub failed: Vec<Failure>,
    /// It is admitted but holds no reservation: it has to get a slot before it is started.
    pub parked: bool,
    /// Why it cannot be worked on until somebody or something else changes.
    pub blocked: Option<Blocker>,
    /// What is under way for it, and when it is tried or looked at again. No counter follows from it.
    pub progress: Progress,
    /// What follows from all this, kept by [`World::refresh`](super::World).
    pub(crate) derived: Derived,
    /// What its Node is counted as.
    pub(crate) derived_node: NodeUse,
}

/// What was learnt by talking to a host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The last report in this epoch. `Some` also means that the host has seen our epoch and obeys no older one.
    pub facts: Option<HostFacts>,
    /// Since when it is given up for unreachable.
    pub unreachable_since: Option<Timestamp>,
}

/// What of a row no counter follows from: the only part that may be changed without counting again.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Our writes of the Machine. The action under way may also be another one about it: at most one at a time.
    pub writes: Writes,
    /// How contacts of the host went, and when the next one is due.
    pub contact: Contact,
}

/// How contacts of a host went, and when the next one is due.
#[derive(Clone, Debug, Default)]
pub struct Contact {
    /// Something may have changed since: read again before acting.
    pub stale: bool,
    /// It is known that [`World::owner_of`](crate::World::owner_of) of the host is this machine.
    pub(crate) owned: bool,
    /// When it was last read.
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

/// What the jitter of its back-offs is drawn by.
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
            node: None,
            drain: None,
            host: Host { facts: None, unreachable_since: None },
            uncertain: None,
            installs: None,
            failed: Vec::new(),
            parked: false,
            blocked: None,
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
            derived: Derived {
                uid: None,
                live: false,
                occupies: false,
                unresolved: false,
                lost: false,
                standings: Standings::NONE,
            },
            derived_node: NodeUse::Closed,
            lifted: 0,
        }
    }

    /// Its uid, while the object exists.
    #[must_use]
    pub fn uid(&self) -> Option<Uid> {
        self.object.as_ref().map(|object| object.meta.uid)
    }

    /// The object exists and its deletion was not asked for.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.object.as_ref().is_some_and(|object| !object.meta.is_terminating())
    }

    /// Its spec, if it is acceptable.
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

    /// Whether the host was at work on `component` when it was read.
    #[must_use]
    pub fn is_changing(&self, component: ComponentId) -> bool {
        let facts = self.host.facts.as_ref();
        facts
            .and_then(|facts| facts.operation.as_ref())
            .is_some_and(|operation| operation.component == component && operation.state.is_open())
    }

    /// The operation that waits on the host for its confirmation, as the host was read last.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<&OperationReport> {
        let report = self.host.facts.as_ref()?.operation.as_ref()?;
        let is_open = report.state == OperationState::Unconfirmed && self.uncertain == Some(report.id);
        is_open.then_some(report)
    }

    /// What is installed of `component`: first hand if the host was read in this epoch, else as recorded.
    #[must_use]
    pub fn installed(&self, component: ComponentId) -> Option<Installed> {
        if self.host.facts.is_some() {
            let reported = self.reported(component)?;
            return Some(Installed { version: reported.version, release: reported.release });
        }
        self.object.as_ref()?.status.component(component)?.installed
    }

    /// The release of `component` that failed here and is not tried again while the spec stays as it is.
    #[must_use]
    pub fn failed_release(&self, component: ComponentId) -> Option<FailedRelease> {
        let fresh =
            self.failed.iter().find(|failure| failure.component == component).map(|failure| failure.release);
        fresh.or_else(|| {
            let object = self.object.as_ref()?;
            if object.status.observed_generation != object.meta.generation {
                return None;
            }
            object.status.component(component)?.failed
        })
    }

    /// Whether it was recorded as unreachable. Such a machine holds no reservation across a restart: it comes back
    /// through the budget.
    #[must_use]
    pub fn is_recorded_unreachable(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::Reachable)
                .is_some_and(|reachable| reachable.truth == Truth::False)
        })
    }

    /// Whether it is recorded that the host differs from what it should be. A repair starts only after that: a new
    /// operator has to know that one may be under way.
    #[must_use]
    pub fn is_recorded_drifted(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::InSync)
                .is_some_and(|in_sync| in_sync.reason == Reason::Drifted)
        })
    }

    /// The host that is recorded as its own.
    pub(crate) fn recorded_host(&self) -> Option<HostId> {
        Some(self.object.as_ref()?.status.identity.as_ref()?.host)
    }

    /// Whether it is known without looking it up that [`World::owner_of`](super::World::owner_of) of the host is this
    /// machine.
    pub(crate) fn owns(&self, host: HostId) -> bool {
        self.progress.contact.owned && self.host.facts.as_ref().is_some_and(|facts| facts.host == host)
    }

    /// Whether an operation of ours is under way on the host, as far as is known. A host that is given up frees its slot,
    /// unless its Node says that it is well: then the operation goes on where we cannot see it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.uncertain.is_some() && (self.host.unreachable_since.is_none() || self.is_node_healthy())
    }

    /// Whether its Node says that it is well.
    #[must_use]
    pub fn is_node_healthy(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.ready == Health::Healthy)
    }

    /// Whether an operation is or may be under way on the host.
    #[must_use]
    pub const fn is_unresolved(&self) -> bool {
        self.derived.unresolved
    }

    /// Whether it was lost in the middle of an operation, or may have been, and nobody knows what came of that.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.derived.lost
    }

    /// Since when it has not been available, if it is not. The Node decides; without one, whether the host answers.
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

    /// Where it stands in the fleet's rollout of this index.
    #[must_use]
    pub fn standing(&self, rollout: usize) -> Standing {
        self.derived.standings.get(rollout).unwrap_or_default()
    }

    /// Whether it is counted against `maxUnavailable`.
    #[must_use]
    pub const fn occupies(&self) -> bool {
        self.derived.occupies
    }

    /// Whether it is recorded that it was lost in the middle of an operation.
    fn is_recorded_lost(&self) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object
                .status
                .condition(ConditionKind::InSync)
                .is_some_and(|in_sync| in_sync.reason == Reason::OperationLost)
        })
    }

    /// Whether what is recorded leaves open that an operation is under way: by a change of the spec that was not
    /// finished, an admission, a recorded drift or loss, or the deletion.
    pub(crate) fn is_unsettled(&self, standings: &Standings) -> bool {
        self.object.as_ref().is_some_and(|object| {
            object.meta.generation != object.status.observed_generation
                || object.meta.is_terminating()
                || self.is_recorded_drifted()
                || self.is_recorded_lost()
                || standings.iter().any(Standing::is_pending)
        })
    }

    /// Whether an operation may be under way that this engine has not ordered: the record leaves it open, and the host
    /// was not asked yet. A host that is given up is as in [`Self::is_busy`].
    pub(crate) fn may_be_busy(&self, standings: &Standings) -> bool {
        self.was_left_open(standings)
            && !self.is_recorded_unreachable()
            && (self.host.unreachable_since.is_none() || self.is_node_healthy())
    }

    /// Whether it was lost in the middle of an operation, or may have been, given that none is under way any more as far
    /// as is known.
    pub(crate) fn may_be_lost(&self, standings: &Standings) -> bool {
        let is_told = || !self.is_recorded_unreachable() || self.is_recorded_lost();
        self.uncertain.is_some() || (self.was_left_open(standings) && is_told())
    }

    /// Whether a predecessor may have begun an operation of which nobody was told how it ended. Without our finalizer
    /// nothing was ever started.
    fn was_left_open(&self, standings: &Standings) -> bool {
        self.host.facts.is_none()
            && self.object.as_ref().is_some_and(|object| object.meta.is_held())
            && self.is_unsettled(standings)
    }

    /// Whether a successor that knows nothing but the record reckons with an operation on this host. Nothing is started
    /// before that.
    #[must_use]
    pub fn is_recorded_at_work(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.meta.is_held())
            && !self.is_recorded_unreachable()
            && self.is_unsettled(&self.derived.standings)
    }

    /// Forgets everything but the objects: for a new incarnation, or a new epoch.
    pub(crate) fn forget_contact(&mut self) {
        self.host = Host::default();
        self.progress.contact = Contact::default();
        self.drain = None;
        self.uncertain = None;
        self.installs = None;
        self.failed.clear();
        self.progress.writes.forget();
        self.parked = true;
        self.blocked = None;
    }
}
