//! Fault 4: the operator process dies, and another one starts in its place. Messages that it had sent stay on their
//! way.

use serde::Deserialize;

use super::{Chance, Model, Plan, When};
use crate::vocabulary::{Injection, Length, OrderFate, Portion, Reply, RequestFate, Side, Window};

/// Crashes of the operator: at simple times, and at a share of its write points (each write to the API server but
/// renewals of the Lease, and each order to a host), just before it is sent, or after it took effect and before the reply.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorCrash {
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At what share of its write points.
    #[serde(default)]
    pub share: Portion,
    /// When, as to the share.
    #[serde(default)]
    pub between: Window,
    /// Which replica.
    #[serde(default)]
    pub seat: u32,
    /// On which side of a write point; on any when left out.
    #[serde(default)]
    pub side: Option<Side>,
}

impl OperatorCrash {
    fn side(&self, chance: &Chance<'_>) -> Side {
        let drawn = if chance.below("side", 2) == 0 { Side::Before } else { Side::After };
        self.side.unwrap_or(drawn)
    }
}

impl Model for OperatorCrash {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: None };
        // A crash with a trigger, but without times or a share of write points, happens when the trigger fires.
        if self.at.is_empty() && (self.share != Portion::default() || !plan.is_triggered()) {
            return;
        }
        for at in plan.times(&when, 0) {
            plan.at(at, Injection::Crash { seat: self.seat });
        }
    }

    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if !chance.is_renewal && chance.hits(self.between, self.share.0) {
            match self.side(chance) {
                Side::Before => fate.crashes_before = true,
                Side::After => fate.reply = Reply::SenderCrashes,
            }
        }
    }

    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        if chance.hits(self.between, self.share.0) {
            match self.side(chance) {
                Side::Before => fate.crashes_before = true,
                Side::After => fate.crashes_after = true,
            }
        }
    }
}
