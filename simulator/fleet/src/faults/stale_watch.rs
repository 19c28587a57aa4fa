//! Fault 1: a watch falls behind: what is committed becomes visible to the operator only much later.

use seaworthy_kernel::word;
use serde::Deserialize;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches that deliver nothing for a while, again and again.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaleWatch {
    /// Of these kinds; of all when left out.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// From one hold to the next.
    pub every: Range,
    /// How long a hold lasts.
    pub lasting: Range,
    /// When.
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
