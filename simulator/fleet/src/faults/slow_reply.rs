//! Fault 12: the reply to a write arrives after the watch has shown the change, as with the real API server: the two
//! channels are independent.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Range, Reply, RequestFate, Window};

/// Replies of the API server that watches overtake.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlowReply {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// By how much the reply is later than usual.
    pub by: Range,
}

impl Model for SlowReply {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if fate.reply == Reply::Comes && chance.hits(self.between, self.share.0) {
            fate.reply = Reply::Late(chance.within("by", self.by.0));
        }
    }
}
