//! Freshness: every action is fenced with the last observed state of its target, and a change is ordered only from a host
//! that was read in this epoch.

use alloc::format;

use seaworthy_engine::{HostTicket, Request, Ticket, Version, World};
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::meta::Meta;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "freshness", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if action.deadline <= world.now() {
            findings.against(action, format!("its deadline {:?} has passed", action.deadline));
        }
        match action.target {
            Target::Driver => {}
            Target::Host(_) => judge_host(world, action, findings),
            // Judged by `drain` and `attributes`.
            Target::Node(_) => {}
            Target::Lease => {
                let lease = world.leadership.lease.as_ref().map(|lease| &lease.meta);
                judge_write(action, lease, findings);
            }
            Target::Machine(id) => {
                judge_write(action, world.machine(id).object.as_ref().map(|object| &object.meta), findings);
            }
            Target::Version(id) => {
                let object = world.version(id).and_then(Version::object);
                judge_write(action, object.map(|object| &object.meta), findings);
            }
            Target::NewCertificateRequest(_) => judge_write(action, None, findings),
            Target::CertificateRequest(_) if matches!(action.effect, Effect::WriteEvent(_)) => {
                judge_write(action, None, findings);
            }
            Target::CertificateRequest(id) => {
                let object = world.certificates.request(id).and_then(Request::object);
                judge_write(action, object.map(|object| &object.meta), findings);
            }
            Target::PackageVersion => {
                judge_write(action, world.fleet.object().map(|object| &object.meta), findings);
            }
        }
    }
}

fn judge_write(action: &Action, seen: Option<&Meta>, findings: &mut Findings<'_>) {
    let expected = seen.map_or(Fence::Absent, |meta| Fence::Unchanged {
        uid: meta.uid,
        resource_version: meta.resource_version,
    });
    if action.fence != expected {
        findings
            .against(action, format!("its fence is {:?}, what was seen last is {expected:?}", action.fence));
    }
}

fn judge_host(world: &World, action: &Action, findings: &mut Findings<'_>) {
    let Target::Host(id) = action.target else { return };
    let machine = world.machine(id);
    let Fence::Host(fence) = action.fence else {
        return findings.against(action, format!("a host is ordered with the fence {:?}", action.fence));
    };
    if Some(fence.machine) != machine.uid() || fence.epoch != world.epoch() {
        findings.against(action, format!("its fence {fence:?} is not of this machine and epoch"));
    }
    if fence.sequence > world.leadership.sequence {
        findings.against(action, format!("its sequence {} was not counted", fence.sequence));
    }
    let in_flight = world.in_flight().get(&action.id);
    let changes = in_flight.is_some_and(|in_flight| {
        in_flight.ticket.is_session()
            && !matches!(in_flight.ticket, Ticket::Host(HostTicket::Read | HostTicket::Probe(_)))
    });
    if changes && machine.host.facts.is_none() {
        findings.against(action, "a change of a host that was not read under this epoch".into());
    }
    if in_flight.is_none() {
        findings.against(action, "the engine does not remember it".into());
    }
}
