//! Fault 21: a GitOps tool restores what its repository contains: the specs that users applied last, and Machines that
//! are gone.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Occasion, Range, Window};

/// A tool that reverts what others changed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gitops {
    /// From one comparison to the next.
    pub every: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// Whether it creates Machines that are gone.
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
