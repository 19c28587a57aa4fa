//! Fault 12: each kind has its own watch, and each watch its own delay, so an earlier change may be seen last. It also
//! delays the operator's own writes (fault 8).

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches lag, each kind by a delay of its own that changes repeatedly.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutOfOrder {
    /// The kinds of objects whose watches lag. All kinds but `CertificateSigningRequest` if omitted.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// The delay of a watch.
    pub lag: Range,
    /// The time for which a watch keeps one delay.
    pub lasting: Range,
    /// The window in which watches lag, `[from, to]` since the start of the run, or since the fault's trigger fired.
    /// Any time before the quiet phase if omitted.
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
