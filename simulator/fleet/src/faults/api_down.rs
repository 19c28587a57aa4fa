//! Fault 9: the API server does not answer for a while (an upgrade, an etcd without a leader), and comes back all at once.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// Times in which no request, list or watch of an operator gets through.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiDown {
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long.
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
