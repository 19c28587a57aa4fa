//! Starts and settles writes of a Machine and orders to its host.

use alloc::boxed::Box;
use core::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::{HostFacts, OperationReport, OperationState, Owner};
use seaworthy_model::host_order::{Claim, HostCommandKind};
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{FailedRelease, Installed};
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::time::Timestamp;

use super::observe::share_host_key;
use super::restarts::note_restarts;
use super::{identity, node};
use crate::rows::machine::{Failure, Machine, key};
use crate::rows::repairs::Part;
use crate::rows::ticket::{HostTicket, InFlight, Ticket};
use crate::rows::trouble::Trouble;
use crate::runtime::queue::Priority;
use crate::runtime::retry::{Retry, Terms};
use crate::runtime::tracked::Versions;
use crate::world::World;
use crate::world::index::confirmation::Waiting;

/// How long a running operation is left alone before its state is read again.
const POLL: Duration = Duration::from_secs(5);

/// An action about a machine is ordered.
pub(crate) fn start(world: &mut World, id: MachineId, action: ActionId, ticket: Ticket) {
    let now = world.now;
    world.note(id, |progress| progress.writes.action = Some(action));
    match ticket {
        Ticket::Host(HostTicket::Change(operation, component, installs)) => {
            if let Some(installed) = installs {
                world.note_change(id, component, installed);
            }
            let is_repair = installs.is_some() && world.machine(id).installed(component) == installs;
            world.change(id, |machine| {
                machine.repairs = is_repair;
                machine.uncertain = Some(operation);
                machine.ordered_at = now;
                machine.installs = installs.map(|installed| installed.version);
            });
            world.begins(id);
        }
        Ticket::Node(ticket) => node::start(world, id, ticket),
        Ticket::Host(_)
        | Ticket::Write
        | Ticket::Watch(_)
        | Ticket::Ask
        | Ticket::Tell(_)
        | Ticket::Check(_) => {}
    }
}

/// An action about a machine has ended.
pub(crate) fn finish(
    world: &mut World,
    id: MachineId,
    in_flight: &InFlight,
    outcome: Outcome,
    terms: &Terms<'_>,
) {
    if in_flight.ticket == Ticket::Write {
        return finish_write(world, id, in_flight, &outcome, terms);
    }
    if world.machine(id).uid() != in_flight.uid {
        return world.note(id, |progress| progress.writes.action = None);
    }
    match in_flight.ticket {
        Ticket::Host(ticket) => finish_host(world, id, (in_flight, ticket), outcome, terms),
        Ticket::Node(ticket) => node::finish(world, id, (in_flight, ticket), outcome, terms),
        Ticket::Ask => identity::finish_ask(world, id, &outcome, terms),
        Ticket::Write | Ticket::Watch(_) | Ticket::Tell(_) | Ticket::Check(_) => {}
    }
}

/// An order to the host has ended.
fn finish_host(
    world: &mut World,
    id: MachineId,
    (in_flight, ticket): (&InFlight, HostTicket),
    outcome: Outcome,
    terms: &Terms<'_>,
) {
    let (now, ours) = (world.now, world.epoch());
    if in_flight.epoch != ours {
        // It was ordered under an older fence: its outcome does not show which epoch the host has seen.
        return world.note(id, |progress| {
            progress.writes.action = None;
            progress.contact.stale = true;
        });
    }
    if let HostTicket::Fetch(version) = ticket {
        world.settle_fetch(id, version, &outcome);
    }
    let is_ahead = matches!(&outcome, Outcome::Done(Receipt::Host(facts)) if is_ahead(facts, ours));
    if let Outcome::Done(Receipt::Host(facts)) = &outcome
        && !is_ahead
    {
        note_repair(world, id, ticket, facts);
        note_restarts(world, id, facts);
        learn(world, id, (ticket, facts));
    }
    let waiting = world.awaited(id, &outcome);
    world.change(id, |machine| {
        machine.progress.writes.action = None;
        if matches!(ticket, HostTicket::Change(..)) && machine.node.is_none() {
            // The kubelet that was installed may register a Node: the engine looks for it anew.
            machine.drain = None;
        }
        settle_host(machine, (in_flight, ticket), outcome, ours, now);
        // If the spec has changed meanwhile, another host may have replied.
        let generation = machine.object.as_ref().map(|object| object.meta.generation);
        machine.progress.contact.stale |= generation != in_flight.generation;
        let waiting = waiting.filter(|waiting| waiting.lasts(machine, now));
        let poll = machine.uncertain.is_some() && machine.progress.contact.trouble.is_none();
        if poll && !waiting.is_some_and(Waiting::is_news) {
            machine.progress.contact.retry.not_before = now + POLL;
        } else if machine.progress.contact.trouble.is_some() {
            terms.back_off(&mut machine.progress.contact.retry, now, key(id));
            if let Some(waiting) = waiting {
                waiting.hurry(machine, now);
            }
        }
        // A host that waits for its confirmation is still at work; its own timer ends the wait.
        if machine.progress.contact.failures >= terms.config.unreachable_after
            && machine.host.unreachable_since.is_none()
            && waiting.is_none()
        {
            machine.host.unreachable_since = Some(now.whole_seconds());
        }
    });
    if is_ahead {
        world.judge_witnesses();
    }
}

/// Settles a write of a Machine. Nothing can be decided about the Machine before the echo, so the echo requeues it.
fn finish_write(
    world: &mut World,
    id: MachineId,
    in_flight: &InFlight,
    outcome: &Outcome,
    terms: &Terms<'_>,
) {
    let (now, uid) = (world.now, world.machine(id).uid());
    let seen = world.machine(id).object.as_ref().map(|object| object.meta.resource_version);
    let versions = Versions { against: in_flight.resource_version, seen };
    world.note(id, |progress| {
        progress.writes.action = None;
        if uid == in_flight.uid {
            progress.writes.settle(outcome, versions, |retry| terms.back_off(retry, now, key(id)));
        }
    });
    if world.machine(id).progress.writes.written.is_some() {
        world.set_blocker(Subject::Machine(id), Some(Blocker::AwaitingOwnWrite));
    } else {
        world.touch(Subject::Machine(id), Priority::Normal);
    }
}

/// Applies what a host's report means for other subjects than its own machine.
fn learn(world: &mut World, id: MachineId, (ticket, facts): (HostTicket, &HostFacts)) {
    claim(world, id, facts);
    for request in world.certificates.take_waiting(id).into_iter().flatten() {
        world.touch(Subject::CertificateRequest(request), Priority::Normal);
    }
    if ticket.kind() == HostCommandKind::InstallCertificate {
        let taken = facts.identity.as_ref().and_then(|identity| identity.certificate.as_ref());
        world.certificates.authority = taken.map(|taken| taken.issuer).or(world.certificates.authority);
    }
}

/// Counts a repair that has succeeded, and forgets repairs that have lasted.
fn note_repair(world: &mut World, id: MachineId, ticket: HostTicket, facts: &HostFacts) {
    let machine = world.machine(id);
    let repaired = match ticket {
        HostTicket::Change(_, component, Some(installs)) => Some((component, installs)).filter(|_| {
            machine.installed(component) == Some(installs) && shows(facts, component, Some(installs))
        }),
        // The answer to an order that repaired something may have been lost.
        HostTicket::Change(_, _, None) | HostTicket::Command(_) | HostTicket::Fetch(_) => {
            found_repaired(machine, facts)
        }
    };
    if let Some((component, installed)) = repaired {
        world.repairs.note(id, Part::Component(component), Some(installed.release), world.now);
    }
    let interval = world.fleet.audit_interval();
    let is_node_intact = world.repairs.is_empty() || node::is_intact(world, id);
    world.repairs.look_back(id, world.now, interval, |part| {
        let Part::Component(component) = part else { return Some(is_node_intact) };
        let reported = facts.components.iter().find(|reported| reported.component == component)?;
        Some(reported.drift.is_none())
    });
}

/// What the last operation has repaired, if that was its purpose, its outcome was not known, and a report shows it.
fn found_repaired(machine: &Machine, facts: &HostFacts) -> Option<(ComponentId, Installed)> {
    let is_last = |report: &&OperationReport| machine.uncertain == Some(report.id);
    let report = facts.operation.as_ref().filter(is_last).filter(|_| machine.repairs)?;
    let installed = machine.installed(report.component)?;
    let is_shown = shows(facts, report.component, Some(installed));
    (report.state == OperationState::Succeeded && is_shown).then_some((report.component, installed))
}

/// Records the owner of a host: the first Machine that reached it, unless that Machine is gone. A Machine with another
/// recorded host claims nothing.
fn claim(world: &mut World, id: MachineId, facts: &HostFacts) {
    if world.machine(id).owns(facts.host) {
        return;
    }
    if world.machine(id).recorded_host().is_some_and(|recorded| recorded != facts.host) {
        return world.note(id, |progress| progress.contact.owned = false);
    }
    let present = world.hosts.get(&facts.host).copied();
    let free = present.is_none_or(|owner| world.machine(owner).object.is_none());
    if free {
        world.hosts.insert(facts.host, id);
    }
    let owned = free || present == Some(id);
    world.note(id, |progress| progress.contact.owned = owned);
}

/// Whether the host has seen a newer operator of this cluster. Epochs of another cluster do not count.
const fn is_ahead(facts: &HostFacts, ours: Epoch) -> bool {
    !matches!(facts.owner, Owner::Foreign { .. }) && facts.epoch.0 > ours.0
}

/// Settles an order to a host.
fn settle_host(
    machine: &mut Machine,
    (in_flight, ticket): (&InFlight, HostTicket),
    outcome: Outcome,
    ours: Epoch,
    now: Timestamp,
) {
    match outcome {
        Outcome::Done(Receipt::Host(facts)) => settle_facts(machine, ticket, facts, ours, now),
        Outcome::Done(_) | Outcome::Stale => machine.progress.contact.stale = true,
        // It says nothing of the host, which was not changed.
        Outcome::Retryable(cause) | Outcome::Refused(cause) if is_of_fetch(ticket, &cause) => {}
        Outcome::Retryable(cause) => {
            if matches!(ticket, HostTicket::Change(..)) {
                machine.uncertain = None;
            }
            settle_trouble(machine, cause.into());
        }
        Outcome::Refused(cause) => {
            let unconfirmed = machine.unconfirmed().cloned();
            machine.uncertain = None;
            machine.progress.contact.stale = true;
            match unconfirmed {
                // The failure counts at once: before the host is read again, another machine could be started in its
                // place.
                Some(report) if ticket.kind() == HostCommandKind::Confirm && cause.kind.blames_release() => {
                    machine.progress.contact.trouble = None;
                    note_failure(machine, &report, &cause);
                }
                Some(_) | None => settle_refusal(machine, (in_flight, ticket), cause),
            }
        }
        Outcome::Unknown => {
            if !matches!(ticket, HostTicket::Change(..)) {
                settle_trouble(machine, Trouble::new(CauseKind::ConnectionFailed, Detail::SessionLost));
            }
        }
    }
}

fn settle_facts(
    machine: &mut Machine,
    ticket: HostTicket,
    mut facts: Box<HostFacts>,
    ours: Epoch,
    now: Timestamp,
) {
    if is_ahead(&facts, ours) {
        return settle_ahead(machine, facts.epoch, now);
    }
    machine.given_up = false;
    // A successful read does not prove that a failed operation would succeed now: its back-off keeps growing.
    let is_shown = match ticket {
        HostTicket::Change(_, component, installs) => shows(&facts, component, installs),
        HostTicket::Command(kind) => shows_identity(machine.host.facts.as_deref(), &facts, kind),
        HostTicket::Fetch(_) => true,
    };
    let is_settled = match ticket {
        HostTicket::Change(..) => is_shown,
        HostTicket::Command(_) | HostTicket::Fetch(_) => {
            let trouble = machine.progress.contact.trouble.as_ref();
            let is_claim = ticket.kind().claim() == Claim::Takes;
            is_shown && (is_claim || trouble.is_none_or(|cause| cause.kind.is_contact()))
        }
    };
    if is_settled {
        machine.progress.contact.retry = Retry::default();
    }
    machine.progress.contact.trouble = None;
    machine.progress.contact.failures = 0;
    machine.host.unreachable_since = None;
    machine.host.ahead = None;
    machine.progress.contact.audit_at = None;
    machine.progress.contact.stale = false;
    machine.progress.contact.read_at = now;
    machine.uncertain = None;
    // An operation of another Machine does not concern this one.
    let is_ours = machine.uid().is_some_and(|uid| facts.owner == Owner::Machine(uid));
    if let Some(report) = facts.operation.as_ref().filter(|_| is_ours) {
        match &report.state {
            OperationState::Running | OperationState::Unconfirmed => {
                machine.uncertain = Some(report.id);
                machine.ordered_at = now;
                machine.progress.contact.stale = true;
            }
            OperationState::Failed(cause) => note_failure(machine, report, cause),
            OperationState::Interrupted | OperationState::Succeeded => {}
        }
    }
    if !is_shown && machine.uncertain.is_none() {
        // Without a back-off the order would be repeated at once, and forever.
        machine.progress.contact.stale = true;
        let trouble = Trouble::new(CauseKind::HostFailed, Detail::ChangeNotShown);
        machine.progress.contact.trouble = Some(Box::new(trouble));
    }
    // A vector that grows takes more than it needs.
    let known = machine.host.facts.take();
    if let Some(mut known) = known.filter(|known| known.components.capacity() >= facts.components.len()) {
        // Reuses the old allocation: in a large fleet, freshly allocated memory is in no cache.
        known.components.clone_from(&facts.components);
        facts.components = known.components;
    }
    machine.take_facts(Some(facts));
    share_host_key(machine);
}

/// The host has seen a newer operator, so our fence did not reach it: it counts as not read, and as unreachable.
/// Nothing else in its report is believed.
fn settle_ahead(machine: &mut Machine, seen: Epoch, now: Timestamp) {
    machine.uncertain = None;
    machine.take_facts(None);
    machine.host.ahead = Some(seen);
    machine.host.unreachable_since.get_or_insert_with(|| now.whole_seconds());
    settle_trouble(machine, Trouble::new(CauseKind::FenceRefused, Detail::HostAhead(seen)));
}

/// Whether a report shows the result that a change should have.
fn shows(facts: &HostFacts, component: ComponentId, installs: Option<Installed>) -> bool {
    let reported = facts.components.iter().find(|reported| reported.component == component);
    match (installs, reported) {
        (None, None) => true,
        (Some(installs), Some(reported)) => reported.release == installs.release && reported.drift.is_none(),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether a report shows that an order about the identity of the node has changed it.
fn shows_identity(before: Option<&HostFacts>, facts: &HostFacts, kind: HostCommandKind) -> bool {
    let is_about_it =
        matches!(kind, HostCommandKind::RequestCertificate | HostCommandKind::InstallCertificate);
    !is_about_it || before.is_none_or(|before| before.identity != facts.identity)
}

/// Whether an artefact could not be fetched for a reason that the present release has no share in.
fn is_of_fetch(ticket: HostTicket, cause: &Cause) -> bool {
    let is_its = cause.kind.blames_artefact() || cause.kind == CauseKind::NoSpace;
    matches!(ticket, HostTicket::Fetch(_)) && is_its
}

/// A failure that the host reports later counts like one in a reply.
fn note_failure(machine: &mut Machine, report: &OperationReport, cause: &Cause) {
    let Some(release) = report.release else { return };
    if cause.kind.blames_release() && is_of_present(machine, Some(report.generation)) {
        let failed = FailedRelease { version: release.version, release: release.release, cause: cause.kind };
        blame(machine, report.component, failed, &cause.detail);
        machine.progress.contact.trouble = None;
    }
}

fn blame(machine: &mut Machine, component: ComponentId, release: FailedRelease, reported: &str) {
    machine.failed.retain(|failure| failure.component != component);
    machine.failed.push(Failure { component, release, detail: Detail::reported(reported) });
}

/// The host was not reached, or could not carry out the order now.
fn settle_trouble(machine: &mut Machine, trouble: Trouble) {
    if trouble.kind.is_contact() {
        machine.host.ahead = None;
        machine.progress.contact.failures = machine.progress.contact.failures.saturating_add(1);
    }
    machine.progress.contact.stale = true;
    machine.progress.contact.trouble = Some(Box::new(trouble));
}

/// Whether an order was for the present spec. A change of the spec asks for another try.
fn is_of_present(machine: &Machine, generation: Option<u64>) -> bool {
    machine.object.as_ref().map(|object| object.meta.generation) == generation
}

fn settle_refusal(machine: &mut Machine, (in_flight, ticket): (&InFlight, HostTicket), cause: Cause) {
    if let (HostTicket::Change(_, component, Some(installed)), true) = (ticket, cause.kind.blames_release()) {
        let failed =
            FailedRelease { version: installed.version, release: installed.release, cause: cause.kind };
        if is_of_present(machine, in_flight.generation) {
            blame(machine, component, failed, &cause.detail);
        }
        machine.progress.contact.trouble = None;
    } else {
        if ticket.kind() == HostCommandKind::ResetFences {
            // It does not remember that epoch any more: it has to be read anew.
            machine.host.ahead = None;
        }
        machine.progress.contact.trouble = Some(Box::new(cause.into()));
    }
}
