//! Fault 19: the status of a Node is wrong: Ready although the host is dead, not ready although it works, or frozen at
//! its last value.

use serde::Deserialize;

use seaworthy_model::node::Health;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Nodes whose condition is not the truth.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeLies {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What share of the Nodes.
    #[serde(default)]
    pub share: Portion,
    /// These, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long.
    pub lasting: Range,
    /// What it says; one of these.
    #[serde(default)]
    pub says: Says,
}

/// What a Node says that lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Says {
    /// What it said before.
    #[default]
    Same,
    /// Ready.
    Ready,
    /// Not ready.
    NotReady,
    /// That it is not known.
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
