//! Freshness: every action is fenced with the last observed state of its target, and a change is ordered only from a host
//! that was read in this epoch.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::host_order::HostCommandKind;
use seaworthy_model::meta::Meta;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "freshness", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if action.deadline <= world.now() {
            findings.against(action, format!("its deadline {:?} has passed", action.deadline));
        }
        // `drain` and `attributes` judge orders about a Node, `gate` judges what gates ask.
        let asks = matches!(action.effect, Effect::Query(_) | Effect::ListProbes(_));
        if asks || action.target == Target::Driver || matches!(action.target, Target::Node(_)) {
            continue;
        }
        if matches!(action.target, Target::Host(_)) {
            judge_host(world, action, findings);
            continue;
        }
        // An Event is an object of its own.
        let is_new = matches!(action.effect, Effect::WriteEvent(_));
        let seen = if is_new { None } else { world.meta(action.target) };
        judge_write(action, seen, findings);
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
    let command = in_flight.and_then(|in_flight| in_flight.ticket.host_command());
    if command == Some(HostCommandKind::ResetFences) {
        // Such a host does not count as read.
        let named = machine.object.as_ref().and_then(|object| object.reset_fences);
        if named.is_none() || named != machine.host.ahead {
            findings.against(action, "fences are reset that nobody named, or that the host has not".into());
        }
        return;
    }
    let changes = command.is_some_and(|command| !command.is_read());
    if changes && machine.host.facts.is_none() {
        findings.against(action, "a change of a host that was not read under this epoch".into());
    }
    if in_flight.is_none() {
        findings.against(action, "the engine does not remember it".into());
    }
}
