//! Fault 24: a host is slow but does not fail: a dying disk, a stolen processor. Everything it does takes several times
//! as long.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
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
        let when = When { at: self.at.clone(), between: self.between };
        for host in plan.targets(self.scope.as_ref(), self.share, &self.hosts) {
            let owner = u64::from(host);
            for (occurrence, from) in plan.times(&when, owner).into_iter().enumerate() {
                let occurrence = occurrence as u64;
                let lasting = plan.within(self.lasting.0, owner, word("lasting") ^ occurrence);
                let drawn = plan.below(owner, word("factor") ^ occurrence, u64::from(self.factor).max(2) - 1);
                let factor = u16::try_from(drawn).unwrap_or(u16::MAX).saturating_add(2);
                plan.strike(from, Some(lasting), (Injection::Slow(host, factor), Injection::Slow(host, 1)));
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        super::missing_target(fleet, self.scope.as_ref(), &self.hosts)
    }
}
