//! Fault 9: the API server lets only so many requests of the operator through (priority and fairness, or a client's own
//! limit): a token bucket. The others are answered with 429.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// The API server limits the requests of operators for a while.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Throttle {
    /// The number of requests a second that the API server accepts in the long run. 0 counts as 1.
    pub per_second: u32,
    /// The number of requests that the API server accepts at once, after a time without any.
    pub burst: u32,
    /// The times at which the limit begins, since the start of the run, or since the fault's trigger fired. If `at` and
    /// `between` are omitted, it begins when the trigger of the fault fires, or without a trigger at a random time
    /// before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn at which the limit begins, in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The duration of the limit.
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
