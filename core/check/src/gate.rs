//! Gates: a rollout with a strategy permits the next batch only once the machines of the last one were watched for its bake
//! time, and not after its gate has failed, unless people let it go on. It takes a release back only if its strategy says
//! so, and there is something to go back to.

use alloc::borrow::ToOwned;

use seaworthy_engine::{RolloutState, World};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Turn;
use seaworthy_model::strategy::{Course, OnFailure};

use crate::invariant::{Findings, Invariant, recorded};

pub(crate) const INVARIANT: Invariant = Invariant { name: "gate", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let Some((owner, status)) = recorded(action) else { continue };
        for state in world.fleet.rollouts.iter().filter(|state| state.owner == owner) {
            let is_same = |new: &&Rollout| {
                (new.component, new.generation) == (state.record.component, state.record.generation)
            };
            let Some(new) = status.rollouts.iter().find(is_same) else { continue };
            if let Some(wrong) = objection(world, state, new) {
                findings.against(action, wrong.to_owned());
            }
        }
    }
}

/// What is wrong with the new record of a rollout.
fn objection(world: &World, state: &RolloutState, new: &Rollout) -> Option<&'static str> {
    let old = &state.record;
    let course = old.course.as_ref()?;
    let Some(next) = new.course.as_ref() else { return Some("its course is lost") };
    if next.reverted_at.is_some() && course.reverted_at.is_none() {
        let may_revert = course.strategy.on_failure == OnFailure::RollBack && next.failure.is_some();
        return (!may_revert || new.from.is_none())
            .then_some("it is reverted, which its strategy does not say");
    }
    if next.reverted_at != course.reverted_at {
        return Some("it is not reverted any more");
    }
    let is_next = new.admitted_below > old.admitted_below && old.admitted_below > 0;
    if course.failure.is_some() && next.failure.is_none() && !is_overridden(world, state, course) {
        return Some("its gate has failed, and is forgotten");
    }
    (is_next && course.failure.is_none() && !is_baked(world, state, course))
        .then_some("the next batch is permitted before the machines of the last one were watched")
}

/// Whether people let the rollout go on in spite of this gate.
fn is_overridden(world: &World, state: &RolloutState, course: &Course) -> bool {
    let record = &state.record;
    world.charter(state.owner).and_then(|charter| charter.resume).is_some_and(|resume| {
        (resume.component, resume.generation, resume.batch)
            == (record.component, record.generation, course.batch)
    })
}

/// Whether the machines of the batch were watched for long enough, or none was changed.
fn is_baked(world: &World, state: &RolloutState, course: &Course) -> bool {
    let bake = if course.batch <= 1 { course.strategy.first_bake } else { course.strategy.bake };
    let is_over = course.done_at.is_some_and(|done_at| done_at + bake <= world.now());
    is_over || state.counts.updated() + state.counts.failed == 0
}
