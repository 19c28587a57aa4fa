//! Patience: no contact and no write is retried before its back-off has passed. So a thing that keeps failing costs a
//! bounded number of attempts.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "patience", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let retry = match (&action.effect, action.target) {
            (Effect::WriteNodeAttributes(_), Target::Node(id)) => world.retry_of_attributes(id),
            // Gates have a time of their own: `gate` judges them.
            (Effect::StartProbe(_), _) => None,
            (_, target) => world.retry(target),
        };
        if let Some(retry) = retry.filter(|retry| retry.not_before > world.now()) {
            findings.against(
                action,
                format!("tried again before {:?}, after {} failures", retry.not_before, retry.failures),
            );
        }
    }
}
