//! A host, and the host program that carries out orders: the same rules as the real one, step by step.
//!
//! What is durable survives [`Host::power_off`]: the owner, the fence, the journal, and every release. An operation
//! that was cut short before the swap leaves no trace but `Interrupted`; after the swap the host finishes it at its
//! next start.

mod fence;
mod fetching;
mod found;
mod identity;
mod operation;
mod running;
mod work;

use std::num::NonZeroU32;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Architecture, CgroupVersion, Disruption};
use seaworthy_model::host::{BootId, Drift, OperationId};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;

use crate::vocabulary::HostLie;

pub use fence::{Answer, Command, Order, Report};
pub use fetching::Fetched;
pub use found::Found;
pub use identity::{KeyNumber, NodeCertificate, NodeIdentity, Offered, TextNumber, Wanted};
pub use operation::{Progress, Setting};
pub use running::Running;
pub use work::{Change, Install, Operation, Work};

/// A component, by its number in the world's catalogue (process ids mean nothing outside one operator process).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentNumber(pub u32);

/// A version of a component, by its number in the world's catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionNumber(pub u32);

/// A release, by its number in the world's catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseNumber(pub u32);

/// What a release starts its service from, by its number in the world's catalogue: the unit and the executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceNumber(pub NonZeroU32);

/// A release on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Of which component.
    pub component: ComponentNumber,
    /// Which version.
    pub version: VersionNumber,
    /// Which release.
    pub release: ReleaseNumber,
    /// In what it differs from that release.
    pub drift: Drift,
    /// Whether its removal has a clean-up step.
    pub has_removal: bool,
    /// Whether the host is rebooted when it is installed or removed.
    pub reboots: bool,
    /// What its service was started from, if it has one.
    pub service: Option<ServiceNumber>,
    /// How often its service was started again by itself since it was started by an operation or a boot.
    pub restarts: u8,
    /// What a change to it does to workloads, if that is less than a restart.
    pub less_than_restart: Option<Disruption>,
    /// Whether the host accepts no new connections while it is installed.
    pub shuts: bool,
}

/// The cgroup version of all hosts.
pub const CGROUP_VERSION: CgroupVersion = CgroupVersion::V2;

/// How an operation ended, as the journal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The host went down before the swap; nothing of it is left.
    Interrupted,
    /// Done.
    Succeeded,
    /// Failed, for this cause.
    Failed(CauseKind),
}

/// How many ended operations a host remembers.
const JOURNAL_LENGTH: usize = 8;

/// A host.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its machine-id.
    pub identity: HostId,
    /// Its processor.
    pub architecture: Architecture,
    /// Causes that keep it powered off. It runs when there is none.
    outages: u16,
    /// Causes that cut it off from the network.
    cuts: u16,
    /// Causes for which operators cannot connect to it, although it is connected.
    bars: u16,
    /// How often it was started.
    boots: u32,
    owner: Option<Uid>,
    epoch: Epoch,
    sequence: u64,
    /// The operation of the latest order. Only a repetition of that order may name it again.
    operation: Option<OperationId>,
    installed: Vec<Installed>,
    /// The preexisting software, if any.
    #[expect(clippy::box_collection, reason = "hardly ever there: one word instead of three")]
    found: Option<Box<Vec<Found>>>,
    /// Its node identity, once it has or had any part of one.
    node: Option<Box<NodeIdentity>>,
    running: Option<Box<Running>>,
    journal: Vec<(Operation, Ended)>,
    /// Earlier operations were forgotten together with fences.
    has_forgotten: bool,
    /// The artefact that it is fetching, if it is.
    fetching: Option<Box<fetching::Fetching>>,
    /// How many fetches were begun.
    fetches: u32,
    /// The version whose artefact was fetched before an operation needs it.
    fetched: Option<VersionNumber>,
    /// What it reports although it is not true.
    lie: Option<HostLie>,
    /// It reported what was not true, now or earlier.
    has_lied: bool,
    /// How many operations were begun or resumed: the occurrence of their draws, and the generation of their events.
    runs: u32,
}

impl Host {
    /// The release that this work repairs, if it repairs one.
    #[must_use]
    pub fn repaired_by(&self, work: &Work) -> Option<ReleaseNumber> {
        let Change::Install(install) = work.change else { return None };
        let there = self.installed_of(work.component)?;
        (there.release == install.release && !there.drift.is_none()).then_some(there.release)
    }

    /// A host with nothing on it that was just installed and started.
    #[must_use]
    pub const fn new(identity: HostId, architecture: Architecture) -> Self {
        Self {
            identity,
            architecture,
            outages: 0,
            cuts: 0,
            bars: 0,
            boots: 1,
            owner: None,
            epoch: Epoch(0),
            sequence: 0,
            operation: None,
            installed: Vec::new(),
            found: None,
            node: None,
            running: None,
            journal: Vec::new(),
            has_forgotten: false,
            fetching: None,
            fetches: 0,
            fetched: None,
            lie: None,
            has_lied: false,
            runs: 0,
        }
    }

    /// Reports what is not true from now on, or what is true again.
    pub(super) const fn pretend(&mut self, lie: Option<HostLie>) {
        self.lie = lie;
        self.has_lied |= lie.is_some();
    }

    /// Whether what is on it does not belong to this Machine, because of a report that was not true: the operator has let it go
    /// when a Machine was deleted, or could not know that it was its own.
    #[must_use]
    pub fn is_given_up(&self, machine: Option<Uid>) -> bool {
        self.has_lied && self.owner != machine && (self.owner.is_some() || !self.installed.is_empty())
    }

    /// Whether it reported what was not true, now or earlier.
    #[must_use]
    pub const fn has_lied(&self) -> bool {
        self.has_lied
    }

    /// Whether this is the machine-id that it once reported although it was not true. A Machine keeps the one that it has seen
    /// first, so that nothing is done on another host at its address: only people know which of the two is right.
    #[must_use]
    pub fn has_made_up(&self, recorded: Option<HostId>) -> bool {
        self.has_lied
            && self.lie != Some(HostLie::MachineId)
            && recorded == Some(HostId(HostLie::invented(self.identity.0)))
    }

    /// What it reports although it is not true.
    #[must_use]
    pub const fn lie(&self) -> Option<HostLie> {
        self.lie
    }

    /// Whether it has power.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.outages == 0
    }

    /// Whether it runs, and operators can connect to it.
    #[must_use]
    pub const fn is_reachable(&self) -> bool {
        self.is_connected() && self.bars == 0
    }

    /// Whether it runs and is connected to the network.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.outages == 0 && self.cuts == 0
    }

    /// Whether it accepts no new connections, because of what is installed. Its own messages get through.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.installed.iter().any(|installed| installed.shuts)
    }

    /// The id of its present boot.
    #[must_use]
    pub const fn boot(&self) -> BootId {
        BootId(self.identity.0 ^ self.boots as u128)
    }

    /// Prefetches the parts of the host. The returned sum has no meaning.
    #[must_use]
    pub(super) fn warm(&self) -> u64 {
        let installed = self.installed.first().map_or(0, |first| first.version.0);
        let ended = self.journal.last().map_or(0, |(operation, _)| operation.id.sequence);
        let running = self.running.as_ref().map_or(0, |running| running.run);
        self.sequence ^ self.identity.0 as u64 ^ u64::from(installed ^ running ^ self.runs) ^ ended
    }

    /// How often it was started since it was installed.
    #[must_use]
    pub const fn reboots(&self) -> u32 {
        self.boots - 1
    }

    /// The Machine that manages it.
    #[must_use]
    pub const fn owner(&self) -> Option<Uid> {
        self.owner
    }

    /// The highest epoch that it has seen.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The number of the latest order that it remembers, within [`Self::epoch`].
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// What is installed, sorted by component.
    #[must_use]
    pub fn installed(&self) -> &[Installed] {
        &self.installed
    }

    /// What is installed of `component`.
    #[must_use]
    pub fn installed_of(&self, component: ComponentNumber) -> Option<&Installed> {
        self.installed.iter().find(|installed| installed.component == component)
    }

    /// The operation that is under way.
    #[must_use]
    pub fn running(&self) -> Option<&Running> {
        self.running.as_deref()
    }

    /// The journal, oldest first.
    #[must_use]
    pub fn journal(&self) -> &[(Operation, Ended)] {
        &self.journal
    }

    /// Forgets the operations that have ended: later ones may have the same ids.
    pub(super) fn forget_operations(&mut self) {
        self.journal.clear();
        self.has_forgotten = true;
    }

    /// Whether the journal still has every operation that ever ended here.
    #[must_use]
    pub const fn is_journal_whole(&self) -> bool {
        self.journal.len() < JOURNAL_LENGTH && !self.has_forgotten
    }

    /// Powers it off, for one more cause. True when it ran until now.
    pub fn power_off(&mut self) -> bool {
        self.outages += 1;
        self.outages == 1
    }

    /// Drops the sessions that wait for the end of the operation in flight, or of a fetch, and returns them.
    pub fn take_sessions(&mut self) -> Vec<u32> {
        let mut sessions = self.running.as_mut().map(|running| running.take_sessions()).unwrap_or_default();
        sessions.extend(self.cut_fetch_short());
        sessions
    }

    /// Removes one cause of its being powered off. True when it starts now; then [`Host::recover`] is due.
    pub fn power_on(&mut self) -> bool {
        self.outages = self.outages.saturating_sub(1);
        if self.outages > 0 {
            return false;
        }
        self.boots += 1;
        self.installed.iter_mut().for_each(|installed| installed.restarts = 0);
        true
    }

    /// Cuts it off from the network, for one more cause. True when it was connected until now. What it does goes on.
    pub fn cut(&mut self) -> bool {
        self.cuts += 1;
        self.cuts == 1
    }

    /// Removes one cause of its being cut off. True when it is connected again.
    pub const fn mend(&mut self) -> bool {
        self.cuts = self.cuts.saturating_sub(1);
        self.cuts == 0
    }

    /// Keeps operators from connecting to it, for one more cause. True when they could until now.
    pub fn bar(&mut self) -> bool {
        self.bars += 1;
        self.bars == 1
    }

    /// Removes one cause for which operators cannot connect to it. True when there is none left.
    pub const fn unbar(&mut self) -> bool {
        self.bars = self.bars.saturating_sub(1);
        self.bars == 0
    }

    /// Makes an installed release drift. False when there is none, or an operation is in flight.
    pub fn spoil(&mut self, choice: u64, drift: Drift) -> bool {
        if self.running.is_some() || self.installed.is_empty() {
            return false;
        }
        let index = usize::try_from(choice % self.installed.len() as u64).unwrap_or_default();
        self.installed[index].drift = self.installed[index].drift.with(drift);
        true
    }

    /// A component differs from its release. False if something is at work, or it is not there.
    pub fn spoil_component(&mut self, component: ComponentNumber, drift: Drift) -> bool {
        let is_idle = self.running.is_none();
        let installed = self.installed.iter_mut().find(|installed| installed.component == component);
        installed.filter(|_| is_idle).is_some_and(|installed| {
            installed.drift = installed.drift.with(drift);
            true
        })
    }

    /// The service of a component ends, and is started again. False if something is at work, or it does not run.
    pub fn restart_service(&mut self, component: ComponentNumber) -> bool {
        let is_idle = self.running.is_none();
        let installed = self.installed.iter_mut().find(|installed| installed.component == component);
        let runs = |installed: &&mut Installed| {
            installed.service.is_some() && !installed.drift.contains(Drift::NOT_RUNNING)
        };
        installed.filter(|_| is_idle).filter(runs).is_some_and(|installed| {
            installed.restarts = installed.restarts.saturating_add(1);
            true
        })
    }

    fn record(&mut self, operation: Operation, ended: Ended) {
        if self.journal.len() == JOURNAL_LENGTH {
            self.journal.remove(0);
        }
        if self.journal.len() == self.journal.capacity() {
            // There are many hosts, and most have few operations: the default capacity of four would waste memory.
            self.journal.reserve_exact(2);
        }
        self.journal.push((operation, ended));
    }

    fn put(&mut self, release: Installed) {
        match self.installed.binary_search_by_key(&release.component, |installed| installed.component) {
            Ok(index) => self.installed[index] = release,
            Err(index) => {
                self.installed.reserve_exact(1);
                self.installed.insert(index, release);
            }
        }
    }

    fn take(&mut self, component: ComponentNumber) {
        self.installed.retain(|installed| installed.component != component);
    }
}

#[cfg(test)]
mod tests;
