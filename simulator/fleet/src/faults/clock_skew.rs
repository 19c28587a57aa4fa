//! Fault 16: the clock of an operator process is ahead or behind, leaps, or runs fast or slow.

use seaworthy_kernel::Share;
use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Skew};

/// A clock that is wrong from some time on. When it becomes quiet it is set right, but a process that runs already never
/// sees its clock go back.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockSkew {
    /// Of which replica.
    #[serde(default)]
    pub seat: u32,
    /// From then on. When a process runs then, its clock leaps.
    #[serde(default)]
    pub at: Length,
    /// It shows so much more.
    #[serde(default)]
    pub ahead: Length,
    /// It shows so much less.
    #[serde(default)]
    pub behind: Length,
    /// It gains so much.
    #[serde(default)]
    pub fast: Portion,
    /// It loses so much.
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
