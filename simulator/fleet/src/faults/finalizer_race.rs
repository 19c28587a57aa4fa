//! Fault 14: another controller puts its finalizer on a Machine and removes it late; or a user removes the operator's
//! finalizer by force.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Machines whose finalizers others change.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FinalizerRace {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What share of the machines.
    #[serde(default)]
    pub share: Portion,
    /// These machines, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long the other finalizer stays.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What is done.
    #[serde(default)]
    pub does: Interference,
}

/// What is done to the finalizers of a Machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Interference {
    /// Another one is added, and removed later.
    #[default]
    Adds,
    /// Ours is removed.
    RemovesOurs,
}

impl Model for FinalizerRace {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        for host in plan.targets(self.scope.as_ref(), self.share, &self.hosts) {
            for (occurrence, from) in plan.times(&when, u64::from(host)).into_iter().enumerate() {
                if self.does == Interference::RemovesOurs {
                    plan.at(from, Injection::StripFinalizer(host));
                    continue;
                }
                let key = word("lasting") ^ occurrence as u64;
                let lasting = self
                    .lasting
                    .map_or(plan.quiet().since(from), |range| plan.within(range.0, u64::from(host), key));
                let pair = (Injection::AddFinalizer(host), Injection::DropFinalizer(host));
                plan.strike(from, Some(lasting), pair);
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        super::missing_target(fleet, self.scope.as_ref(), &self.hosts)
    }
}
