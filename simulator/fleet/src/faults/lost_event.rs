//! Fault 11: a watch omits a change, as faulty servers have done (etcd 17529, 18089, 19179). Only a new list repairs
//! that, and the operator makes none by itself, so every watch breaks once at the start of the quiet phase.
//!
//! This is a bug of the server that an operator need not survive unharmed, so it strikes only in scenarios that name
//! it.

use serde::Deserialize;

use super::{Chance, Model, Plan, all};
use crate::vocabulary::{Injection, KindName, Portion, Window};

/// Watches omit changes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostEvent {
    /// The share of changes that a watch omits. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The kinds of objects whose changes are omitted. All kinds but `CertificateSigningRequest` if omitted.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// The window in which changes are omitted, `[from, to]` since the start of the run. Any time before the quiet
    /// phase if omitted.
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
        let concerns = KindName::or_all(&self.kinds).contains(&kind);
        *lost |= concerns && chance.hits(self.between, self.share.0);
    }

    fn loses_events(&self) -> bool {
        true
    }
}
