//! Fault 19: the status of a Node is wrong: Ready although the host is dead, not ready although it works, or frozen at
//! its last value.

use serde::Deserialize;

use seaworthy_model::node::Health;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Nodes report a wrong condition.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeLies {
    /// The part of the fleet whose Nodes report a wrong condition. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the Nodes in `scope` that report a wrong condition. All Nodes in `scope` if omitted, or none if
    /// `scope` is omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The Nodes that report a wrong condition in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the Nodes begin to report it, since the start of the run, or since the fault's trigger fired.
    /// If `at` and `between` are omitted, they begin to do so when the trigger of the fault fires, or without a trigger
    /// at a random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each Node, at which it begins to report it,
    /// in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The time for which a Node reports the condition.
    pub lasting: Range,
    /// The condition that the Node reports. `same` if omitted.
    #[serde(default)]
    pub says: Says,
}

/// The condition that a Node reports, whether or not it is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Says {
    /// The Node continues to report its last condition.
    #[default]
    Same,
    /// The Node reports Ready as True.
    Ready,
    /// The Node reports Ready as False.
    NotReady,
    /// The Node reports Ready as Unknown.
    Unknown,
}

impl Model for NodeLies {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let says = match self.says {
            Says::Same => None,
            Says::Ready => Some(Health::Healthy),
            Says::NotReady => Some(Health::Unhealthy),
            Says::Unknown => Some(Health::Unknown),
        };
        plan.each_target(&aim!(self), |plan, target| {
            let (host, lasting) = (target.host, plan.lasting(self.lasting, target));
            plan.strike(target.at, Some(lasting), (Injection::Lie(host, says), Injection::Truth(host)));
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
