//! Fault 2: a watch connects again, to a replica of the API server whose cache is older, and is served from it
//! (kubernetes 59848). A process that has seen less than the cache lists what the cache holds. A process that has seen
//! more asks for later changes, and gets nothing until the cache has caught up: no list of an operator is answered from
//! a cache.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches go back in time: they are served from an old cache.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeTravel {
    /// The kinds of objects whose watches go back. If omitted, all kinds but `CertificateSigningRequest` and `Lease`;
    /// the Lease is always read from the store.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// The interval between two occurrences of the fault on a watch.
    pub every: Range,
    /// The age of the cache when the watch begins to read from it.
    pub age: Range,
    /// The time for which the cache does not change, before it begins to catch up.
    pub lasting: Range,
    /// The window in which caches are kept, `[from, to]` since the start of the run, or since the fault's trigger
    /// fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
}

impl Model for TimeTravel {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let usual =
            KindName::ALL.into_iter().filter(|kind| self.kinds.is_empty() && *kind != KindName::Lease);
        for kind in self.kinds.iter().copied().chain(usual) {
            let owner = word(kind.kind().name());
            let windows = plan.windows(self.every, self.lasting, self.between, owner);
            for (travel, (cached, _)) in windows.into_iter().enumerate() {
                let back = cached + plan.within(self.age.0, owner, word("age") ^ travel as u64);
                let until = back + plan.within(self.lasting.0, owner, word("lasting") ^ travel as u64);
                if until < plan.quiet() {
                    plan.at(cached, Injection::Cache(kind.kind()));
                    plan.at(back, Injection::Travel { kind: kind.kind(), since: cached, until });
                }
            }
        }
    }
}
