//! Authority: the operator acts only while it holds the Lease and has a complete view of the store, and not while that
//! store is set back (restored from an older state). Until then it orders nothing from hosts and raises no threshold.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::id::StoreId;
use seaworthy_model::report::{Blocker, Turn};

use crate::invariant::{Findings, Invariant, recorded};

pub(crate) const INVARIANT: Invariant = Invariant { name: "authority", judge };

/// Why nothing may be ordered in a store: not asked of the engine's own gate, which is what is judged here.
fn gate(world: &World, store: StoreId) -> Option<Blocker> {
    world.leadership.gate().or_else(|| world.stores.unsynced(store).map(Blocker::NotSynced))
}

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let is_about_objects = |action: &&Action| !matches!(action.target, Target::Driver | Target::Lease);
    for action in turn.actions.iter().filter(is_about_objects) {
        let Some(gate) = gate(world, action.store) else { continue };
        let is_regressed = matches!(gate, Blocker::StoreRegressed { .. });
        let is_allowed = match (&action.target, &action.effect) {
            // To report that nothing is done is not to act.
            (Target::Machine(_), Effect::WriteMachineStatus(_)) => is_regressed,
            (_, _) => recorded(action).is_some_and(|(owner, status)| {
                let known = world.charter(owner).map(|charter| &charter.status.rollouts);
                is_regressed && known == Some(&status.rollouts)
            }),
        };
        if !is_allowed {
            findings.against(action, format!("{:?} ordered although {}", action.target, gate.name()));
        }
    }
}
