//! Recount: verifies the engine's incremental counters against the rows.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use seaworthy_engine::{NodeUse, Standing, World};

use crate::invariant::Breach;

/// Counts from every row what the engine counts incrementally. The cost grows with the fleet. While lists are under way the
/// engine does not count, and there is nothing to compare.
#[must_use]
pub fn recount(world: &World) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if world.stores.home.is_listing() {
        return breaches;
    }
    let mut compare = |what: &str, kept: u32, counted: usize| {
        if kept as usize != counted {
            let detail = format!("{what}: {kept} kept, {counted} counted");
            breaches.push(Breach { invariant: "recount", action: None, detail });
        }
    };
    let counted = Counted::of(world);
    compare("rows that are not what follows from them", 0, counted.stale);
    compare("machines that claim a unit", world.claims(), counted.claims);
    compare("machines on which a release failed", world.failed(), counted.failed);
    compare(
        "unrecorded failures",
        u32::try_from(world.unrecorded_failures().count()).unwrap_or(u32::MAX),
        counted.unrecorded,
    );
    compare("machines in the repair lane", world.laned(), counted.laned);
    compare("machines that fell", world.fallen(), counted.fell);
    compare("machines that are unavailable", world.sick(), counted.sick);
    compare("machines that were set up", world.known(), counted.known);
    compare("live machines", world.live(), counted.live);
    compare("Nodes that take pods", world.nodes_open(), counted.open);
    compare("Nodes that are kept from it", world.nodes_kept(), counted.kept);
    let sessions = world.in_flight().values().filter(|in_flight| in_flight.ticket.is_session());
    compare("sessions", world.sessions(), sessions.count());
    let rollouts = world.fleet.rollouts.iter().zip(&counted.standings).zip(&counted.idle);
    for ((rollout, standings), idle) in rollouts {
        let of = |wanted: Standing| standings[wanted as usize];
        let counts = &rollout.counts;
        compare("machines that are not permitted", counts.waiting, of(Standing::Waiting));
        compare("machines that could be granted", counts.eligible, of(Standing::Eligible));
        compare("machines that could be granted out of service", counts.idle, *idle);
        compare("machines that are granted", counts.granted, of(Standing::Granted));
        compare("machines that are held", counts.held, of(Standing::Held));
        compare("machines that are deferred", counts.deferred, of(Standing::Deferred));
        compare("machines that are done", counts.done, of(Standing::Done));
        compare("machines that were restored", counts.restored, of(Standing::Restored));
        compare("machines that failed", counts.failed, of(Standing::Failed));
        compare(
            "ranks in the index",
            counts.waiting + counts.eligible + counts.deferred,
            rollout.waiting.len(),
        );
        compare("granted ranks in the index", counts.granted + counts.held, rollout.holders.len());
    }
    breaches
}

/// The number of variants of [`Standing`].
const STANDINGS: usize = Standing::Failed as usize + 1;

/// What the rows add up to.
#[derive(Default)]
struct Counted {
    /// Rows whose kept result is not what follows from their facts now.
    stale: usize,
    claims: usize,
    failed: usize,
    unrecorded: usize,
    laned: usize,
    fell: usize,
    sick: usize,
    known: usize,
    live: usize,
    open: usize,
    kept: usize,
    /// For each rollout, the number of machines by [`Standing`].
    standings: Vec<[usize; STANDINGS]>,
    /// For each rollout, the machines that could be granted and are out of service.
    idle: Vec<usize>,
}

impl Counted {
    /// Visits each row once: in a large fleet most of the cost is to fetch the rows from memory.
    fn of(world: &World) -> Self {
        let rollouts = world.fleet.rollouts.len();
        let (standings, idle) = (vec![[0; STANDINGS]; rollouts], vec![0; rollouts]);
        let mut counted = Self { standings, idle, ..Self::default() };
        for (id, row) in world.machines() {
            counted.stale += usize::from(!world.is_current(id));
            counted.claims += usize::from(row.claims());
            counted.failed += usize::from(row.has_failed());
            counted.unrecorded += usize::from(row.is_failure_unrecorded());
            counted.laned += usize::from(row.is_laned());
            counted.fell += usize::from(row.fell());
            counted.sick += usize::from(row.is_sick());
            counted.known += usize::from(row.is_live() && row.was_set_up());
            counted.live += usize::from(row.is_live());
            match row.node_use() {
                NodeUse::Open => counted.open += 1,
                NodeUse::Kept => counted.kept += 1,
                NodeUse::Closed => {}
            }
            for (index, standings) in counted.standings.iter_mut().enumerate() {
                standings[row.standing(index) as usize] += 1;
                let is_idle = row.is_out_of_service() && row.standing(index) == Standing::Eligible;
                counted.idle[index] += usize::from(is_idle);
            }
        }
        counted
    }
}
