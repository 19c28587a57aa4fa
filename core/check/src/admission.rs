//! Admission: a threshold never falls. Raising it admits no more machines than there are free slots, and no more than may
//! still fail. The record of a rollout stays as long as machines are being worked on for it.

use alloc::format;

use seaworthy_engine::{RolloutState, World};
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "admission", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let (Target::PackageVersion, Effect::WritePackageVersionStatus(status)) =
            (action.target, &action.effect)
        else {
            continue;
        };
        // The controller of the defaults decided last, so the world is still as it saw it.
        let free = world.slots().saturating_sub(world.occupied());
        let mut admitted = 0;
        for state in &world.fleet.rollouts {
            let same = |new: &&Rollout| {
                new.component == state.record.component && new.generation == state.record.generation
            };
            let Some(new) = status.rollouts.iter().find(same) else {
                if state.counts.unresolved > 0 {
                    let detail = format!(
                        "the record of {:?} goes, and {} machines are still being worked on",
                        state.record.component, state.counts.unresolved
                    );
                    findings.against(action, detail);
                }
                continue;
            };
            if new.admitted_below < state.record.admitted_below {
                findings.against(action, format!("the threshold of {:?} falls", new.component));
            }
            let batch = admits(world, state, new.admitted_below);
            let room = state.counts.room(world.failures_max());
            if batch > room {
                findings.against(action, format!("{batch} are admitted, and {room} may be at work"));
            }
            admitted += batch;
        }
        if admitted > free {
            findings.against(action, format!("{admitted} are admitted to {free} free slots"));
        }
    }
}

/// How many more machines that can be worked on the threshold admits. Machines of one rank count as one, because no
/// threshold can separate them.
fn admits(world: &World, state: &RolloutState, below: u32) -> u32 {
    let mut last = None;
    let mut count = 0;
    for &(rank, id) in state.waiting.iter().take_while(|(rank, _)| *rank < below) {
        let machine = world.machine(id);
        let is_able = machine.host.unreachable_since.is_none() && machine.blocked.is_none();
        if is_able && last != Some(rank) {
            last = Some(rank);
            count += 1;
        }
    }
    count
}
