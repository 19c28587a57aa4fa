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
mod order;
mod patience;
mod pause;
mod record;
mod recount;
mod removal;
mod skew;

use alloc::string::String;
use alloc::vec::Vec;

use seaworthy_engine::World;
use seaworthy_model::effect::{Action, ActionId, Effect, Target};
use seaworthy_model::host::{HostCommand, Operation};
use seaworthy_model::id::MachineId;
use seaworthy_model::report::Turn;

pub use recount::recount;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The invariant's name.
    pub invariant: &'static str,
    /// The action that breaks it, if one alone does.
    pub action: Option<ActionId>,
    /// What is wrong.
    pub detail: String,
}

/// An invariant: its name, and how a turn is judged.
pub struct Invariant {
    /// Its name, as a breach gives it.
    pub name: &'static str,
    judge: fn(&World, &Turn, &mut Findings<'_>),
}

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

/// The work that a turn orders from hosts, with the machine of each.
fn works(turn: &Turn) -> impl Iterator<Item = (&Action, MachineId, &Operation)> {
    turn.actions.iter().filter_map(|action| {
        let (Target::Host(id), Effect::Host(order)) = (action.target, &action.effect) else { return None };
        let HostCommand::Apply(operation) = &order.command else { return None };
        Some((action, id, &**operation))
    })
}

/// What one invariant found.
struct Findings<'a> {
    invariant: &'static str,
    breaches: &'a mut Vec<Breach>,
}

impl Findings<'_> {
    fn against(&mut self, action: &Action, detail: String) {
        self.breaches.push(Breach { invariant: self.invariant, action: Some(action.id), detail });
    }

    fn overall(&mut self, detail: String) {
        self.breaches.push(Breach { invariant: self.invariant, action: None, detail });
    }
}
