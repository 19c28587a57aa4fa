//! The budget: nothing is started beyond `maxUnavailable`. Failures may exceed it; then nothing new starts.

use alloc::format;
use alloc::vec::Vec;

use seaworthy_engine::{InFlightKind, NodeUse, Standing, World};
use seaworthy_model::report::Turn;

use crate::{Breach, Findings, Invariant};

const NAME: &str = "budget";

pub(crate) const INVARIANT: Invariant = Invariant { name: NAME, judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let starts = turn.actions.iter().filter(|action| {
        let in_flight = world.in_flight().get(&action.id);
        in_flight.is_some_and(|in_flight| {
            matches!(in_flight.kind, InFlightKind::Change(..) | InFlightKind::Cordon)
        })
    });
    let (started, occupied, slots) = (starts.count(), world.occupied(), world.slots());
    if started > 0 && occupied > slots {
        findings.overall(format!("{started} started, and {occupied} of {slots} slots are occupied"));
    }
}

/// Counts again, from every row, what the engine keeps incrementally. Costs what the fleet costs. While lists are under way
/// the engine counts nothing, and there is nothing to compare.
#[must_use]
pub fn recount(world: &World) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if world.leadership.is_listing() {
        return breaches;
    }
    let mut compare = |what: &str, kept: u32, counted: usize| {
        if kept as usize != counted {
            let detail = format!("{what}: {kept} kept, {counted} counted");
            breaches.push(Breach { invariant: "recount", action: None, detail });
        }
    };
    compare("occupied slots", world.occupied(), world.machines().filter(|(_, row)| row.occupies()).count());
    compare("live machines", world.live(), world.machines().filter(|(_, row)| row.is_live()).count());
    let nodes = |of: NodeUse| world.machines().filter(|(_, row)| row.node_use() == of).count();
    compare("Nodes that take pods", world.nodes_open(), nodes(NodeUse::Open));
    compare("Nodes that are kept from it", world.nodes_kept(), nodes(NodeUse::Kept));
    let sessions = world.in_flight().values().filter(|in_flight| in_flight.kind.is_session());
    compare("sessions", world.sessions(), sessions.count());
    for (index, rollout) in world.fleet.rollouts.iter().enumerate() {
        let of = |wanted: Standing| world.machines().filter(|(_, row)| row.standing(index) == wanted).count();
        let counts = &rollout.counts;
        compare("machines that wait for admission", counts.waiting, of(Standing::Waiting));
        compare("machines with a reservation", counts.reserved, of(Standing::Reserved));
        compare("machines without a reservation", counts.parked, of(Standing::Parked));
        compare("machines that are excused", counts.excused, of(Standing::Excused));
        compare("machines that are done", counts.done, of(Standing::Done));
        compare("machines that were restored", counts.restored, of(Standing::Restored));
        compare("machines that failed", counts.failed, of(Standing::Failed));
        compare("ranks in the index", counts.waiting, rollout.waiting.len());
    }
    breaches
}
