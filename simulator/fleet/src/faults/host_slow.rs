//! Fault 24: a host is slow but does not fail: a dying disk, a stolen processor. Everything it does takes several times
//! as long.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Hosts that are slow.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostSlow {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What share of the hosts.
    #[serde(default)]
    pub share: Portion,
    /// These hosts, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each host at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long.
    pub lasting: Range,
    /// How many times as long everything takes, at most.
    pub factor: u16,
}

impl Model for HostSlow {
    fn schedule(&self, plan: &mut Plan<'_>) {
        plan.each_target(&aim!(self), |plan, target| {
            let (host, lasting) = (target.host, plan.lasting(self.lasting, target));
            let (key, factors) = (word("factor") ^ target.occurrence, u64::from(self.factor).max(2) - 1);
            let drawn = plan.below(u64::from(host), key, factors);
            let factor = u16::try_from(drawn).unwrap_or(u16::MAX).saturating_add(2);
            plan.strike(target.at, Some(lasting), (Injection::Slow(host, factor), Injection::Slow(host, 1)));
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
