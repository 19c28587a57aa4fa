//! Fault 20: a failure domain fails as one: a zone loses its power, a rack its switch. It returns all at once.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::host_down::Loses;
use super::{Model, Plan, When};
use crate::vocabulary::{Fleet, Length, Range, Scope};

/// A part of the fleet that goes down at one time.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DomainDown {
    /// Which part.
    pub scope: Scope,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long; for ever when left out.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What is lost.
    #[serde(default)]
    pub loses: Loses,
}

impl Model for DomainDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        let hosts = plan.hosts_in(&self.scope);
        for (occurrence, from) in plan.times(&when, 0).into_iter().enumerate() {
            let key = word("lasting") ^ occurrence as u64;
            let lasting = self.lasting.map(|range| plan.within(range.0, 0, key));
            for &host in &hosts {
                plan.strike(from, lasting, self.loses.injections(host));
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        self.scope.problem(fleet)
    }
}
