//! Finalizer order: when our finalizer may go.
//!
//! - From a Machine: its host was read, holds nothing of ours and is disowned; or the status records that a person has
//!   declared the host gone for good.
//! - From a version: no machine uses it, according to a list that is younger than its deletion.
//! - From the fleet's defaults: no machine is being worked on for them.
//!
//! A Machine that gets it for a host names the host that was read.

use alloc::format;

use seaworthy_engine::{Machine, Owner as RolloutOwner, World};
use seaworthy_model::effect::{Effect, Import, Target};
use seaworthy_model::host::Owner;
use seaworthy_model::id::Kind;
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::meta::{FINALIZER, Meta};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "finalizer", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let finalizers = if let Effect::WriteFinalizers(finalizers) = &action.effect {
            finalizers
        } else if let Effect::Import(import) = &action.effect {
            if let Some(flaw) = flaw_of_import(world, action.target, import) {
                findings.against(action, flaw.into());
            }
            &import.finalizers
        } else {
            continue;
        };
        let target = Some(action.target).filter(|target| target.kind().is_some_and(Kind::is_ours));
        let meta = target.and_then(|target| world.meta(target));
        let Some(meta) = meta else {
            findings.against(action, format!("{:?} has no finalizers", action.target));
            continue;
        };
        let others = |list: &[_]| {
            list.iter().filter(|name| *name != FINALIZER).cloned().collect::<alloc::vec::Vec<_>>()
        };
        if others(finalizers) != others(&meta.finalizers) {
            findings.against(action, "it changes finalizers that are not ours".into());
        }
        if finalizers.iter().any(|name| name == FINALIZER) {
            if meta.is_terminating() {
                findings.against(action, "a finalizer is added to an object that is being deleted".into());
            }
            continue;
        }
        if !meta.is_terminating() {
            findings.against(action, "our finalizer leaves an object that is not being deleted".into());
        }
        if let Some(reason) = still_needed(world, action.target, meta) {
            findings.against(action, reason.into());
        }
    }
}

/// What is wrong with the record of a host that a Machine begins to use.
fn flaw_of_import(world: &World, target: Target, import: &Import) -> Option<&'static str> {
    let Target::Machine(id) = target else { return Some("only a Machine has a host") };
    let machine = world.machine(id);
    if machine.recorded_host().is_some() {
        return Some("the host of the Machine is recorded already");
    }
    if !import.finalizers.iter().any(|name| name == FINALIZER) {
        return Some("the Machine uses a host without our finalizer");
    }
    let found = machine.host.facts.as_ref().map(|facts| facts.host);
    (found != Some(import.identity.host)).then_some("the host is another than the one that was read")
}

/// Why our finalizer may not go yet. For a version this looks at every machine, which is fine: versions are deleted seldom.
fn still_needed(world: &World, target: Target, meta: &Meta) -> Option<&'static str> {
    if let Target::Machine(id) = target {
        let facts = world.machine(id).host.facts.as_ref();
        let holds_ours = facts.is_none_or(|facts| facts.owner == Owner::Machine(meta.uid));
        let is_needed = holds_ours && !is_released(world.machine(id));
        return is_needed.then_some("our software may still be on the host");
    }
    if let Target::Version(id) = target {
        if world.users_of(id) > 0 {
            return Some("the version is in use");
        }
        let is_needed = !world.is_listed_since_leaving(id);
        return is_needed.then_some("no list since its deletion shows what uses the version");
    }
    if let Some(owner) = RolloutOwner::of(target) {
        let mut own = world.fleet.rollouts.iter().filter(|rollout| rollout.owner == owner);
        let is_needed = own.any(|rollout| rollout.counts.unresolved > 0);
        return is_needed.then_some("machines are still being worked on for it");
    }
    None
}

/// Whether a person has declared the host gone for good, and that is recorded.
fn is_released(machine: &Machine) -> bool {
    machine.object.as_ref().is_some_and(|object| {
        let recorded = object.status.condition(ConditionKind::InSync);
        object.is_released && recorded.is_some_and(|recorded| recorded.reason == Reason::HostReleased)
    })
}
