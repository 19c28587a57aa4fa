//! Budget: nothing starts beyond `maxUnavailable`. Hosts that fail may exceed it; then nothing new starts.

use alloc::format;

use seaworthy_engine::{InFlight, NodeTicket, Ticket, World};
use seaworthy_model::report::{Subject, Turn};

use crate::invariant::{Findings, Invariant};

const NAME: &str = "budget";

pub(crate) const INVARIANT: Invariant = Invariant { name: NAME, judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let starts = turn.actions.iter().filter(|action| {
        let in_flight = world.in_flight().get(&action.id);
        in_flight.is_some_and(|in_flight| {
            in_flight.ticket.is_change()
                || in_flight.ticket == Ticket::Node(NodeTicket::Cordon)
                || begins_drain(world, in_flight)
        })
    });
    let (started, occupied, slots) = (starts.count(), world.occupied(), world.slots());
    if started > 0 && occupied > slots {
        findings.overall(format!("{started} started, and {occupied} of {slots} slots are occupied"));
    }
}

/// Whether the action lists the pods of a Node that will be cordoned next if they may be evicted.
fn begins_drain(world: &World, in_flight: &InFlight<Ticket>) -> bool {
    let Subject::Machine(id) = in_flight.subject else { return false };
    let machine = world.machine(id);
    matches!(in_flight.ticket, Ticket::Node(NodeTicket::ListPods(_)))
        && !machine.has_our_cordon()
        && machine.drain.as_ref().is_some_and(|drain| drain.begins)
}
