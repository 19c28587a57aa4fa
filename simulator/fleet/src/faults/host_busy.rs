//! Fault 17: something else holds the lock of a host for a while, a package manager for example: an order is not accepted.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{OrderFate, Portion, Window};

/// Orders that find their host busy with something else.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostBusy {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
}

impl Model for HostBusy {
    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        fate.busy |= chance.hits(self.between, self.share.0);
    }
}
