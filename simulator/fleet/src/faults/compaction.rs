//! Fault 10: the history is compacted and every watch breaks. A watch that asks for a compacted version gets 410 and
//! lists again; all watches do so at once.

use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Injection, Range, Window};

/// Compactions beyond the usual ones.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compaction {
    /// From one to the next.
    pub every: Range,
    /// When.
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
