//! Fault 19: somebody who is root on a host makes it report what is not true.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, HostLie, Injection, Length, Portion, Range, Scope};

/// Hosts report what is not true.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostLies {
    /// The part of the fleet whose hosts lie. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the hosts in `scope` that lie. All hosts in `scope` if omitted, or none if `scope` is omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The hosts that lie in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the hosts begin to lie, since the start of the run, or since the fault's trigger fired. If `at`
    /// and `between` are omitted, they begin to do so when the trigger of the fault fires, or without a trigger at a random
    /// time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each host, at which it begins to lie, in
    /// addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The time for which a host lies.
    pub lasting: Range,
    /// The lies, of which one is drawn each time. All but `failed` and `machineId` if omitted.
    #[serde(default)]
    pub about: Vec<HostLie>,
}

impl Model for HostLies {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let about = if self.about.is_empty() { &HostLie::HARMLESS[..] } else { &self.about };
        plan.each_target(&aim!(self), |plan, target| {
            let (host, lasting) = (target.host, plan.lasting(self.lasting, target));
            let index = plan.below(u64::from(host), word("about") ^ target.occurrence, about.len() as u64);
            if let Some(lie) = about.get(usize::try_from(index).unwrap_or_default()) {
                let both = (Injection::Pretend(host, *lie), Injection::Honest(host));
                plan.strike(target.at, Some(lasting), both);
            }
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
