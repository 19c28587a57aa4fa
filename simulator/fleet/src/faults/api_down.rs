//! Fault 9: the API server does not answer for a while (an upgrade, an etcd without a leader), and comes back all at once.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// The API server does not answer for a while: no request, list or watch of an operator gets through.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiDown {
    /// The times at which the API server goes down, since the start of the run, or since the fault's trigger fired. If
    /// `at` and `between` are omitted, it goes down when the trigger of the fault fires, or without a trigger at a
    /// random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn at which the API server goes down, in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The duration of the outage.
    pub lasting: Range,
}

impl Model for ApiDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        for (occurrence, from) in plan.times(&when, 0).into_iter().enumerate() {
            let lasting = plan.within(self.lasting.0, 0, word("lasting") ^ occurrence as u64);
            let until = (from + lasting).min(plan.quiet());
            plan.at(from, Injection::ApiDown(until));
        }
    }
}
