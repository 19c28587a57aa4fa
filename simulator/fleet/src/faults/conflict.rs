//! Fault 7: another writer changes an object between the operator's reading and its writing: the write is refused as stale.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Portion, RequestFate, Window};

/// Writes of the operator that another writer forestalls by changing a label.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conflict {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
}

impl Model for Conflict {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        fate.raced |= chance.hits(self.between, self.share.0);
    }
}
