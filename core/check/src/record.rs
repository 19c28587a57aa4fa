//! Record: the next status of a machine lists every release that failed on it, as long as the host belongs to this machine.
//! The next leader reads failures only from there. Without the record it would try the release again, and a bad version
//! could harm more machines than `maxFailures` allows.

use alloc::format;

use seaworthy_engine::{Machine, World};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::host::Owner;
use seaworthy_model::machine::{ComponentStatus, MachineStatus};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "record", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if let (Target::Machine(id), Effect::WriteMachineStatus(status)) = (action.target, &action.effect) {
            judge_status(world.machine(id), status, action, findings);
        }
    }
}

fn judge_status(machine: &Machine, status: &MachineStatus, action: &Action, findings: &mut Findings<'_>) {
    if let Some(facts) = machine.host.facts.as_ref() {
        let is_ours = machine.uid().is_some_and(|uid| facts.owner == Owner::Machine(uid));
        let is_same = status.identity.as_ref().is_none_or(|identity| identity.host == facts.host);
        if !(is_ours && is_same) {
            return;
        }
    }
    for failure in machine.failed.iter() {
        let recorded = status.component(failure.component).and_then(ComponentStatus::failed_release);
        if recorded != Some(failure.release) {
            let detail =
                format!("the status omits failed {:?} of {:?}", failure.release.release, failure.component);
            findings.against(action, detail);
        }
    }
}
