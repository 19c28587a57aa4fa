//! Nodes are not ready for a while, again and again, although their kubelets are connected: an overloaded container
//! runtime, a slow disk. What they report is true.

use serde::Deserialize;

use super::{Aim, Model, Plan, When};
use crate::vocabulary::{Fleet, Injection, Portion, Range, Scheduled, Scope, Window};

/// Nodes become not ready and ready again, repeatedly.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeFlaps {
    /// The part of the fleet whose Nodes are affected. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the Nodes in `scope` that are affected. All Nodes in `scope` if omitted, or none if `scope` is
    /// omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The Nodes that are affected in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The time for which a Node is ready in between.
    pub every: Range,
    /// The time for which a Node is not ready.
    pub lasting: Range,
    /// The window in which Nodes are affected, `[from, to]` since the start of the run, or since the fault's trigger
    /// fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
}

impl NodeFlaps {
    fn aim(&self) -> Aim<'_> {
        Aim { scope: self.scope.as_ref(), share: self.share, hosts: &self.hosts, when: When::default() }
    }
}

impl Model for NodeFlaps {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for host in plan.targets(&self.aim()) {
            for (at, until) in plan.windows(self.every, self.lasting, self.between, u64::from(host)) {
                let end = Some((until, Injection::Recover(host)));
                plan.add(Scheduled { at, injection: Injection::Sicken(host), end });
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        self.aim().problem(fleet)
    }
}
