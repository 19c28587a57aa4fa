//! Hosts lose their power or the network for a while, or for ever.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Hosts that go down.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostDown {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What share of all hosts.
    #[serde(default)]
    pub share: Portion,
    /// These hosts, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times since the start.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each host at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long; for ever when left out.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What is lost.
    #[serde(default)]
    pub loses: Loses,
}

/// What a host loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Loses {
    /// Power: what was under way is cut short.
    #[default]
    Power,
    /// The network: what was under way goes on.
    Network,
}

impl Loses {
    /// The injection of the loss, and the one that ends it.
    pub(super) const fn injections(self, host: u32) -> (Injection, Injection) {
        match self {
            Self::Power => (Injection::PowerOff(host), Injection::PowerOn(host)),
            Self::Network => (Injection::Cut(host), Injection::Mend(host)),
        }
    }
}

impl Model for HostDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        plan.each_target(&aim!(self), |plan, target| {
            let lasting = self.lasting.map(|range| plan.lasting(range, target));
            plan.strike(target.at, lasting, self.loses.injections(target.host));
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
