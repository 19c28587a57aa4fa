//! Fault 6: a request or an order arrives twice, the second time later: a proxy or a client library that sends again.

use serde::Deserialize;

use seaworthy_kernel::Span;

use super::{Chance, Model, all};
use crate::vocabulary::{OrderFate, Portion, Range, RequestFate, Window};

/// Requests to the API server and orders to hosts arrive twice.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Duplicate {
    /// The share of requests and orders that arrive twice. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which requests and orders arrive twice, `[from, to]` since the start of the run. Any time before
    /// the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The time from the sending of the message to the arrival of the second copy. 1 ms to 2 minutes if omitted.
    #[serde(default)]
    pub after: Option<Range>,
}

impl Duplicate {
    fn after(&self) -> Span {
        self.after.map_or(Span::millis(1, 120_000), |range| range.0)
    }
}

impl Model for Duplicate {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if fate.again.is_none() && chance.hits(self.between, self.share.0) {
            fate.again = Some(chance.within("after", self.after()));
        }
    }

    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        if fate.again.is_none() && chance.hits(self.between, self.share.0) {
            fate.again = Some(chance.within("after", self.after()));
        }
    }
}
