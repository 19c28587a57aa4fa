//! Fault 20: a failure domain fails as one: a zone loses its power, a rack its switch. It returns all at once.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::host_down::Loses;
use super::{Model, Plan, When};
use crate::vocabulary::{Fleet, Length, Range, Scope};

/// A part of the fleet goes down as one, and returns as one.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DomainDown {
    /// The part of the fleet that goes down.
    pub scope: Scope,
    /// The times at which it goes down, since the start of the run, or since the fault's trigger fired. If `at` and
    /// `between` are omitted, it goes down when the trigger of the fault fires, or without a trigger at a random time
    /// before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn at which it goes down, in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The duration of the outage. Forever if omitted.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What the hosts lose. Power if omitted.
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
