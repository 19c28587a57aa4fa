//! Fault 11: a watch leaves a change out, as faulty servers have done (etcd 17529, 18089, 19179). Nothing but a new list
//! heals it, and the operator makes none by itself; so when it becomes quiet, every watch breaks once.
//!
//! A bug of the server, not something that an operator has to survive unharmed: in no scenario unless it is named.

use serde::Deserialize;

use super::{Chance, Model, Plan, all};
use crate::vocabulary::{Injection, KindName, Portion, Window};

/// Changes that a watch never shows.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostEvent {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// Of these kinds; of all when left out.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// When.
    #[serde(default)]
    pub between: Window,
}

impl Model for LostEvent {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let from = plan.origin();
        plan.at(from, Injection::Silence);
        for kind in KindName::or_all(&self.kinds) {
            let quiet = plan.quiet();
            plan.at(quiet, Injection::Relist(kind.kind()));
        }
    }

    fn on_event(&self, chance: &Chance<'_>, kind: KindName, lost: &mut bool) {
        let concerns = self.kinds.is_empty() || self.kinds.contains(&kind);
        *lost |= concerns && chance.hits(self.between, self.share.0);
    }

    fn loses_events(&self) -> bool {
        true
    }
}
