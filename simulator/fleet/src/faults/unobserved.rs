//! Fault 3: a watch breaks, and lists when it is back. Of everything that happened in between, only the last state is
//! seen. An object that was deleted and created again is simply another object.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches that break for a while and then list anew.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unobserved {
    /// Of these kinds; of all when left out.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// From one to the next.
    pub every: Range,
    /// For how long.
    pub lasting: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
}

impl Model for Unobserved {
    fn schedule(&self, plan: &mut Plan<'_>) {
        for kind in KindName::or_all(&self.kinds) {
            let kind = kind.kind();
            for (from, until) in plan.windows(self.every, self.lasting, self.between, word(kind.name())) {
                let pair = (Injection::HoldWatch(kind, until), Injection::Relist(kind));
                plan.strike(from, Some(until.since(from)), pair);
            }
        }
    }
}
