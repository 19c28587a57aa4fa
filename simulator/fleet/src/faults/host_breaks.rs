//! Hosts lose their power in the middle of an operation, at any step of it.

use serde::Deserialize;

use super::{Chance, Model, OperationFate, Window};
use crate::scenario::{Portion, Range};
use crate::world::Step;

/// Operations in the middle of which the host goes down.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostBreaks {
    /// What share of them.
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// How long the host stays down.
    pub lasting: Range,
}

impl Model for HostBreaks {
    fn on_operation(&self, chance: &Chance<'_>, fate: &mut OperationFate) {
        if fate.breaks.is_none() && chance.hits(self.between, self.share.0) {
            let step = chance.below("step", Step::INSTALL.len() as u64);
            let step = Step::INSTALL.get(usize::try_from(step).unwrap_or_default());
            fate.breaks = step.map(|step| (*step, chance.outage("lasting", self.lasting.0)));
        }
    }
}
