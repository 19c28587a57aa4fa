//! Reasons to judge every machine of a fleet once: nothing to do, everything to do, and everything held back.

use seaworthy_engine::Engine;
use seaworthy_model::effect::Target;
use seaworthy_model::quantity::CountOrPercent::{self, Count, Percent};
use seaworthy_model::report::WakeReason;
use seaworthy_model::time::Timestamp;

use crate::Fleet;

/// What came of judging everything that was in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// So many subjects were looked at.
    pub subjects: u32,
    /// So many orders to hosts came of it.
    pub orders: usize,
}

/// Reconciles until nothing is left to be looked at. The actions are not executed.
pub fn judge(engine: &mut Engine, now: Timestamp) -> Judged {
    let mut judged = Judged::default();
    loop {
        let turn = engine.reconcile(now);
        judged.subjects += turn.report.reconciled;
        judged.orders +=
            turn.actions.iter().filter(|action| matches!(action.target, Target::Host(_))).count();
        if turn.wake.is_none_or(|wake| wake.reason != WakeReason::MoreWork) {
            return judged;
        }
    }
}

/// A reason to look at every machine of a settled fleet, and what has to come of it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    max_unavailable: CountOrPercent,
    edit: fn(&mut Fleet),
    /// How many orders to hosts must come of it, so that the benchmark measures what it claims.
    orders: fn(u32) -> u32,
}

impl Case {
    /// Every Machine has changed in something that does not concern us.
    pub const NO_OP: Self =
        Self { name: "no_op", max_unavailable: Percent(100), edit: Fleet::touch, orders: |_| 0 };
    /// Every Machine has another version to get, and may have it.
    pub const DIFF: Self =
        Self { name: "diff", max_unavailable: Percent(100), edit: Fleet::pin, orders: |size| size };
    /// Every Machine has another version to get, one at a time.
    pub const BLOCKED: Self =
        Self { name: "blocked", max_unavailable: Count(1), edit: Fleet::pin, orders: |_| 1 };

    /// An engine that has everything to judge of a fleet of this size, and the time there.
    ///
    /// # Panics
    /// Not what is claimed comes of it: a fault of the engine.
    #[must_use]
    pub fn engine(&self, size: u32) -> (Engine, Timestamp) {
        let (mut fleet, mut engine) = Fleet::settled(size, self.max_unavailable);
        (self.edit)(&mut fleet);
        fleet.machines().into_iter().for_each(|event| engine.observe(event));
        let judged = judge(&mut engine.clone(), fleet.now);
        assert!(judged.subjects >= size, "{} at {size}: {judged:?}", self.name);
        assert_eq!(judged.orders, (self.orders)(size) as usize, "{} at {size}: {judged:?}", self.name);
        (engine, fleet.now)
    }
}
