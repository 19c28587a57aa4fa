//! What an invariant is, how it is broken, and what all invariants look at.

use alloc::string::String;
use alloc::vec::Vec;

use seaworthy_engine::{Owner, World};
use seaworthy_model::effect::{Action, ActionId, Effect, Target};
use seaworthy_model::host::Operation;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::PackageVersionStatus;
use seaworthy_model::report::Turn;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The invariant's name.
    pub invariant: &'static str,
    /// The action that breaks it, if one alone does.
    pub action: Option<ActionId>,
    /// What is wrong, for people.
    pub detail: String,
}

/// An invariant: its name and its check of a turn.
pub struct Invariant {
    /// The name that a breach carries.
    pub name: &'static str,
    pub(crate) judge: fn(&World, &Turn, &mut Findings<'_>),
}

/// The breaches of one invariant.
pub(crate) struct Findings<'a> {
    pub(crate) invariant: &'static str,
    pub(crate) breaches: &'a mut Vec<Breach>,
}

impl Findings<'_> {
    /// One action breaks the invariant.
    pub(crate) fn against(&mut self, action: &Action, detail: String) {
        self.breaches.push(Breach { invariant: self.invariant, action: Some(action.id), detail });
    }

    /// The turn as a whole breaks it.
    pub(crate) fn overall(&mut self, detail: String) {
        self.breaches.push(Breach { invariant: self.invariant, action: None, detail });
    }
}

/// The operations that a turn orders from hosts, each with its machine.
pub(crate) fn works(turn: &Turn) -> impl Iterator<Item = (&Action, MachineId, &Operation)> {
    turn.actions.iter().filter_map(|action| {
        let (Target::Host(id), Effect::Host(order)) = (action.target, &action.effect) else { return None };
        let HostCommand::Apply(operation) = &order.command else { return None };
        Some((action, id, &**operation))
    })
}

/// The record of rollouts that an action writes, and whose.
pub(crate) const fn recorded(action: &Action) -> Option<(Owner, &PackageVersionStatus)> {
    match (Owner::of(action.target), &action.effect) {
        (Some(owner), Effect::WritePackageVersionStatus(status) | Effect::WriteSetStatus(status)) => {
            Some((owner, status))
        }
        (_, _) => None,
    }
}
