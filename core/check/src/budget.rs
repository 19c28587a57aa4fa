//! Budget: nothing starts beyond `maxUnavailable`, and no work on machines that are unavailable anyway beyond as many
//! again. Hosts that fail may exceed it; then nothing new starts. A machine keeps its unit or its place in the repair lane
//! until its operation is known to have ended, or is given up.

use alloc::format;

use seaworthy_engine::{InFlight, Machine, NodeTicket, Ticket, World};
use seaworthy_model::report::{Subject, Turn};

use crate::invariant::{Findings, Invariant};

const NAME: &str = "budget";

pub(crate) const INVARIANT: Invariant = Invariant { name: NAME, judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let starts = turn.actions.iter().filter_map(|action| {
        let in_flight = world.in_flight().get(&action.id)?;
        let Subject::Machine(id) = in_flight.subject else { return None };
        let machine = world.machine(id);
        let is_start = in_flight.ticket.is_change()
            || in_flight.ticket == Ticket::Node(NodeTicket::Cordon)
            || begins_drain(machine, in_flight);
        is_start.then_some(machine)
    });
    let (mut started, mut repaired) = (0, 0);
    for machine in starts {
        if machine.is_spared() {
            repaired += 1;
        } else {
            started += 1;
        }
    }
    let slots = world.slots();
    if started > 0 && world.occupied() > slots {
        let occupied = world.occupied();
        findings.overall(format!("{started} started, and {occupied} of {slots} units are taken"));
    }
    if repaired > 0 && world.laned() > slots {
        let laned = world.laned();
        findings.overall(format!("{repaired} started, and {laned} of {slots} places for repairs are taken"));
    }
    if !world.stores.home.is_listing() {
        judge_places(world, turn, findings);
    }
}

/// Whether each machine that is acted on has the place that its operation takes. Not while lists are under way: the engine does
/// not count then, and no machine has a place yet.
fn judge_places(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let Some(in_flight) = world.in_flight().get(&action.id) else { continue };
        let Subject::Machine(id) = in_flight.subject else { continue };
        let machine = world.machine(id);
        let may_go_on = machine.uncertain.is_some() && !machine.given_up;
        if may_go_on && !machine.claims() && !machine.is_laned() {
            let detail = "an operation may go on there without a unit or a place for repairs";
            findings.against(action, detail.into());
        }
    }
}

/// Whether the action lists the pods of a Node that will be cordoned next if they may be evicted.
fn begins_drain(machine: &Machine, in_flight: &InFlight<Ticket>) -> bool {
    matches!(in_flight.ticket, Ticket::Node(NodeTicket::ListPods(_)))
        && !machine.has_our_cordon()
        && machine.drain.as_ref().is_some_and(|drain| drain.begins)
}
