//! Reasons to reconcile every machine of a fleet once: nothing to do, everything to do, and everything blocked.

use seaworthy_engine::Engine;
use seaworthy_model::effect::Target;
use seaworthy_model::quantity::CountOrPercent::{self, Count, Percent};
use seaworthy_model::report::WakeReason;
use seaworthy_model::time::Timestamp;

use crate::Fleet;

/// The result of reconciling everything in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// The number of reconciled subjects.
    pub subjects: u32,
    /// The number of orders to hosts.
    pub orders: usize,
}

/// Reconciles until the queue is empty. The actions are not executed.
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

/// A reason to reconcile every machine of a settled fleet, and the expected result.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    max_unavailable: CountOrPercent,
    edit: fn(&mut Fleet),
    /// The expected number of orders to hosts, which proves that the benchmark measures what it claims.
    orders: fn(u32) -> u32,
}

impl Case {
    /// Every Machine has a change that does not matter to the engine.
    pub const NO_OP: Self =
        Self { name: "no_op", max_unavailable: Percent(100), edit: Fleet::touch, orders: |_| 0 };
    /// Every Machine wants another version, and the budget allows all.
    pub const DIFF: Self =
        Self { name: "diff", max_unavailable: Percent(100), edit: Fleet::pin, orders: |size| size };
    /// Every Machine wants another version, and the budget allows one at a time.
    pub const BLOCKED: Self =
        Self { name: "blocked", max_unavailable: Count(1), edit: Fleet::pin, orders: |_| 1 };

    /// An engine with every machine of a fleet of this size in its queue, and the simulated time.
    ///
    /// # Panics
    /// The result is not the expected one, which is a bug of the engine.
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
