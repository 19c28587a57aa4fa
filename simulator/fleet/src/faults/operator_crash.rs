//! The operator process dies, and another is started in its place. What it had sent keeps its fate.

use serde::Deserialize;

use super::{Chance, Model, OrderFate, Plan, RequestFate, Window};
use crate::scenario::{Length, Portion};
use crate::world::{Injection, Reply, START};

/// Crashes of the operator: at simple times, and at a share of its write points (each write to the API server and each
/// order to a host), just before it is sent, or after it took effect and before the reply.
#[derive(Clone, Debug, Deserialize)]
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
}

impl Model for OperatorCrash {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for at in &self.at {
            let at = START + at.0;
            if at < plan.quiet() {
                plan.at(at, Injection::Crash { seat: self.seat });
            }
        }
    }

    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if chance.hits(self.between, self.share.0) {
            if chance.below("side", 2) == 0 {
                fate.crashes_before = true;
            } else {
                fate.reply = Reply::SenderCrashes;
            }
        }
    }

    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        if chance.hits(self.between, self.share.0) {
            if chance.below("side", 2) == 0 {
                fate.crashes_before = true;
            } else {
                fate.crashes_after = true;
            }
        }
    }
}
