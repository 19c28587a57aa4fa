//! Fault 17: hosts lose their power in the middle of an operation, at any step of it.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{OperationFate, OperationSite, Portion, Range, Step, Window};

/// Hosts lose power in the middle of operations.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostBreaks {
    /// The share of operations in which the host loses power. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which hosts lose power, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The time for which the host stays down.
    pub lasting: Range,
    /// The step of the operation in which the host loses power. A random step of an installation if omitted.
    #[serde(default)]
    pub step: Option<Step>,
}

impl Model for HostBreaks {
    fn on_operation(&self, chance: &Chance<'_>, _site: &OperationSite<'_>, fate: &mut OperationFate) {
        if fate.breaks.is_none() && chance.hits(self.between, self.share.0) {
            let step = chance.below("step", Step::INSTALL.len() as u64);
            let step = Step::INSTALL.get(usize::try_from(step).unwrap_or_default()).copied();
            fate.breaks = self.step.or(step).map(|step| (step, chance.outage("lasting", self.lasting.0)));
        }
    }
}
