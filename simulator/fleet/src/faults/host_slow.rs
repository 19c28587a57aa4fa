//! Fault 24: a host is slow but does not fail: a dying disk, a stolen processor. Everything it does takes several times
//! as long.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Hosts are slow for a while.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostSlow {
    /// The part of the fleet whose hosts are slow. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the hosts in `scope` that are slow. All hosts in `scope` if omitted, or none if `scope` is omitted
    /// too.
    #[serde(default)]
    pub share: Portion,
    /// The hosts that are slow in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the hosts become slow, since the start of the run, or since the fault's trigger fired. If
    /// `at` and `between` are omitted, they become slow when the trigger of the fault fires, or without a trigger at a
    /// random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each host, at which it becomes slow, in
    /// addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The time for which a host is slow.
    pub lasting: Range,
    /// The largest factor by which everything on a host takes longer. The factor of each host is drawn from 2 to this
    /// value.
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
