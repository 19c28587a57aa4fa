//! Fault 15: an operator process is suspended: stopped, starved, or its virtual machine is migrated. When it continues,
//! it does not know how much time has passed; another process may lead by then.

use seaworthy_kernel::word;
use serde::Deserialize;

use super::{Model, Plan, When};
use crate::vocabulary::{Injection, Length, Range, Window};

/// Operator processes are suspended: at given times, or repeatedly.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessPause {
    /// The seat of the process that is suspended. The leader at that time if omitted.
    #[serde(default)]
    pub seat: Option<u32>,
    /// The times at which the process is suspended, since the start of the run, or since the fault's trigger fired. If
    /// `at` and `every` are omitted, it is suspended when the trigger of the fault fires, or without a trigger at a
    /// random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// The interval from the end of one pause to the start of the next, if pauses repeat.
    #[serde(default)]
    pub every: Option<Range>,
    /// The duration of a pause.
    pub lasting: Range,
    /// The window in which pauses repeat, if `every` is set, `[from, to]` since the start of the run, or since the
    /// fault's trigger fired. Any time before the quiet phase if omitted.
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
