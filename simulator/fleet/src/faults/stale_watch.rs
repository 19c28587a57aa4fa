//! Fault 1: a watch falls behind: what is committed becomes visible to the operator only much later.

use seaworthy_kernel::word;
use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches deliver nothing for a while, repeatedly.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaleWatch {
    /// The kinds of objects whose watches are held. All kinds but `CertificateSigningRequest` if omitted.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// The interval from the end of one hold to the start of the next.
    pub every: Range,
    /// The duration of a hold.
    pub lasting: Range,
    /// The window in which watches are held, `[from, to]` since the start of the run, or since the fault's trigger
    /// fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for StaleWatch {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for kind in KindName::or_all(&self.kinds) {
            let kind = kind.kind();
            for (from, until) in plan.windows(self.every, self.lasting, self.between, word(kind.name())) {
                plan.at(from, Injection::HoldWatch(kind, until));
            }
        }
    }
}
