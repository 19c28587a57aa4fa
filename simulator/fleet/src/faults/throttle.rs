//! Fault 9: the API server lets only so many requests of the operator through (priority and fairness, or a client's own
//! limit): a token bucket. The others are answered with 429.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// Times in which the operator's requests are limited.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Throttle {
    /// So many a second, in the long run.
    pub per_second: u32,
    /// So many at once, after a time without any.
    pub burst: u32,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long.
    pub lasting: Range,
}

impl Model for Throttle {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        let (per_second, burst) = (self.per_second.max(1), self.burst);
        for (occurrence, from) in plan.times(&when, 0).into_iter().enumerate() {
            let lasting = plan.within(self.lasting.0, 0, word("lasting") ^ occurrence as u64);
            let until = (from + lasting).min(plan.quiet());
            plan.at(from, Injection::Throttle { per_second, burst, until });
        }
    }
}
