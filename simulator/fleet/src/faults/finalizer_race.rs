//! Fault 14: another controller puts its finalizer on a Machine and removes it late; or a user removes the operator's
//! finalizer by force.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Other clients change the finalizers of Machines.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FinalizerRace {
    /// The part of the fleet whose Machines are affected. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the Machines in `scope` that are affected. All Machines in `scope` if omitted, or none if `scope`
    /// is omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The Machines that are affected in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the finalizers are changed, since the start of the run, or since the fault's trigger fired.
    /// If `at` and `between` are omitted, they are changed when the trigger of the fault fires, or without a trigger at
    /// a random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each Machine, at which its finalizers are
    /// changed, in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The time for which the other controller's finalizer stays. Until the quiet phase if omitted.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// The change of the finalizers. `adds` if omitted.
    #[serde(default)]
    pub does: Interference,
}

/// A change of the finalizers of a Machine by another client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Interference {
    /// Another controller adds its finalizer, and removes it later.
    #[default]
    Adds,
    /// Somebody removes the operator's finalizer.
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
