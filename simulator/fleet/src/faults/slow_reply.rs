//! Fault 12: the reply to a write arrives after the watch has shown the change, as with the real API server: the two
//! channels are independent.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, Range, Reply, RequestFate, Window};

/// Replies of the API server arrive after watches have shown the change.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlowReply {
    /// The share of replies that are late. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which replies are delayed, `[from, to]` since the start of the run. Any time before the quiet
    /// phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The time by which a reply is later than usual.
    pub by: Range,
}

impl Model for SlowReply {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if fate.reply == Reply::Comes && chance.hits(self.between, self.share.0) {
            fate.reply = Reply::Late(chance.within("by", self.by.0));
        }
    }
}
