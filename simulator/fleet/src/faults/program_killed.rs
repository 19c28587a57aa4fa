//! Fault 17: the host program alone dies, by the OOM killer or `kill -9`, at any step of an operation. Its host runs on, so
//! nothing starts the program again before the next order arrives.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{OperationFate, OperationSite, Portion, Step, Window};

/// The host program is killed in the middle of operations, and the host runs on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramKilled {
    /// The share of operations in which the program is killed. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which programs are killed, `[from, to]` since the start of the run, or since the fault's trigger
    /// fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The step of the operation in which the program is killed. A random step of an installation if omitted.
    #[serde(default)]
    pub step: Option<Step>,
}

impl Model for ProgramKilled {
    fn on_operation(&self, chance: &Chance<'_>, _site: &OperationSite<'_>, fate: &mut OperationFate) {
        if fate.killed.is_none() && chance.hits(self.between, self.share.0) {
            let step = chance.below("step", Step::INSTALL.len() as u64);
            let step = Step::INSTALL.get(usize::try_from(step).unwrap_or_default()).copied();
            fate.killed = self.step.or(step);
        }
    }
}
