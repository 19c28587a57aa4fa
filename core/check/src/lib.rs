//! Invariants over (World, Turn): what no turn may contain, whatever the engine believes.
//!
//! The simulator calls [`check`] after every turn, and a breach ends the run. Production calls it before execution and
//! refuses the turn. A check judges what the engine believed and ordered. Only the simulator's oracle, which knows the
//! true state, sees the harm of a stale belief.
//!
//! The cost of a check grows with the turn, never with the fleet. [`recount`] is the exception: it visits every row and
//! verifies the counters that the engine keeps incrementally.
#![no_std]

extern crate alloc;

mod admission;
mod attributes;
mod authority;
mod budget;
mod confirmation;
mod drain;
mod exclusivity;
mod finalizer;
mod freshness;
mod gate;
mod holding;
mod identity;
mod intent;
mod invariant;
mod order;
mod patience;
mod pause;
mod policy;
mod record;
mod recount;
mod removal;
mod skew;
mod workloads;

use alloc::vec::Vec;

use seaworthy_engine::World;
use seaworthy_model::report::Turn;

use invariant::Findings;

pub use invariant::{Breach, Invariant};
pub use recount::recount;

/// Every invariant.
pub const CHECKS: &[Invariant] = &[
    admission::INVARIANT,
    authority::INVARIANT,
    holding::INVARIANT,
    freshness::INVARIANT,
    exclusivity::INVARIANT,
    budget::INVARIANT,
    record::INVARIANT,
    removal::INVARIANT,
    finalizer::INVARIANT,
    intent::INVARIANT,
    order::INVARIANT,
    skew::INVARIANT,
    identity::INVARIANT,
    pause::INVARIANT,
    policy::INVARIANT,
    patience::INVARIANT,
    drain::INVARIANT,
    attributes::INVARIANT,
    confirmation::INVARIANT,
    gate::INVARIANT,
    workloads::INVARIANT,
];

/// Judges a turn against what the engine knew at its end. Empty when no invariant is broken.
#[must_use]
pub fn check(world: &World, turn: &Turn) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // Every invariant is about actions.
    if turn.actions.is_empty() {
        return breaches;
    }
    for invariant in CHECKS {
        let mut findings = Findings { invariant: invariant.name, breaches: &mut breaches };
        (invariant.judge)(world, turn, &mut findings);
    }
    breaches
}
