//! Fault 10: the history is compacted and every watch breaks. A watch that asks for a compacted version gets 410 and
//! lists again; all watches do so at once.

use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Injection, Range, Window};

/// The history is compacted more often than usual, and every watch breaks.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compaction {
    /// The interval between two compactions.
    pub every: Range,
    /// The window in which compactions happen, `[from, to]` since the start of the run, or since the fault's trigger
    /// fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for Compaction {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for (at, _) in plan.windows(self.every, Range::NOTHING, self.between, 0) {
            plan.at(at, Injection::Compact);
        }
    }
}
