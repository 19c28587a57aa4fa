//! Fault 17: something else holds the lock of a host for a while, a package manager for example: an order is not accepted.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{OrderFate, Portion, Window};

/// Orders are refused because another program holds the lock of the host.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostBusy {
    /// The share of orders that are refused. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which orders are refused, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for HostBusy {
    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        fate.busy |= chance.hits(self.between, self.share.0);
    }
}
