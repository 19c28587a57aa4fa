//! One holder: while the Lease names another process, or while our last renewal is so old that it may, nothing is ordered
//! but work on the Lease itself. The check reads the Lease and the clock, not what the engine concludes from them.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::Target;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "holding", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let leadership = &world.leadership;
    let other = leadership.other_holder();
    let deadline = leadership.confirmed.map(|since| since + leadership.renew_deadline);
    for action in &turn.actions {
        if matches!(action.target, Target::Driver | Target::Lease) {
            continue;
        }
        if let Some(other) = other {
            let words = format!("{:?} ordered while the Lease is held by {}", action.target, other.holder);
            findings.against(action, words);
        }
        if deadline.is_none_or(|deadline| world.now() >= deadline) {
            let words = format!("{:?} ordered, the Lease last renewed at", action.target);
            findings.against(action, format!("{words} {:?}", leadership.confirmed));
        }
    }
}
