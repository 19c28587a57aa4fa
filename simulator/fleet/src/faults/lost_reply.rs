//! Fault 5: a write is committed, but its reply is lost, so the operator cannot know the result.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Reply, RequestFate, Window};

/// The API server's replies to writes of operators are lost, although the writes are committed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostReply {
    /// The share of writes whose replies are lost. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which replies are lost, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for LostReply {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if fate.reply == Reply::Comes && chance.hits(self.between, self.share.0) {
            fate.reply = Reply::Lost;
        }
    }
}
