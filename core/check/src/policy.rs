//! Disruption policies: nothing that disrupts a machine starts, and no machine is granted its turn, while a policy that selects
//! it is paused, frozen or outside its windows.

use alloc::format;

use seaworthy_engine::{Owner, Work, World};
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::PackageVersionStatus;
use seaworthy_model::report::{Blocker, Turn};

use crate::invariant::{Findings, Invariant, recorded, works};

pub(crate) const INVARIANT: Invariant = Invariant { name: "policy", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    if world.policies.iter().all(|(_, policy)| policy.stop.is_none()) {
        return;
    }
    // A machine has several components: an operation may be part of any rollback.
    let rolls_back = world.fleet.rollouts.iter().any(|rollout| rollout.record.goes_back());
    for (action, id, operation) in works(turn) {
        if let Some(blocker) = stop(world, id, rolls_back) {
            findings.against(action, format!("{} starts in spite of {}", operation.id, blocker.name()));
        }
    }
    for action in &turn.actions {
        let Some(record) = recorded(action) else { continue };
        if let Some((id, blocker)) = granted(world, record) {
            findings.against(action, format!("{id:?} is granted its turn in spite of {}", blocker.name()));
        }
    }
}

fn stop(world: &World, id: MachineId, rolls_back: bool) -> Option<Blocker> {
    let machine = world.machine(id);
    world.policy_stop(machine, Work::on(machine, rolls_back))
}

/// The first machine that is granted its turn now and must not start. Of machines with equal ranks one may.
fn granted(world: &World, (owner, status): (Owner, &PackageVersionStatus)) -> Option<(MachineId, Blocker)> {
    let own = world.fleet.rollouts.iter().filter(|state| state.owner == owner);
    let rollouts = own.filter_map(|state| {
        let record = status.rollout(state.record.component)?;
        (record.generation == state.record.generation).then_some((state, record))
    });
    rollouts.into_iter().find_map(|(state, record)| {
        let ranks = record.granted.iter().flatten();
        let new = ranks.filter(|rank| {
            state.record.granted.as_ref().is_some_and(|granted| granted.binary_search(rank).is_err())
        });
        new.into_iter().find_map(|rank| {
            let range = (*rank, MachineId(0))..=(*rank, MachineId(u32::MAX));
            let of_rank = state.waiting.range(range).map(|(_, id)| *id);
            let stops = of_rank.map(|id| stop(world, id, record.goes_back()).map(|blocker| (id, blocker)));
            stops.collect::<Option<alloc::vec::Vec<_>>>()?.into_iter().next()
        })
    })
}
