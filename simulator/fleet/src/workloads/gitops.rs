//! Fault 21: a GitOps tool restores what its repository contains: the specs that users applied last, and Machines that
//! are gone.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Occasion, Range, Window};

/// A GitOps tool restores what its repository contains.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gitops {
    /// The interval between two comparisons of the fleet with the repository.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// Whether the tool also creates Machines that are gone. False if omitted.
    #[serde(default)]
    pub recreates: bool,
}

impl Model for Gitops {
    fn act(&self, hands: &mut Hands<'_>) {
        let mut reverts = hands.apply_again();
        for number in hands.machines(None) {
            if self.recreates && !hands.exists(number) {
                hands.join(number);
            } else {
                reverts |= hands.restore(number);
            }
        }
        if reverts {
            hands.note(Occasion::EditReverted);
        }
    }

    fn finish(&self, hands: &mut Hands<'_>) {
        self.act(hands);
    }
}
