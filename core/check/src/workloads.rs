//! Workloads: a rollout grants a machine that serves its turn only for a change that does no more to its workloads than its
//! strategy allows, and its batches wait for machines that cannot be drained, except for as many as it says.

use alloc::format;
use alloc::vec::Vec;

use seaworthy_engine::{Machine, RolloutState, World};
use seaworthy_model::component::Disruption;
use seaworthy_model::id::VersionId;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Turn;
use seaworthy_model::strategy::Strategy;

use crate::invariant::{Findings, Invariant, recorded};

pub(crate) const INVARIANT: Invariant = Invariant { name: "workloads", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let Some((owner, status)) = recorded(action) else { continue };
        let strategy = world.charter(owner).and_then(|charter| charter.strategy);
        for state in world.fleet.rollouts.iter().filter(|state| state.owner == owner) {
            let is_same = |new: &&Rollout| {
                (new.component, new.generation) == (state.record.component, state.record.generation)
            };
            let Some(new) = status.rollouts.iter().find(is_same) else { continue };
            let Some(course) = &state.record.course else { continue };
            let strategy = strategy.unwrap_or(&course.strategy);
            if goes_on(&state.record, new) && !new.is_reverted() {
                let (left, limit) =
                    (state.counts.undrained(), strategy.undrainable.skipped_of(state.counts.total()));
                if left > limit {
                    let words =
                        format!("it goes on, and {left} machines cannot be drained, which is beyond {limit}");
                    findings.against(action, words);
                }
            }
            if let Some(machine) = disturbed(world, state, (new, strategy)) {
                let words =
                    format!("machine {} is granted its turn for more than is allowed there", machine.id.0);
                findings.against(action, words);
            }
        }
    }
}

/// Whether a new record permits the next batch, or completes the rollout.
const fn goes_on(old: &Rollout, new: &Rollout) -> bool {
    (new.admitted_below > old.admitted_below && old.admitted_below > 0)
        || (new.completed_at.is_some() && old.completed_at.is_none())
}

/// A machine that serves and is granted its turn now, for a change that does more than the strategy allows.
fn disturbed<'w>(
    world: &'w World,
    state: &RolloutState,
    (new, strategy): (&Rollout, &Strategy),
) -> Option<&'w Machine> {
    let limit = strategy.at_most?;
    let old = state.record.granted.as_deref().unwrap_or_default();
    let fresh = new.granted.iter().flatten().filter(|rank| !old.contains(rank));
    let fresh: Vec<u32> = fresh.copied().collect();
    if fresh.is_empty() {
        return None;
    }
    let comes = new.target().version();
    let class =
        |version: VersionId| world.version_spec(version).map_or(Disruption::None, |spec| spec.disruption);
    let exceeds = |machine: &Machine| {
        let goes = machine.installed(new.component).map(|installed| installed.version);
        goes.into_iter().chain(comes).any(|version| class(version) > limit)
    };
    let mut machines = world.machines().map(|(_, machine)| machine);
    machines.find(|machine| {
        let is_granted = machine.uid().is_some_and(|uid| fresh.contains(&state.key.rank(uid)));
        is_granted && machine.was_set_up() && !machine.is_spared() && exceeds(machine)
    })
}
