//! Fault 6: a request or an order arrives twice, the second time later: a proxy or a client library that sends again.

use serde::Deserialize;

use seaworthy_kernel::Span;

use super::{Chance, Model, all};
use crate::vocabulary::{OrderFate, Portion, Range, RequestFate, Window};

/// Requests to the API server and orders to hosts that arrive twice.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Duplicate {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// How long after it was sent the second arrives; up to two minutes when left out.
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
