//! A watch falls behind: what is committed becomes visible to the operator only much later.

use seaworthy_kernel::word;
use serde::Deserialize;

use super::{Model, Plan, Window};
use crate::scenario::{KindName, Range};
use crate::world::{Injection, START};

/// Watches that deliver nothing for a while, again and again.
#[derive(Clone, Debug, Deserialize)]
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
        let kinds = if self.kinds.is_empty() { &KindName::ALL[..] } else { &self.kinds };
        for &kind in kinds {
            let owner = word(kind.kind().name());
            let end = (START + self.between.0.0.most).min(plan.quiet());
            let mut at = START + self.between.0.0.least;
            for hold in 0u64.. {
                at = at + plan.within(self.every.0, owner, 2 * hold);
                if at >= end {
                    break;
                }
                let until = (at + plan.within(self.lasting.0, owner, 2 * hold + 1)).min(plan.quiet());
                plan.at(at, Injection::HoldWatch(kind.kind(), until));
                at = until;
            }
        }
    }
}
