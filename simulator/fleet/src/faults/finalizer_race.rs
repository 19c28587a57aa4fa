//! Fault 14: another controller puts its finalizer on a Machine and removes it late; or a user removes the operator's
//! finalizer by force.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
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
        plan.each_target(&aim!(self), |plan, target| {
            let (host, from) = (target.host, target.at);
            if self.does == Interference::RemovesOurs {
                return plan.at(from, Injection::StripFinalizer(host));
            }
            let for_ever = plan.quiet().since(from);
            let lasting = self.lasting.map_or(for_ever, |range| plan.lasting(range, target));
            let pair = (Injection::AddFinalizer(host), Injection::DropFinalizer(host));
            plan.strike(from, Some(lasting), pair);
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
