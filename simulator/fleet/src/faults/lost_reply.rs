//! Fault 5: a write is committed, but its reply is lost, so the operator cannot know the result.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Reply, RequestFate, Window};

/// Writes to the API server whose reply never comes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostReply {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
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
