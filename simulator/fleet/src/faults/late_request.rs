//! Fault 6: a request to the API server is delayed for longer than the operator waits. It is executed nevertheless.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Range, RequestFate, Window};

/// Requests to the API server arrive late, and are still executed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LateRequest {
    /// The share of requests that arrive late. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which requests are delayed, `[from, to]` since the start of the run. Any time before the quiet
    /// phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The delay of a request.
    pub by: Range,
}

impl Model for LateRequest {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if chance.hits(self.between, self.share.0) {
            fate.late = fate.late.max(chance.within("by", self.by.0));
        }
    }
}
