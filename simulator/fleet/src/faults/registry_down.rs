//! Fault 20: nothing can be downloaded for a while, by any host: the server of artefacts is down, or its certificate ran out.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range};

/// Times in which downloads fail.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryDown {
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long.
    pub lasting: Range,
}

impl Model for RegistryDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        for (occurrence, from) in plan.times(&when, 0).into_iter().enumerate() {
            let lasting = plan.within(self.lasting.0, 0, word("lasting") ^ occurrence as u64);
            let until = (from + lasting).min(plan.quiet());
            plan.at(from, Injection::RegistryDown(until));
        }
    }
}
