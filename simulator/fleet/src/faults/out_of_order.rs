//! Fault 12: each kind has its own watch, and each watch its own delay, so an earlier change may be seen last. It also
//! delays the operator's own writes (fault 8).

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches that lag, each kind by a time of its own, which changes again and again.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutOfOrder {
    /// Of these kinds; of all when left out.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// By how much.
    pub lag: Range,
    /// How long one delay holds.
    pub lasting: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
}

impl Model for OutOfOrder {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for kind in KindName::or_all(&self.kinds) {
            let owner = word(kind.kind().name());
            for (hold, (from, until)) in
                plan.windows(Range::NOTHING, self.lasting, self.between, owner).into_iter().enumerate()
            {
                let lag = plan.within(self.lag.0, owner, word("lag") ^ hold as u64);
                plan.at(from, Injection::Lag { kind: kind.kind(), lag, until });
            }
        }
    }
}
