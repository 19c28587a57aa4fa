//! The oracle judges the true state of the world. It alone sees harm that an operator does with stale knowledge.
//!
//! Everything is incremental: an event costs the oracle the same in a fleet of ten and of a hundred thousand. Only the
//! judgement at the end (`convergence`) and the `recount` of its counters look at every machine.

mod back_off;
mod bound;
mod budget;
mod confirmations;
mod convergence;
mod deeds;
mod desired;
mod drains;
mod effects;
mod expectation;
mod foreign;
mod gates;
mod harm;
mod identities;
mod leadership;
mod mistaken;
mod order;
mod policies;
mod reasons;
mod recount;
mod removal;
mod restraint;
mod skew;
mod start;
mod starvation;
mod touched;
mod versions;
mod watch;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seaworthy_engine::Engine;
use seaworthy_kernel::Timestamp;
use seaworthy_model::effect::Action;
use seaworthy_model::id::{Kind, MachineId, StoreId, Uid};
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::Turn;

use back_off::BackOff;
use budget::Budget;
use confirmations::Confirmations;
use drains::Drains;
use effects::Effects;
use gates::Gates;
use harm::Harm;
use identities::Identities;
use leadership::Leadership;
use mistaken::Mistaken;
use order::Precedence;
use policies::Policies;
use removal::Removal;
use restraint::Restraint;
use skew::Rules;
use starvation::Starvation;
use versions::Versions;
use wishes::Wishes;

use crate::vocabulary::{Allowance, INVARIANTS, host_of_address};
use crate::world::World;
use crate::world::api_server::{ApiServer, Stored, Written};
use crate::world::host::{Change, ComponentNumber, Ended, Host, KeyNumber, VersionNumber, Work};

pub(crate) use bound::convergence_bound;
pub use budget::Peak;
pub(crate) use budget::count_or_percent;
pub(crate) use convergence::stray_hosts;
pub(crate) use deeds::Deeds;
pub(crate) use desired::Desired;
pub(crate) use effects::Lives;
pub(crate) use expectation::{doubts, judge};
pub(crate) use recount::{NAME as RECOUNT, recount, recount_after};
pub use start::Began;

/// A breach of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub invariant: &'static str,
    /// The time of the breach.
    pub at: Timestamp,
    /// What happened.
    pub detail: String,
}

/// The end of an operation on a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over<'a> {
    /// The host.
    pub host: u32,
    /// The work of the operation.
    pub work: &'a Work,
    /// How it ended.
    pub ended: Ended,
    /// The name of the component.
    pub component: &'a str,
}

/// The number of violations to keep.
const VIOLATIONS_MAX: usize = 100;

/// The oracle of a run.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// By invariant: the number of breaches that are still allowed, and the number that were allowed so far.
    allowed: BTreeMap<&'static str, (u32, u32)>,
    violations: Vec<Violation>,
    budget: Budget,
    harm: Harm,
    removal: Removal,
    leadership: Leadership,
    wishes: Wishes,
    deeds: deeds::Ledger,
    effects: Effects,
    starvation: Starvation,
    restraint: Restraint,
    versions: Versions,
    precedence: Precedence,
    rules: Rules,
    identities: Identities,
    drains: Drains,
    confirmations: Confirmations,
    /// Hosts that ever reported what was not true. Nobody can do right by them.
    liars: BTreeSet<u32>,
    mistaken: Mistaken,
    back_off: BackOff,
    gates: Gates,
    policies: Policies,
    /// Machines that exist, by uid.
    machines: BTreeMap<Uid, Arc<str>>,
}

impl Oracle {
    /// An oracle over so many hosts. Without Nodes, only the operator's own connections show it that a host is down, so
    /// the budget counts only hosts at work.
    #[must_use]
    pub fn new(hosts: u32, nodes: bool) -> Self {
        Self {
            allowed: BTreeMap::new(),
            violations: Vec::new(),
            budget: Budget::new(hosts, nodes),
            harm: Harm::new(),
            removal: Removal::default(),
            leadership: Leadership::new(hosts),
            wishes: Wishes::new(hosts),
            deeds: deeds::Ledger::new(hosts),
            effects: Effects::new(hosts),
            starvation: Starvation::default(),
            restraint: Restraint::new(hosts),
            versions: Versions::default(),
            precedence: Precedence::default(),
            rules: Rules::default(),
            identities: Identities::default(),
            drains: Drains::default(),
            confirmations: Confirmations::default(),
            liars: BTreeSet::new(),
            mistaken: Mistaken::default(),
            back_off: BackOff::default(),
            gates: Gates::default(),
            policies: Policies::default(),
            machines: BTreeMap::new(),
        }
    }

    /// The violations so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The highest use of the budget.
    #[must_use]
    pub const fn peak(&self) -> Peak {
        self.budget.peak()
    }

    /// The number of hosts at work, and the number that count against the budget.
    #[must_use]
    pub const fn in_use(&self) -> (u32, u32) {
        self.budget.in_use()
    }

    /// How many hosts were ever harmed by a release that failed.
    #[must_use]
    pub fn harmed(&self) -> u32 {
        self.harm.harmed()
    }

    /// The same oracle, with allowances for some invariants.
    #[must_use]
    pub fn allowing(mut self, allowances: &[Allowance]) -> Self {
        let known = |allowance: &Allowance| INVARIANTS.iter().find(|name| **name == allowance.invariant);
        let leave = allowances.iter().filter_map(|allowance| Some((*known(allowance)?, (allowance.most, 0))));
        self.allowed = leave.collect();
        self
    }

    /// The invariants whose breaches were allowed, and how often.
    pub fn tolerated(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.allowed.iter().filter(|(_, (_, used))| *used > 0).map(|(name, (_, used))| (*name, *used))
    }

    /// Notes that an invariant was broken.
    pub fn breach(&mut self, invariant: &'static str, at: Timestamp, detail: String) {
        if let Some((left, used)) = self.allowed.get_mut(invariant).filter(|(left, _)| *left > 0) {
            *left -= 1;
            *used += 1;
            return;
        }
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { invariant, at, detail });
        }
    }

    /// Watches may lag this far behind.
    pub fn watches_lag(&mut self, lag: Duration) {
        self.budget.watches_lag(lag);
    }

    /// An operator process starts.
    pub const fn process_started(&mut self) {
        self.restraint.process_started();
    }

    /// An operator process ends.
    pub fn process_ended(&mut self, process: u32) {
        self.restraint.process_ended(process);
        self.budget.process_ended();
    }

    /// An operator process orders something.
    pub fn ordered(&mut self, process: u32, action: &Action, now: Timestamp) {
        if let Some(detail) = self.restraint.ordered(process, action, now) {
            self.breach("hotLoop", now, detail);
        }
    }

    /// The API server has accepted a write of an operator.
    pub fn operator_wrote(&mut self, written: &Written, now: Timestamp) {
        self.effects.operator_wrote(written);
        if let Some((invariant, detail)) = restraint::misuse(written) {
            self.breach(invariant, now, detail);
        }
    }

    /// Something was committed.
    pub fn committed(&mut self, written: &Written, hosts: &[Host], now: Timestamp) {
        let object = &*written.object;
        self.effects.committed(written);
        let kind = object.kind();
        if kind == Kind::Machine {
            if written.removed {
                self.machines.remove(&object.uid());
                self.machine_removed(object, hosts, now);
            } else if written.before.is_none() {
                self.machines.insert(object.uid(), Arc::clone(object.name()));
            }
            self.budget.machine_written(written, now);
            self.wishes.machine_written(written, now);
            self.mistaken.machine_written(written);
            self.harm.machine_written(written, now);
            if respecified(written)
                && let Some(host) = object.address().and_then(host_of_address)
            {
                self.restraint.asked(host, now);
                self.back_off.asked(host);
            }
            self.removal.written(written, now, self.budget.detection());
        } else if is_owner(kind) {
            self.budget.package_version_written(written, now);
            self.budget.rollouts_written(written, now);
            self.harm.package_version_written(written);
            self.harm.set_written(written);
            self.wishes.package_version_written(written, now);
            self.wishes.set_written(written, now);
            if respecified(written) {
                self.restraint.all_asked(now);
                self.back_off.all_asked();
            }
            self.removal.written(written, now, self.budget.detection());
        } else if kind == Kind::Lease {
            if let Some(detail) = self.leadership.written(written) {
                self.breach("leadership", now, detail);
            }
        } else if kind == Kind::DisruptionPolicy {
            self.policies.written(written, now);
        } else if kind == Kind::MachineComponent {
            self.precedence.written(written);
            self.rules.written(written);
            if written.removed {
                self.wishes.version_removed();
            }
        } else if kind == Kind::CertificateSigningRequest
            && let Some(detail) = self.identities.written(written, self.leadership.epochs(), now)
        {
            self.breach("identity", now, detail);
        }
    }

    /// A commit may name a version or be one. `api` holds the objects after it.
    pub(crate) fn users_written(&mut self, written: &Written, api: &ApiServer) {
        self.versions.written(written, api);
    }

    /// An operator has released a deleted version. Hosts know it by this number.
    pub(crate) fn version_gone(
        &mut self,
        version: &Stored,
        api: &ApiServer,
        known: (&[Host], Option<VersionNumber>),
        now: Timestamp,
    ) {
        if let Some(detail) = self.versions.gone(version, api, known) {
            self.breach("finalizerOrder", now, detail);
        }
    }

    /// A host reports what is not true.
    pub(crate) fn lies(&mut self, host: u32) {
        self.liars.insert(host);
        self.budget.lies(host);
        self.harm.lies(host);
    }

    /// Whether a host ever reported what was not true.
    #[must_use]
    pub(crate) fn has_lied(&self, host: u32) -> bool {
        self.liars.contains(&host)
    }

    /// The hosts that people have mixed up: which of them is a Machine's own, only they know.
    #[must_use]
    pub(crate) fn mistaken_hosts(&self, world: &World) -> BTreeSet<u32> {
        self.mistaken.hosts(world)
    }

    /// A host has forgotten the fences that it had seen, and has now seen this epoch.
    pub(crate) fn fences_reset(&mut self, host: u32, epoch: Epoch) {
        self.leadership.reset(host, epoch);
    }

    /// A key was made on a host, for this node.
    pub fn key_made(&mut self, key: KeyNumber, host: u32, node: &str) {
        self.identities.key_made(key, host, node);
    }

    /// A host has accepted an order that started no operation, and has now seen this epoch.
    pub fn heard(&mut self, host: u32, epoch: Epoch) {
        self.leadership.heard(host, epoch);
    }

    /// The time until which an operator knows all changes when it sends something at `sent`.
    pub(crate) fn known_at(&self, sent: Timestamp) -> Timestamp {
        sent - self.budget.knowledge()
    }

    /// A process has decided. `subjects` is the number of objects that its queue may contain.
    pub(crate) fn turned(
        &mut self,
        process: u32,
        (engine, subjects): (&Engine, usize),
        turn: &Turn,
        now: Timestamp,
    ) {
        // A process that does not lead starts no operation and blocks no machine.
        let leads = engine.world().gate(StoreId::HOME).is_none();
        if leads && let Some((id, starts)) = self.starvation.turn((process, subjects), engine.world(), turn) {
            let detail = format!("process {process}: {id:?} waits while others were started {starts} times");
            self.breach("starvation", now, detail);
        }
        let length = engine.queue_depth();
        if length > subjects {
            let detail = format!("process {process}: {length} wait to be looked at, of {subjects} in all");
            self.breach("queueLength", now, detail);
        }
    }

    /// Prefetches what the start of an operation on a host is judged by. The returned sum has no meaning.
    #[must_use]
    pub(crate) fn warm(&self, host: u32) -> u64 {
        let deeds = u64::from(self.deeds(host).operations);
        let at_work = u64::from(self.budget.is_at_work(host));
        deeds ^ at_work ^ u64::from(self.leadership.epoch_heard(host).0) ^ self.restraint.warm(host)
    }

    /// Prefetches what the end of an operation is judged by.
    #[must_use]
    pub(crate) fn warm_end(&self, host: u32, component: ComponentNumber) -> u64 {
        let at_work = u64::from(self.budget.is_at_work(host));
        at_work ^ u64::from(self.deeds(host).operations) ^ self.deeds.warm(host, component)
    }

    /// Prefetches what the next order of a process for a machine is judged by.
    #[must_use]
    pub(crate) fn warm_orders(&self, process: u32, id: MachineId) -> u64 {
        self.restraint.warm_orders(process, id) ^ self.starvation.warm(id)
    }

    /// A client creates the Machine of a host. `is_taken` when its name was taken.
    pub(crate) fn joins(&mut self, host: u32, is_taken: bool) {
        self.wishes.joins(host, is_taken);
    }

    /// Whether the Machine of a host is missing because its name was taken when a client created it again.
    #[must_use]
    pub(crate) fn was_turned_away(&self, host: u32) -> bool {
        self.wishes.was_turned_away(host)
    }

    /// Counts one operation too many on a host, for tests.
    #[cfg(test)]
    pub(crate) fn overdo(&mut self, host: u32) {
        self.deeds.began(host, true);
    }

    /// Checks at the end that every operation has a cause: a change of the desired state, or something that went wrong.
    /// Looks at every host.
    pub fn account(&mut self, now: Timestamp) {
        for host in 0..self.deeds.hosts() {
            let (deeds, wishes) = (self.deeds(host), self.wishes(host));
            let most = wishes.saturating_add(deeds.excused_operations);
            if deeds.operations > most && !self.has_lied(host) {
                let done = deeds.operations;
                let detail = format!("host {host} was worked on {done} times, and {most} are accounted for");
                self.breach("effects", now, detail);
            }
        }
    }

    /// Whether a Node carries the operator's taint.
    #[must_use]
    pub(crate) fn is_cordoned(&self, host: u32) -> bool {
        self.drains.is_cordoned(host)
    }

    /// A disruption budget keeps a pod on the Node of a host, or users have kept the host as it was.
    pub(crate) fn holds_up(&mut self, host: u32) {
        self.drains.holds_up(host);
    }

    /// Whether a disruption budget has ever kept a pod on the Node of a host, or users have kept the host as it was.
    /// Then the twin may have another order of operations.
    #[must_use]
    pub(crate) fn was_held_up(&self, host: u32) -> bool {
        self.drains.was_held_up(host)
    }

    /// Records whether a host has a Node. Without one, the operator cannot see that it is lost.
    pub(crate) fn node_there(&mut self, host: u32, is: bool) {
        self.budget.node_there(host, is);
    }

    /// Something on a host has drifted.
    pub fn spoiled(&mut self, host: u32) {
        self.deeds.spoiled(host);
    }

    /// The operations on a host.
    #[must_use]
    pub(crate) fn deeds(&self, host: u32) -> Deeds {
        self.deeds.of(host)
    }

    /// The number of operations on a host that changes of the desired state explain.
    #[must_use]
    pub(crate) fn wishes(&self, host: u32) -> u16 {
        self.wishes.changes(host)
    }

    /// Whether users changed the desired state before every machine had reached it. Then timing may decide which
    /// operations happen at all.
    #[must_use]
    pub(crate) const fn is_hasty(&self) -> bool {
        self.wishes.is_hasty()
    }

    /// An operation has ended on a host.
    pub(crate) fn ended(&mut self, over: &Over<'_>, api: &ApiServer, now: Timestamp) {
        self.budget.ended(over.host);
        self.restraint.operation_ended(now);
        if over.ended == Ended::Succeeded
            && let Some(detail) = self.restraint.repaired(over.host, now)
            && !self.has_lied(over.host)
        {
            self.breach("repairedAgain", now, detail);
        }
        let wishes = self.wishes.changes(over.host);
        if let Some(times) = self.deeds.ended(over).filter(|times| *times > wishes)
            && !self.has_lied(over.host)
        {
            let (host, component) = (over.host, over.component);
            let detail = format!("{component} on host {host} went back {times} times, for {wishes} wishes");
            self.breach("oscillation", now, detail);
        }
        if self.has_lied(over.host) {
            self.harm.ended_by_liar(over);
        } else if let Some(detail) = self.harm.ended(over, api) {
            self.breach("maxFailures", now, detail);
        }
        if let Some(detail) = self.confirmations.ended(over) {
            self.breach("confirmed", now, detail);
        }
        if let (Change::Install(install), Ended::Failed(cause)) = (over.work.change, over.ended)
            && cause.blames_release()
            && let Some(detail) = self.restraint.failed(over.host, install.release)
            && !self.has_lied(over.host)
        {
            self.breach("triedAgain", now, detail);
        }
    }

    /// A host has lost power, which ends the operation in flight.
    pub fn powered_off(&mut self, host: u32) {
        self.budget.powered_off(host);
    }

    /// The power of a host has come back, and the host starts.
    pub fn powered_on(&mut self, host: u32) {
        self.effects.powered_on(host);
    }

    /// An operation reboots the host. The operation stays in flight meanwhile.
    pub fn rebooted(&mut self, host: u32) {
        self.effects.rebooted(host);
    }

    /// How often operations rebooted a host.
    #[must_use]
    pub(crate) fn reboots(&self, host: u32) -> u32 {
        self.effects.reboots(host)
    }

    /// How often a host was started because its power came back.
    #[must_use]
    pub(crate) fn outages(&self, host: u32) -> u32 {
        self.effects.outages(host)
    }

    /// The objects that a client deleted or an operator created, and how often.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ((Kind, &Arc<str>), Lives)> {
        self.effects.objects()
    }

    /// The same counts for the objects of one name.
    #[must_use]
    pub(crate) fn lives(&self, kind: Kind, name: &Arc<str>) -> Lives {
        self.effects.of(kind, name)
    }

    /// A host cannot be reached any more. If it lacks a kubelet, its Node would have died without any rollout.
    pub fn host_lost(&mut self, (host, lacks_kubelet): (u32, bool), now: Timestamp) {
        if lacks_kubelet {
            self.budget.gone(host);
        } else {
            self.budget.lost(host, now);
        }
    }

    /// A host can be reached again, and is ready.
    pub fn host_back(&mut self, host: u32) {
        self.budget.back(host);
    }

    /// A Machine is gone from the API server. Its software must be gone from its host, unless the host cannot be
    /// reached.
    fn machine_removed(&mut self, machine: &Stored, hosts: &[Host], now: Timestamp) {
        let number = machine.address().and_then(host_of_address);
        let honest = number.filter(|number| !self.has_lied(*number));
        let host = honest.and_then(|number| hosts.get(number as usize));
        let left = host.is_some_and(|host| {
            host.owner() == Some(machine.uid()) && host.is_reachable() && !host.installed().is_empty()
        });
        if left {
            let detail = format!("Machine {} is gone, and its software is still there", machine.name());
            self.breach("finalizerOrder", now, detail);
        }
    }
}

/// Whether users have changed the spec of an object.
fn respecified(written: &Written) -> bool {
    let before = written.before.as_ref().filter(|_| !written.removed);
    before.map(|before| before.generation()) != Some(written.object.generation())
}

/// Whether objects of a kind own rollouts.
const fn is_owner(kind: Kind) -> bool {
    matches!(kind, Kind::ClusterPackageVersion | Kind::MachineComponentSet | Kind::CanaryRelease)
}

#[cfg(test)]
mod tests;
