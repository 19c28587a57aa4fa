//! Fault 7: another writer changes an object between the operator's reading and its writing: the write is refused as stale.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, RequestFate, Window};

/// Another writer changes a label of an object just before the operator's write arrives, so the write is refused as
/// stale.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conflict {
    /// The share of writes that are affected. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which writes are affected, `[from, to]` since the start of the run. Any time before the quiet
    /// phase if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for Conflict {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        fate.raced |= chance.hits(self.between, self.share.0);
    }
}
