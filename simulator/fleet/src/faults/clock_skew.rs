//! Fault 16: the clock of an operator process is ahead or behind, leaps, or runs fast or slow.

use seaworthy_kernel::Share;
use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Skew};

/// The clock of the operator processes in a seat is wrong from some time on. It is set right at the start of the quiet
/// phase, but a process that runs then never sees its clock go back.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockSkew {
    /// The seat of the operator whose clock is wrong. 0 if omitted.
    #[serde(default)]
    pub seat: u32,
    /// The time from which the clock is wrong, since the start of the run, or since the fault's trigger fired. The
    /// clock of a process that runs at this time leaps.
    #[serde(default)]
    pub at: Length,
    /// The time by which the clock is ahead.
    #[serde(default)]
    pub ahead: Length,
    /// The time by which the clock is behind.
    #[serde(default)]
    pub behind: Length,
    /// The rate by which the clock is fast: `1%` gains one second in 100.
    #[serde(default)]
    pub fast: Portion,
    /// The rate by which the clock is slow: `1%` loses one second in 100. At most 50%.
    #[serde(default)]
    pub slow: Portion,
}

const SLOW_MAX: Share = Share(Share::ALL.0 / 2);

impl Model for ClockSkew {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let skew =
            Skew { ahead: self.ahead.0, behind: self.behind.0, fast: self.fast.0.0, slow: self.slow.0.0 };
        let (from, seat) = (plan.origin() + self.at.0, self.seat);
        if from >= plan.quiet() {
            return;
        }
        let (on, off) = (Injection::Skew { seat, skew }, Injection::Skew { seat, skew: Skew::default() });
        plan.strike(from, Some(plan.quiet().since(from)), (on, off));
    }

    fn out_of_range(&self, _fleet: &Fleet) -> Option<String> {
        (self.slow.0.0 > SLOW_MAX.0).then(|| "slow: at most 50%, or nothing would ever come".into())
    }
}
