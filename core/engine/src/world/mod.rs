//! What the engine knows: the informer cache with its indexes, and the actions in flight.
//!
//! ```text
//!   [ ClusterPackageVersion ] -- rollouts --> [ MachineComponent ] <-- pins -- [ Machine ] -- same name -- [ Node ]
//!                                                                                  |
//!                                                                               [ Host ]
//! ```
//!
//! Rows are dense tables by id. Every change of a row goes through [`World::change`], which keeps the counters up to
//! date: nothing here scans the fleet, except a change of the fleet's own rollouts.

pub(crate) mod index;
mod names;
pub(crate) mod prefetch;
pub(crate) mod table;
mod touch;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use seaworthy_model::meta::Meta;
use seaworthy_model::pod::DrainPolicy;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use seaworthy_model::component::VersionSpec;
use seaworthy_model::effect::{ActionId, Target};
use seaworthy_model::id::{ComponentId, MachineId, Named, NamedId, StoreId, Uid, VersionId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::time::Timestamp;

use index::disruption::Ledger;
use index::nodes::Nodes;
use index::witnesses::Witnesses;
use table::Rows;

use crate::rows::api_servers::KnownApiServers;
use crate::rows::certificates::Certificates;
use crate::rows::changes::Changes;
use crate::rows::fleet::Fleet;
use crate::rows::leadership::Leadership;
use crate::rows::machine::{Machine, Progress};
use crate::rows::node_write::NodeWrite;
use crate::rows::policy::Policies;
use crate::rows::repairs::{Contested, Part, Repairs};
use crate::rows::restarts::Restarts;
use crate::rows::set::{Owner, Set};
use crate::rows::store::Stores;
use crate::rows::ticket::{InFlight, UnderWay};
use crate::rows::version::Version;
use crate::runtime::by_subject::BySubject;
use crate::runtime::line::Line;
use crate::runtime::queue::Priority;
use crate::runtime::retry::Retry;

/// What the engine knows.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The operator's own leadership.
    pub leadership: Leadership,
    /// The API servers, and whether their lists are complete.
    pub stores: Stores,
    /// The fleet's default versions, and the rollouts of all owners.
    pub fleet: Fleet,
    pub(crate) sets: Vec<Set>,
    /// On how many machines a set decides before another.
    pub(crate) overlaps: BTreeMap<(Owner, Owner), u32>,
    /// How many machines a set selects, or a canary has picked, if there are any.
    pub(crate) members: BTreeMap<Owner, u32>,
    pub(crate) set_names: Vec<Arc<str>>,
    pub(crate) canaries: Vec<Set>,
    pub(crate) canary_names: Vec<Arc<str>>,
    /// The disruption policies.
    pub policies: Policies,
    machines: Rows,
    pub(crate) versions: Vec<Version>,
    /// Certificate requests.
    pub certificates: Certificates,
    /// By machine: the uid of its Node. Kept apart from the rows, since only orders about a Node need it.
    pub(crate) node_uids: Vec<Uid>,
    pub(crate) machine_names: Vec<Arc<str>>,
    component_names: Vec<Arc<str>>,
    version_names: Vec<Arc<str>>,
    /// The machine that a host belongs to. Never iterated.
    pub(crate) hosts: HashMap<HostId, MachineId, FxBuildHasher>,
    /// Of deleted machines: the `resourceVersion` at which each was last observed. An older event about one is stale.
    pub(crate) departed: BTreeMap<MachineId, u64>,
    in_flight: UnderWay,
    sessions: u32,
    pub(crate) imported: u32,
    pub(crate) ledger: Ledger,
    /// All rows are being recomputed.
    is_recounting: bool,
    /// What hosts report about newer operators.
    pub witnesses: Witnesses,
    /// While all rows are recomputed: by rollout, the machines that wait for admission, unsorted.
    gathered: Vec<Vec<(u32, MachineId)>>,
    /// Machines that wait for nothing but a unit of the budget, first come, first served.
    waiting: Line,
    /// Machines that wait for nothing but a place in the repair lane.
    waiting_for_lane: Line,
    /// Machines that wait until the fleet's rollouts or its pause change.
    stopped: BTreeSet<MachineId>,
    /// Machines that wait for nothing but room in a failure domain.
    crowded: BTreeSet<MachineId>,
    /// Counts of the Nodes that take pods or do not.
    nodes: Nodes,
    /// Machines that wait for nothing but a session.
    sessionless: Line,
    /// Machines on which a release failed, while their status does not show that yet.
    pub(crate) unrecorded: BTreeSet<MachineId>,
    /// Repairs that did not last.
    pub(crate) repairs: Repairs,
    /// Services that were started again by themselves while rollouts with gates were under way. Most fleets have none.
    pub(crate) restarts: Restarts,
    /// When machines were changed for rollouts with gates.
    pub(crate) changes: Changes,
    /// Writes of labels and taints of Nodes whose echo is awaited, or that failed. Most fleets have none.
    pub(crate) node_writes: BTreeMap<MachineId, NodeWrite>,
    /// What each subject waited for when it was last reconciled.
    blockers: BySubject<Blocker>,
    /// The versions of the API servers.
    pub api_servers: KnownApiServers,
    /// Any version ever observed depends on another component, or has rules about versions.
    pub(crate) ordered: bool,
    /// Any version ever observed has rules about versions.
    pub(crate) ruled: bool,
    /// Any version ever observed makes Nodes.
    pub(crate) makes_nodes: bool,
    /// The components of which any version ever observed needs pods to leave a Node, as it comes or as it goes.
    pub(crate) draining: BTreeSet<ComponentId>,
    /// The subjects that have to be reconciled and are not queued yet.
    touched: Vec<(Subject, Priority)>,
    pub(crate) now: Timestamp,
}

impl World {
    /// The row of a machine. An id that was never named has an empty one.
    #[must_use]
    pub fn machine(&self, id: MachineId) -> &Machine {
        const EMPTY: &Machine = &Machine::EMPTY;
        self.machines.get(id).unwrap_or(EMPTY)
    }

    /// The ids of all rows.
    pub(crate) fn machine_ids(&self) -> impl Iterator<Item = MachineId> + use<> {
        self.machines.ids()
    }

    /// All rows, with their ids.
    pub fn machines(&self) -> impl Iterator<Item = (MachineId, &Machine)> {
        (0..).map(MachineId).zip(self.machines.iter())
    }

    /// The row of a version.
    #[must_use]
    pub fn version(&self, id: VersionId) -> Option<&Version> {
        self.versions.get(id.index())
    }

    /// The spec of a version, if the version exists and its spec is valid.
    #[must_use]
    pub fn version_spec(&self, id: VersionId) -> Option<&VersionSpec> {
        self.version(id)?.object()?.spec.as_ref().ok().map(AsRef::as_ref)
    }

    /// Whether the order of changes on a machine may matter at all. Once true it stays true: that changes no decision,
    /// and only costs time.
    #[must_use]
    pub const fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether any version has rules about versions, or had.
    pub(crate) const fn is_ruled(&self) -> bool {
        self.ruled
    }

    /// The name of a machine; empty when it was never named.
    #[must_use]
    pub fn machine_name(&self, id: MachineId) -> &str {
        self.machine_names.get(id.index()).map_or("", AsRef::as_ref)
    }

    /// The name of a component; empty when it was never named.
    #[must_use]
    pub fn component_name(&self, id: ComponentId) -> &str {
        self.component_names.get(id.index()).map_or("", AsRef::as_ref)
    }

    /// The name of a version; empty when it was never named.
    #[must_use]
    pub fn version_name(&self, id: VersionId) -> &str {
        self.version_names.get(id.index()).map_or("", AsRef::as_ref)
    }

    /// Machines whose host was identified once.
    #[must_use]
    pub const fn imported(&self) -> u32 {
        self.imported
    }

    /// Machines that may fail in one rollout.
    #[must_use]
    pub fn failures_max(&self) -> u32 {
        self.fleet.max_failures().of(self.live())
    }

    /// Orders to hosts in flight.
    #[must_use]
    pub const fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Machines that wait for nothing but a unit of the budget.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting.len()
    }

    /// The actions in flight.
    #[must_use]
    pub const fn in_flight(&self) -> &UnderWay {
        &self.in_flight
    }

    /// The machine that a host belongs to.
    #[must_use]
    pub fn owner_of(&self, host: HostId) -> Option<MachineId> {
        self.hosts.get(&host).copied()
    }

    /// How contested a component of a machine is, if it was repaired so often in a row that another agent must be
    /// changing it.
    pub(crate) fn contested(&self, id: MachineId, component: ComponentId) -> Option<Contested> {
        self.repairs.contested(id, Part::Component(component))
    }

    /// The same for our labels and taints on the Node of a machine.
    pub(crate) fn contested_node(&self, id: MachineId) -> Option<Contested> {
        self.repairs.contested(id, Part::Node)
    }

    /// The most contested part of a machine, if any is.
    pub(crate) fn most_contested(&self, id: MachineId) -> Option<(Part, Contested)> {
        self.repairs.worst(id)
    }

    /// The blocker of each subject that waits, as of its last reconciliation.
    pub fn blockers(&self) -> impl Iterator<Item = (Subject, Blocker)> {
        self.blockers.iter()
    }

    /// The blocker of a subject, if it waits.
    #[must_use]
    pub fn blocker(&self, subject: Subject) -> Option<Blocker> {
        self.blockers.get(subject)
    }

    pub(crate) fn set_blocker(&mut self, subject: Subject, blocker: Option<Blocker>) {
        match blocker {
            Some(blocker) => self.blockers.insert(subject, blocker),
            None => self.blockers.remove(subject),
        };
    }

    /// The epoch that we hold; vacant before we took the Lease.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.leadership.epoch.unwrap_or_default()
    }

    /// The time of the last `reconcile`.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The moment from which a state that began at `since` counts as observed. What was before the last pause of this process, or
    /// the last leap of its clock, does not count: nobody has observed it without a break.
    pub(crate) fn seen_since(&self, since: Timestamp) -> Timestamp {
        since.max(self.leadership.awake_since)
    }

    /// Adds a machine to those that wait for nothing but a unit of the budget, or a place in the repair lane.
    pub(crate) fn wait_for_unit(&mut self, id: MachineId) {
        if self.machine(id).is_spared() {
            self.waiting_for_lane.join(id);
        } else if self.waiting.join(id) {
            self.touch_owners(Priority::Urgent);
        }
    }

    /// The machines on which a release failed, while their status does not show that yet.
    pub fn unrecorded_failures(&self) -> impl Iterator<Item = &Machine> {
        self.unrecorded.iter().map(|id| self.machine(*id))
    }

    /// Adds a machine to those that wait until the fleet's rollouts or its pause change.
    pub(crate) fn wait_for_fleet(&mut self, id: MachineId) {
        self.stopped.insert(id);
    }

    /// Requeues the machines that wait for the fleet.
    pub(crate) fn release_stopped(&mut self) {
        if self.stopped.is_empty() {
            return;
        }
        for id in core::mem::take(&mut self.stopped) {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Adds a machine to those that wait for nothing but room in a failure domain.
    pub(crate) fn wait_for_domain(&mut self, id: MachineId) {
        self.crowded.insert(id);
    }

    /// Requeues the machines that wait for room in a failure domain.
    pub(crate) fn release_from_domains(&mut self) {
        for id in core::mem::take(&mut self.crowded) {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Adds a machine to those that wait for nothing but a session.
    pub(crate) fn wait_for_session(&mut self, id: MachineId) {
        self.sessionless.join(id);
    }

    /// Changes a row and recounts what follows from it.
    pub(crate) fn change(&mut self, id: MachineId, change: impl FnOnce(&mut Machine)) {
        self.machines.ensure(id);
        self.recount_witness(id, change);
        self.refresh(id);
    }

    /// Changes the part of a row that no counter depends on, without a recount.
    pub(crate) fn note(&mut self, id: MachineId, note: impl FnOnce(&mut Progress)) {
        self.machines.ensure(id);
        note(&mut self.machines[id].progress);
    }

    /// The same for every row of a store.
    pub(crate) fn note_all(&mut self, store: StoreId, note: impl Fn(&mut Progress)) {
        for machine in self.machines.iter_mut() {
            if self.stores.of(Subject::Machine(machine.id)) == store {
                note(&mut machine.progress);
            }
        }
    }

    /// Registers an action in flight.
    pub(crate) fn begin(&mut self, action: ActionId, in_flight: InFlight) {
        if in_flight.ticket.is_session() {
            self.sessions += 1;
            self.leadership.sequence += 1;
        }
        self.in_flight.insert(action, in_flight);
    }

    /// Removes an action that has ended.
    pub(crate) fn end(&mut self, action: ActionId) -> Option<InFlight> {
        let ended = self.in_flight.remove(&action)?;
        self.sessions -= u32::from(ended.ticket.is_session());
        Some(ended)
    }

    /// The metadata of a subject's object, for subjects whose incarnations are told apart.
    pub(crate) fn incarnation(&self, subject: Subject) -> Option<&Meta> {
        self.machine(subject.machine()?).object.as_ref().map(|object| &object.meta)
    }

    /// The metadata of an object that is written as a whole or in parts, as it was last observed.
    #[must_use]
    pub fn meta(&self, target: Target) -> Option<&Meta> {
        match target {
            Target::Lease => self.leadership.lease.as_ref().map(|lease| &lease.meta),
            Target::Machine(id) => self.machine(id).object.as_ref().map(|object| &object.meta),
            Target::Version(id) => self.version(id)?.tracked.meta(),
            Target::PackageVersion => self.fleet.tracked.meta(),
            Target::Set(id) => self.set(Owner::Set(id))?.tracked.meta(),
            Target::Canary(id) => self.set(Owner::Canary(id))?.tracked.meta(),
            Target::Policy(id) => self.policies.get(id)?.tracked.meta(),
            Target::CertificateRequest(id) => self.certificates.request(id)?.tracked.meta(),
            Target::Driver | Target::Host(_) | Target::Node(_) | Target::NewCertificateRequest(_) => None,
        }
    }

    /// The back-off of orders to a target.
    #[must_use]
    pub fn retry(&self, target: Target) -> Option<Retry> {
        match target {
            Target::Driver => None,
            Target::Lease => Some(self.leadership.retry),
            Target::Host(id) => Some(self.machine(id).progress.contact.retry),
            Target::Node(id) => self.machine(id).drain.as_ref().map(|drain| drain.write.retry),
            Target::Machine(id) | Target::NewCertificateRequest(id) => {
                Some(self.machine(id).progress.writes.retry)
            }
            Target::Version(id) => Some(self.version(id)?.tracked.writes.retry),
            Target::PackageVersion => Some(self.fleet.tracked.writes.retry),
            Target::Set(id) => Some(self.set(Owner::Set(id))?.tracked.writes.retry),
            Target::Canary(id) => Some(self.set(Owner::Canary(id))?.tracked.writes.retry),
            Target::Policy(id) => Some(self.policies.get(id)?.tracked.writes.retry),
            Target::CertificateRequest(id) => Some(self.certificates.request(id)?.tracked.writes.retry),
        }
    }

    /// When the labels and taints of a machine's Node are written again, if a write of them has failed or awaits its echo. It does
    /// not depend on writes of its cordon.
    #[must_use]
    pub fn retry_of_attributes(&self, id: MachineId) -> Option<Retry> {
        self.node_writes.get(&id).map(|write| write.retry)
    }

    /// The subjects of which there are few: all but the machines, the fleet's defaults and sets, and the leadership.
    fn few(&self) -> Vec<Subject> {
        let versions = (0..).take(self.versions.len()).map(|id| Subject::Version(VersionId(id)));
        let policies = self.policies.iter().map(|(id, _)| Subject::Policy(id));
        versions.chain(self.certificates.ids().map(Subject::CertificateRequest)).chain(policies).collect()
    }

    pub(crate) fn ensure_machine(&mut self, id: MachineId) {
        self.machines.ensure(id);
    }

    pub(crate) fn version_mut(&mut self, id: VersionId) -> &mut Version {
        if self.versions.len() <= id.index() {
            self.versions.resize_with(id.index() + 1, Version::default);
        }
        &mut self.versions[id.index()]
    }

    /// Why the engine may do nothing with the objects of a store; `None` when we lead and the store is listed.
    #[must_use]
    pub fn gate(&self, store: StoreId) -> Option<Blocker> {
        if let Some(unled) = self.leadership.gate() {
            return Some(unled);
        }
        self.stores.unsynced(store).map(Blocker::NotSynced)
    }

    /// The same for a machine. Slots are counted once home is listed.
    pub(crate) fn gate_of(&self, id: MachineId) -> Option<Blocker> {
        let store = self.stores.of(Subject::Machine(id));
        let gate = self.gate(store);
        if store == StoreId::HOME {
            return gate;
        }
        gate.or_else(|| self.stores.home.unsynced().map(Blocker::NotSynced))
    }

    /// Whether an event is older than the newest version that was observed under this name, in this or another
    /// incarnation: a deleted object that a cache still shows must not come back. While lists are in flight no event
    /// counts as outdated: a store that was restored from a backup has lower versions.
    pub(crate) fn is_outdated(&self, store: StoreId, new: &Meta, newest: u64) -> bool {
        self.stores.unsynced(store).is_none() && new.resource_version < newest
    }

    pub(crate) fn name(&mut self, store: StoreId, Named { id, name }: Named) {
        let (names, index) = match id {
            NamedId::Machine(id) => {
                self.ensure_machine(id);
                self.stores.put(Subject::Machine(id), store);
                if store == StoreId::HOME {
                    self.certificates.note_machine(id, &name);
                }
                (&mut self.machine_names, id.index())
            }
            NamedId::CertificateRequest(id) => return self.certificates.note_name(id, name),
            NamedId::Policy(id) => return self.policies.note_name(id, name),
            NamedId::Component(id) => (&mut self.component_names, id.index()),
            NamedId::Set(id) => (&mut self.set_names, id.index()),
            NamedId::Canary(id) => (&mut self.canary_names, id.index()),
            NamedId::Version(id) => {
                self.stores.put(Subject::Version(id), store);
                (&mut self.version_names, id.index())
            }
        };
        if names.len() <= index {
            names.resize_with(index + 1, Default::default);
        }
        names[index] = name;
    }

    /// The uid of a machine's Node.
    #[must_use]
    pub fn node_uid(&self, id: MachineId) -> Option<Uid> {
        self.machine(id).node.as_ref()?;
        self.node_uids.get(id.index()).copied()
    }

    /// The policy for pods when a Node is drained.
    #[must_use]
    pub fn drain_policy(&self) -> DrainPolicy {
        self.fleet.spec().map(|spec| spec.drain).unwrap_or_default()
    }
}
