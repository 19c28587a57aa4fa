//! Fault 6: a request to the API server is delayed for longer than the operator waits. It is executed nevertheless.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Range, RequestFate, Window};

/// Requests to the API server that arrive late.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LateRequest {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// By how much.
    pub by: Range,
}

impl Model for LateRequest {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if chance.hits(self.between, self.share.0) {
            fate.late = fate.late.max(chance.within("by", self.by.0));
        }
    }
}
