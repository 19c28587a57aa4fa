//! Fault 3: a watch breaks, and lists when it is back. Of everything that happened in between, only the last state is
//! seen. An object that was deleted and created again is simply another object.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::vocabulary::{Injection, KindName, Range, Window};

/// Watches break for a while, and then list again.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unobserved {
    /// The kinds of objects whose watches break. All kinds but `CertificateSigningRequest` if omitted.
    #[serde(default)]
    pub kinds: Vec<KindName>,
    /// The interval from the end of one break to the start of the next.
    pub every: Range,
    /// The duration of a break.
    pub lasting: Range,
    /// The window in which watches break, `[from, to]` since the start of the run, or since the fault's trigger fired.
    /// Any time before the quiet phase if omitted.
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
