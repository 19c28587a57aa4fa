//! Fault 15: an operator process is suspended: stopped, starved, or its virtual machine is migrated. When it continues,
//! it does not know how much time has passed; another process may lead by then.

use seaworthy_kernel::word;
use serde::Deserialize;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range, Window};

/// Pauses of a process: at simple times, and again and again.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessPause {
    /// Of which replica; of the one that leads then, when left out.
    #[serde(default)]
    pub seat: Option<u32>,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// From the end of one pause to the next.
    #[serde(default)]
    pub every: Option<Range>,
    /// How long a pause lasts.
    pub lasting: Range,
    /// When, as to those that repeat.
    #[serde(default)]
    pub between: Window,
}

impl Model for ProcessPause {
    fn schedule(&self, plan: &mut Plan<'_>) {
        if let Some(every) = self.every {
            for (from, until) in plan.windows(every, self.lasting, self.between, word("pause")) {
                plan.at(from, Injection::Pause { seat: self.seat, until });
            }
            if self.at.is_empty() {
                return;
            }
        }
        let when = When { at: self.at.clone(), between: None };
        for (number, from) in (0u64..).zip(plan.times(&when, 0)) {
            let until = (from + plan.within(self.lasting.0, word("at"), number)).min(plan.quiet());
            plan.at(from, Injection::Pause { seat: self.seat, until });
        }
    }
}
