//! Starts and settles actions on a Node, and on what runs there.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::Detail;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::MachineId;
use seaworthy_model::time::Timestamp;

use crate::rows::drain::{Drain, Listed};
use crate::rows::machine::key;
use crate::rows::repairs::Part;
use crate::rows::ticket::{InFlight, NodeTicket};
use crate::rows::trouble::Trouble;
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;

/// An action on a Node, or on what runs there, is ordered.
pub(in crate::domains::machine) fn start(world: &mut World, id: MachineId, ticket: NodeTicket) {
    if let NodeTicket::Attributes { .. } = ticket {
        world.node_writes.entry(id).or_default().awaits = true;
        return;
    }
    let epoch = world.epoch();
    world.change(id, |machine| {
        let drain = machine.drain.get_or_insert_default();
        drain.write.awaits = matches!(ticket, NodeTicket::Cordon | NodeTicket::Uncordon | NodeTicket::Delete);
        drain.cordoning |= ticket == NodeTicket::Cordon;
        drain.begins = matches!(ticket, NodeTicket::ListPods(_)) && drain.pods.is_none();
        if ticket == NodeTicket::Uncordon {
            let mark = machine.node.as_ref().and_then(|node| node.mark());
            // The clock of another operator may be ahead, and the engine does not rely on its marks anyway.
            let own = mark.filter(|mark| mark.epoch == epoch);
            machine.lifted = machine.lifted.max(own.map_or(0, |mark| mark.order));
        }
    });
}

/// An action on a Node, or on what runs there, has ended.
pub(in crate::domains::machine) fn finish(
    world: &mut World,
    id: MachineId,
    (in_flight, ticket): (&InFlight, NodeTicket),
    outcome: Outcome,
    terms: &Terms<'_>,
) {
    if in_flight.epoch != world.epoch() {
        return world.change(id, |machine| machine.forget_action());
    }
    if let NodeTicket::Attributes { is_repair } = ticket {
        return finish_attributes(world, id, (outcome, is_repair), terms);
    }
    let now = world.now;
    world.change(id, |machine| {
        machine.progress.writes.action = None;
        let drain = machine.drain.get_or_insert_default();
        drain.begins = false;
        match ticket {
            NodeTicket::ListPods(under) => settle_list(drain, under, outcome, now),
            NodeTicket::Evict => settle_eviction(drain, outcome),
            NodeTicket::Cordon
            | NodeTicket::Uncordon
            | NodeTicket::Delete
            | NodeTicket::Attributes { .. } => settle_node(drain, outcome, now),
        }
        if drain.write.trouble.is_some() {
            terms.back_off(&mut drain.write.retry, now, key(id));
        }
    });
}

fn finish_attributes(
    world: &mut World,
    id: MachineId,
    (outcome, is_repair): (Outcome, bool),
    terms: &Terms<'_>,
) {
    let now = world.now;
    world.note(id, |progress| progress.writes.action = None);
    if is_repair && matches!(outcome, Outcome::Done(_)) {
        world.repairs.note(id, Part::Node, None, now);
    }
    let write = world.node_writes.entry(id).or_default();
    write.settle(outcome, now);
    if write.trouble.is_some() {
        terms.back_off(&mut write.retry, now, key(id));
    } else if !write.awaits {
        world.node_writes.remove(&id);
    }
}

fn settle_list(drain: &mut Drain, under: Option<u64>, outcome: Outcome, now: Timestamp) {
    match outcome {
        Outcome::Done(Receipt::Pods(pods)) => {
            drain.rounds = if drain.refused.is_some() { drain.rounds.saturating_add(1) } else { 0 };
            drain.pods = Some(Listed::new(pods, now, under, drain.pods.as_ref()));
            drain.passed = 0;
            drain.refused = None;
            drain.write.trouble = None;
            drain.write.retry = Retry::default();
        }
        other @ (Outcome::Done(_)
        | Outcome::Stale
        | Outcome::Retryable(_)
        | Outcome::Refused(_)
        | Outcome::Unknown) => drain.write.trouble = Some(trouble_of(other, Detail::PodsNotListed)),
    }
}

fn settle_eviction(drain: &mut Drain, outcome: Outcome) {
    match outcome {
        Outcome::Retryable(cause) if cause.kind == CauseKind::ApiUnavailable => {
            drain.write.trouble = Some(cause.into());
            return;
        }
        Outcome::Retryable(cause) | Outcome::Refused(cause) => {
            let current = drain.pods.as_ref().and_then(|listed| listed.pods.get(drain.passed));
            if let (None, Some(facts)) = (&drain.refused, current) {
                drain.refused = Some((facts.pod.clone(), cause));
            }
        }
        // The pod is leaving or has left, or the next list shows that it has not.
        Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => {}
    }
    drain.write.trouble = None;
    drain.passed += 1;
}

/// Settles a write of the Node. A write that certainly failed has cordoned nothing.
fn settle_node(drain: &mut Drain, outcome: Outcome, now: Timestamp) {
    match &outcome {
        Outcome::Stale => drain.cordoning &= !drain.write.awaits,
        Outcome::Retryable(_) | Outcome::Refused(_) => drain.cordoning = false,
        Outcome::Done(_) | Outcome::Unknown => {}
    }
    drain.write.settle(outcome, now);
}

/// The trouble as reported, or as the outcome implies it.
fn trouble_of(outcome: Outcome, detail: Detail) -> Trouble {
    match outcome {
        Outcome::Retryable(cause) | Outcome::Refused(cause) => cause.into(),
        Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => {
            Trouble::new(CauseKind::ApiUnavailable, detail)
        }
    }
}
