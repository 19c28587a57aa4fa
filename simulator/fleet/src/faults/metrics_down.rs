//! Fault 20: the metrics of the cluster cannot be asked for a while: Prometheus is down, or its Service has no endpoints.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// Nobody answers the questions of gates about metrics for a while.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricsDown {
    /// The times at which questions begin to fail, since the start of the run, or since the fault's trigger fired. If
    /// `at` and `between` are omitted, they begin to fail when the trigger of the fault fires, or without a trigger at
    /// a random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn at which questions begin to fail, in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The duration of the outage.
    pub lasting: Range,
}

impl Model for MetricsDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        for (occurrence, from) in plan.times(&when, 0).into_iter().enumerate() {
            let lasting = plan.within(self.lasting.0, 0, word("lasting") ^ occurrence as u64);
            let until = (from + lasting).min(plan.quiet());
            plan.at(from, Injection::MetricsDown(until));
        }
    }
}
