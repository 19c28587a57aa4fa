//! Intent: an install is what people ask for now, on the Machine or through the fleet's rollout, or it repairs the release
//! that is already installed. So a version goes back only when a person sets it back.

use alloc::format;

use seaworthy_engine::{Aim, World, targets};
use seaworthy_model::effect::Action;
use seaworthy_model::host::{Change, Release};
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant, works};

pub(crate) const INVARIANT: Invariant = Invariant { name: "intent", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for (action, id, operation) in works(turn) {
        let Change::Install(release) = &operation.change else { continue };
        judge_install(world, (id, operation.component), release, (action, findings));
    }
}

fn judge_install(
    world: &World,
    (id, component): (MachineId, ComponentId),
    release: &Release,
    (action, findings): (&Action, &mut Findings<'_>),
) {
    let machine = world.machine(id);
    let target = targets(world, machine).find(|target| target.component == component);
    let is_repair = || machine.reported(component).is_some_and(|reported| reported.release == release.id);
    let is_asked_for = match target.map(|target| target.aim) {
        // What is to go is repaired until its turn comes.
        Some(Aim::Set(want)) => want.version() == Some(release.version) || is_repair(),
        Some(Aim::Keep) => is_repair(),
        None => false,
    };
    if !is_asked_for {
        let version = world.version_name(release.version);
        findings.against(action, format!("nobody asked for {version} on this machine"));
    }
}
