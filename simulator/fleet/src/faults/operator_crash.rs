//! Fault 4: the operator process dies, and another one starts in its place. Messages that it had sent stay on their
//! way.

use serde::Deserialize;

use super::{Chance, Model, Plan, When};
use crate::vocabulary::{Injection, Length, OrderFate, Portion, Reply, RequestFate, Side, Window};

/// The operator crashes: at given times, and at a share of its write points. A write point is a write to the API
/// server, except renewals of the Lease, or an order to a host. The crash comes just before the write is sent, or after
/// it took effect and before the reply.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorCrash {
    /// The times at which the operator in `seat` crashes, since the start of the run, or since the fault's trigger
    /// fired. If `at` and `share` are omitted, it crashes when the trigger of the fault fires.
    #[serde(default)]
    pub at: Vec<Length>,
    /// The share of write points at which an operator crashes. None if omitted.
    #[serde(default)]
    pub share: Portion,
    /// The window in which the operator crashes at write points, `[from, to]` since the start of the run. Any time
    /// before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The seat of the operator that crashes at the times of `at`. 0 if omitted. Crashes at write points concern all
    /// seats.
    #[serde(default)]
    pub seat: u32,
    /// The side of a write point at which the operator crashes. A side drawn for each crash if omitted.
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
