//! The ends of actions, taken in.

use crate::rows::trouble::Trouble;
use alloc::boxed::Box;
use core::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::config::Config;
use seaworthy_model::detail::Detail;
use seaworthy_model::draw::{Seed, below, mix};
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::{HostFacts, OperationReport, OperationState, Owner};
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{FailedRelease, Installed};
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::time::Timestamp;

use crate::rows::machine::{Failure, Machine, Retry};
use crate::rows::repairs::Part;
use crate::runtime::queue::Priority;
use crate::world::index::confirmation::Waiting;
use crate::world::{InFlight, InFlightKind, World};

/// How long a running operation is left alone before it is asked for again.
const POLL: Duration = Duration::from_secs(5);

/// What the handling of an outcome needs besides the world.
pub(crate) struct Terms<'a> {
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
}

impl Terms<'_> {
    /// Notes one more failure: the wait doubles each time up to the longest, and half of it is jitter.
    pub(crate) fn back_off(&self, retry: &mut Retry, now: Timestamp, key: u64) {
        let doubled = self.config.backoff_min.saturating_mul(1 << retry.failures.min(16));
        let span = doubled.min(self.config.backoff_max).as_millis();
        let half = u64::try_from(span / 2).unwrap_or(u64::MAX);
        retry.failures = retry.failures.saturating_add(1);
        let jitter = below(&[self.seed.0, key, now.0, u64::from(retry.failures)], half.max(1));
        retry.not_before = Timestamp(now.0.saturating_add(half).saturating_add(jitter));
    }
}

impl World {
    pub(crate) fn finish(&mut self, action: ActionId, outcome: Outcome, terms: &Terms<'_>) {
        let Some(in_flight) = self.in_flight.remove(&action) else { return };
        if in_flight.kind.is_session() {
            self.sessions -= 1;
        }
        if !in_flight.is_write_of_machine() {
            self.touch(in_flight.subject, Priority::Normal);
        }
        match in_flight.subject {
            Subject::Leadership => self.finish_leadership(in_flight, outcome, terms),
            Subject::PackageVersion => {
                self.fleet.action = None;
                let now = self.now;
                let seen = self.fleet.object.as_ref().map(|object| object.meta.resource_version);
                let end = WriteEnd { outcome, against: in_flight.resource_version, seen };
                end.settle(&mut self.fleet.written, &mut self.fleet.retry, |retry| {
                    terms.back_off(retry, now, 1);
                });
            }
            Subject::Version(id) => {
                let now = self.now;
                let version = self.version_mut(id);
                version.action = None;
                let seen = version.object.as_ref().map(|object| object.meta.resource_version);
                let end = WriteEnd { outcome, against: in_flight.resource_version, seen };
                end.settle(&mut version.written, &mut version.retry, |retry| {
                    terms.back_off(retry, now, 2 + u64::from(id.0));
                });
            }
            Subject::Machine(id) => self.finish_machine(id, in_flight, outcome, terms),
            Subject::CertificateRequest(id) => self.finish_request(id, in_flight, outcome, terms),
        }
    }

    fn finish_leadership(&mut self, in_flight: InFlight, outcome: Outcome, terms: &Terms<'_>) {
        let now = self.now;
        let leadership = &mut self.leadership;
        leadership.action = None;
        if in_flight.kind == InFlightKind::Watch {
            if !matches!(outcome, Outcome::Done(_)) {
                leadership.watching = false;
                terms.back_off(&mut leadership.retry, now, 0);
            }
            return;
        }
        let outcome = match outcome {
            Outcome::Done(receipt) => {
                leadership.retry = Retry::default();
                if let Receipt::Written { resource_version } = receipt {
                    leadership.wrote(resource_version);
                }
                if let Some(epoch) = leadership.taking.filter(|epoch| *epoch != Epoch::VACANT) {
                    self.begin_epoch(epoch);
                }
                return;
            }
            failed @ (Outcome::Stale | Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown) => {
                failed
            }
        };
        leadership.retry.failures = leadership.retry.failures.saturating_add(1);
        let key = [terms.seed.0, 5, now.0, u64::from(leadership.retry.failures)];
        let fifth = u64::try_from(terms.config.retry_period.as_millis() / 5).unwrap_or(u64::MAX);
        leadership.retry.not_before =
            now + terms.config.retry_period + Duration::from_millis(below(&key, fifth.max(1)));
        // What became of a lost reply the Lease is going to show.
        if outcome == Outcome::Unknown {
            return;
        }
        leadership.ordered = None;
        if outcome == Outcome::Stale {
            // Somebody has written it: whoever holds it lives, even if our watch does not show it.
            leadership.seen_at = None;
            // Nor does it show that there is one at all.
            leadership.watching &= leadership.lease.is_some();
            if let Some(behind) = leadership.behind.take_if(|_| leadership.overdue) {
                // The watch was right after all: the store was set back.
                leadership.written = None;
                self.take_in_lease(Some(behind));
            }
        }
    }

    /// The Lease is ours: whatever was known of hosts was learnt under an older fence.
    pub(crate) fn begin_epoch(&mut self, epoch: Epoch) {
        let leadership = &mut self.leadership;
        leadership.epoch = Some(epoch);
        leadership.taking = None;
        leadership.sequence = 0;
        leadership.lost = false;
        leadership.ahead = None;
        leadership.watching = false;
        self.unsync();
        self.hosts.clear();
        self.certificates.begin_epoch();
        self.node_writes.clear();
        for id in self.machines.ids() {
            self.change(id, Machine::forget_contact);
            if let Some(host) = self.machine(id).recorded_host() {
                self.hosts.entry(host).or_insert(id);
            }
        }
        self.look_for_successor();
        self.touch(Subject::Leadership, Priority::Urgent);
    }

    fn finish_machine(&mut self, id: MachineId, in_flight: InFlight, outcome: Outcome, terms: &Terms<'_>) {
        let now = self.now;
        if in_flight.kind == InFlightKind::Write {
            return self.finish_write(id, &in_flight, outcome, terms);
        }
        if self.machine(id).uid() != in_flight.uid {
            self.note(id, |machine| machine.action = None);
            return;
        }
        if in_flight.kind == InFlightKind::Ask {
            return self.finish_ask(id, &outcome, terms);
        }
        let ours = self.leadership.epoch.unwrap_or_default();
        if in_flight.kind.is_about_node() {
            if in_flight.epoch == ours {
                return if in_flight.kind.is_of_drain() {
                    self.finish_drain(id, &in_flight, outcome, terms)
                } else {
                    self.finish_node_write(id, &in_flight, outcome, terms)
                };
            }
            return self.change(id, |machine| machine.forget_action());
        }
        if in_flight.epoch != ours {
            // It was ordered under an older fence: it says nothing about whom the host obeys now.
            self.note(id, |machine| {
                machine.action = None;
                machine.host.stale = true;
            });
            return;
        }
        if let Outcome::Done(Receipt::Host(facts)) = &outcome {
            self.note_repair(id, in_flight.kind, facts);
            self.learn(id, &in_flight, facts, ours);
        }
        let waiting = self.awaited(id, &outcome);
        self.change(id, |machine| {
            machine.action = None;
            settle_host(machine, &in_flight, outcome, ours, now);
            // The spec was changed meanwhile: it may have been another host that answered.
            let generation = machine.object.as_ref().map(|object| object.meta.generation);
            machine.host.stale |= generation != in_flight.generation;
            let waiting = waiting.filter(|waiting| waiting.lasts(machine, now));
            let poll = machine.uncertain.is_some() && machine.host.trouble.is_none();
            if poll && !waiting.is_some_and(Waiting::is_news) {
                machine.host.retry.not_before = now + POLL;
            } else if machine.host.trouble.is_some() {
                terms.back_off(&mut machine.host.retry, now, key(id));
                if let Some(waiting) = waiting {
                    waiting.hurry(machine, now);
                }
            }
            // Who waits to be reached anew is at work, and puts an end to that by itself.
            if machine.host.failures >= terms.config.unreachable_after
                && machine.host.unreachable_since.is_none()
                && waiting.is_none()
            {
                machine.host.unreachable_since = Some(now.whole_seconds());
                machine.parked = true;
            }
        });
    }

    /// The end of a write of a Machine. There is nothing to decide about it until the watch shows what was written: that
    /// is when it is looked at again.
    fn finish_write(&mut self, id: MachineId, in_flight: &InFlight, outcome: Outcome, terms: &Terms<'_>) {
        let now = self.now;
        self.note(id, |machine| {
            machine.action = None;
            if machine.uid() != in_flight.uid {
                return;
            }
            let seen = machine.object.as_ref().map(|object| object.meta.resource_version);
            let end = WriteEnd { outcome, against: in_flight.resource_version, seen };
            end.settle(&mut machine.written, &mut machine.write_retry, |retry| {
                terms.back_off(retry, now, key(id));
            });
        });
        if self.machine(id).written.is_some() {
            self.set_blocker(Subject::Machine(id), Some(Blocker::AwaitingOwnWrite));
        } else {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Takes in what a host's answer says about others than itself.
    fn learn(&mut self, id: MachineId, in_flight: &InFlight, facts: &HostFacts, ours: Epoch) {
        if is_ahead(facts, ours) {
            self.leadership.ahead = self.leadership.ahead.max(Some(facts.epoch));
            self.touch(Subject::Leadership, Priority::Urgent);
            self.touch(Subject::PackageVersion, Priority::Urgent);
        }
        self.claim(id, facts);
        for request in self.certificates.take_waiting(id).into_iter().flatten() {
            self.touch(Subject::CertificateRequest(request), Priority::Normal);
        }
        if in_flight.kind == InFlightKind::Certify {
            let taken = facts.identity.as_ref().and_then(|identity| identity.certificate.as_ref());
            self.certificates.authority = taken.map(|taken| taken.issuer).or(self.certificates.authority);
        }
    }

    /// Counts a repair that has succeeded, and forgets those that have lasted.
    fn note_repair(&mut self, id: MachineId, kind: InFlightKind, facts: &HostFacts) {
        if let InFlightKind::Change(_, component, Some(installs)) = kind
            && self.machine(id).installed(component) == Some(installs)
            && shows(facts, component, Some(installs))
        {
            self.repairs.note(id, Part::Component(component), self.now);
        }
        let interval = self.fleet.audit_interval();
        let is_node_intact = self.repairs.is_empty() || self.is_node_intact(id);
        self.repairs.look_back(id, self.now, interval, |part| {
            let Part::Component(component) = part else { return Some(is_node_intact) };
            let reported = facts.components.iter().find(|reported| reported.component == component)?;
            Some(reported.drift.is_none())
        });
    }

    /// Notes whose host it is: the first Machine that reached it, unless the host itself says otherwise. A Machine that
    /// is known to have another one claims nothing.
    fn claim(&mut self, id: MachineId, facts: &HostFacts) {
        if self.machine(id).owns(facts.host) {
            return;
        }
        if self.machine(id).recorded_host().is_some_and(|recorded| recorded != facts.host) {
            return self.note(id, |machine| machine.host.owned = false);
        }
        let present = self.hosts.get(&facts.host).copied();
        let free = present.is_none_or(|owner| self.machine(owner).object.is_none());
        if free {
            self.hosts.insert(facts.host, id);
        }
        let owned = free || present == Some(id);
        self.note(id, |machine| machine.host.owned = owned);
    }
}

/// Whether the host has seen a newer operator of ours. What it has seen of another cluster's says nothing.
const fn is_ahead(facts: &HostFacts, ours: Epoch) -> bool {
    !matches!(facts.owner, Owner::Foreign { .. }) && facts.epoch.0 > ours.0
}

pub(crate) fn key(id: MachineId) -> u64 {
    mix(&[3, u64::from(id.0)])
}

/// The end of a write to the API server.
pub(crate) struct WriteEnd {
    pub(crate) outcome: Outcome,
    /// The version of the object that it was ordered for.
    pub(crate) against: Option<u64>,
    /// The version that was seen last.
    pub(crate) seen: Option<u64>,
}

impl WriteEnd {
    /// After `Stale` and `Unknown` the watch will show what there is; the back-off is for the case that it does not. The
    /// watch may have shown it before the reply came, or instead of a reply: then there is nothing left to wait for.
    pub(crate) fn settle(
        self,
        written: &mut Option<u64>,
        retry: &mut Retry,
        back_off: impl FnOnce(&mut Retry),
    ) {
        match self.outcome {
            Outcome::Done(receipt) => {
                *retry = Retry::default();
                if let Receipt::Written { resource_version } = receipt {
                    *written = (self.seen < Some(resource_version)).then_some(resource_version);
                }
            }
            Outcome::Stale | Outcome::Unknown => {
                back_off(retry);
                if self.seen != self.against {
                    retry.look_again();
                }
            }
            Outcome::Retryable(_) | Outcome::Refused(_) => back_off(retry),
        }
    }
}

/// The end of an order to a host.
fn settle_host(machine: &mut Machine, in_flight: &InFlight, outcome: Outcome, ours: Epoch, now: Timestamp) {
    let kind = in_flight.kind;
    match outcome {
        Outcome::Done(Receipt::Host(facts)) => settle_facts(machine, kind, facts, ours, now),
        Outcome::Done(_) | Outcome::Stale => machine.host.stale = true,
        Outcome::Retryable(cause) => {
            if matches!(kind, InFlightKind::Change(..)) {
                machine.uncertain = None;
            }
            settle_trouble(machine, cause.into());
        }
        Outcome::Refused(cause) => {
            let unconfirmed = machine.unconfirmed().cloned();
            machine.uncertain = None;
            machine.host.stale = true;
            match unconfirmed {
                // It counts at once: until the host is read again somebody else could be started in its place.
                Some(report) if matches!(kind, InFlightKind::Confirm(_)) && cause.kind.blames_release() => {
                    machine.host.trouble = None;
                    note_failure(machine, &report, &cause);
                }
                Some(_) | None => settle_refusal(machine, in_flight, cause),
            }
        }
        Outcome::Unknown => {
            if !matches!(kind, InFlightKind::Change(..)) {
                settle_trouble(machine, Trouble::new(CauseKind::ConnectionFailed, Detail::SessionLost));
            }
        }
    }
}

fn settle_facts(
    machine: &mut Machine,
    kind: InFlightKind,
    facts: Box<HostFacts>,
    ours: Epoch,
    now: Timestamp,
) {
    // A read that works says nothing about the operation that failed before it: its back-off goes on growing.
    let is_settled = match kind {
        InFlightKind::Change(_, component, installs) => shows(&facts, component, installs),
        InFlightKind::Identify | InFlightKind::Certify => true,
        InFlightKind::Write
        | InFlightKind::Watch
        | InFlightKind::Ask
        | InFlightKind::Tell(_)
        | InFlightKind::Read
        | InFlightKind::Probe(_)
        | InFlightKind::Confirm(_)
        | InFlightKind::Cordon
        | InFlightKind::Uncordon
        | InFlightKind::Attributes { .. }
        | InFlightKind::DeleteNode
        | InFlightKind::ListPods(_)
        | InFlightKind::Evict
        | InFlightKind::Disown => machine.host.trouble.as_ref().is_none_or(|cause| cause.kind.is_contact()),
    };
    if is_settled {
        machine.host.retry = Retry::default();
    }
    machine.host.trouble = None;
    machine.host.failures = 0;
    machine.host.unreachable_since = None;
    machine.host.audit_at = None;
    machine.host.stale = false;
    machine.host.read_at = now;
    machine.uncertain = None;
    if is_ahead(&facts, ours) {
        // The host obeys somebody newer: it was not fenced, so it counts as not read.
        machine.host.facts = None;
        return;
    }
    // What another Machine's operation comes to is not about this one.
    let is_ours = machine.uid().is_some_and(|uid| facts.owner == Owner::Machine(uid));
    if let Some(report) = facts.operation.as_ref().filter(|_| is_ours) {
        match &report.state {
            OperationState::Running | OperationState::Unconfirmed => {
                machine.uncertain = Some(report.id);
                machine.host.stale = true;
            }
            OperationState::Failed(cause) => note_failure(machine, report, cause),
            OperationState::Interrupted | OperationState::Succeeded => {}
        }
    }
    if matches!(kind, InFlightKind::Change(..)) && !is_settled && machine.uncertain.is_none() {
        // Without a back-off it would be done again at once, and for ever.
        machine.host.stale = true;
        let trouble = Trouble::new(CauseKind::HostFailed, Detail::ChangeNotShown);
        machine.host.trouble = Some(Box::new(trouble));
    }
    let mut facts = *facts;
    if let Some(mut known) = machine.host.facts.take() {
        // What it has room in goes on being used: in a large fleet, memory that is given back for long is far away.
        known.components.clone_from(&facts.components);
        facts.components = known.components;
    }
    machine.host.facts = Some(facts);
}

/// Whether a report shows what a change was to bring about.
fn shows(facts: &HostFacts, component: ComponentId, installs: Option<Installed>) -> bool {
    let reported = facts.components.iter().find(|reported| reported.component == component);
    match (installs, reported) {
        (None, None) => true,
        (Some(installs), Some(reported)) => reported.release == installs.release && reported.drift.is_none(),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// A failure that the host remembers counts like one that was answered.
fn note_failure(machine: &mut Machine, report: &OperationReport, cause: &Cause) {
    let Some(release) = report.release else { return };
    if cause.kind.blames_release() && is_of_present(machine, Some(report.generation)) {
        let failed = FailedRelease { version: release.version, release: release.release, cause: cause.kind };
        blame(machine, report.component, failed, &cause.detail);
        machine.host.trouble = None;
    }
}

fn blame(machine: &mut Machine, component: ComponentId, release: FailedRelease, reported: &str) {
    machine.failed.retain(|failure| failure.component != component);
    machine.failed.push(Failure { component, release, detail: Detail::reported(reported) });
}

/// The host was not reached, or could not do it now.
fn settle_trouble(machine: &mut Machine, trouble: Trouble) {
    if trouble.kind.is_contact() {
        machine.host.failures = machine.host.failures.saturating_add(1);
    }
    machine.host.stale = true;
    machine.host.trouble = Some(Box::new(trouble));
}

/// Whether something was ordered for the spec as it is now. A change of the spec asks for another try.
fn is_of_present(machine: &Machine, generation: Option<u64>) -> bool {
    machine.object.as_ref().map(|object| object.meta.generation) == generation
}

fn settle_refusal(machine: &mut Machine, in_flight: &InFlight, cause: Cause) {
    if let (InFlightKind::Change(_, component, Some(installed)), true) =
        (in_flight.kind, cause.kind.blames_release())
    {
        let failed =
            FailedRelease { version: installed.version, release: installed.release, cause: cause.kind };
        if is_of_present(machine, in_flight.generation) {
            blame(machine, component, failed, &cause.detail);
        }
        machine.host.trouble = None;
    } else {
        machine.host.trouble = Some(Box::new(cause.into()));
    }
}
