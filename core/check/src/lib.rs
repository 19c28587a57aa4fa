//! Invariants over (World, Turn): what no turn may ever contain, whatever was believed.
//!
//! The simulator calls [`check`] after every turn and takes a breach for fatal; production calls it before execution
//! and refuses the turn. It judges what the engine believed and ordered. Harm done by a stale belief is seen only by
//! the simulator's oracle, which knows the truth.
//!
//! A check costs what the turn costs, never what the fleet costs. [`recount`] is the slow one: it counts again what the
//! engine keeps incrementally.
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
mod holding;
mod identity;
mod intent;
mod invariant;
mod order;
mod patience;
mod pause;
mod record;
mod recount;
mod removal;
mod skew;

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
    patience::INVARIANT,
    drain::INVARIANT,
    attributes::INVARIANT,
    confirmation::INVARIANT,
];

/// Judges a turn against what the engine knew when it ended. Empty when all is well.
#[must_use]
pub fn check(world: &World, turn: &Turn) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // Every invariant is about what is done.
    if turn.actions.is_empty() {
        return breaches;
    }
    for invariant in CHECKS {
        let mut findings = Findings { invariant: invariant.name, breaches: &mut breaches };
        (invariant.judge)(world, turn, &mut findings);
    }
    breaches
}
