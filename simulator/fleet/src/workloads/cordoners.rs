//! Users who cordon Nodes for their own reasons and uncordon them later: `kubectl cordon`, and `kubectl uncordon` of
//! the Nodes that they cordoned.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Range, Scope, Window};

/// Users cordon Nodes, and uncordon the Nodes that they cordoned.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cordoners {
    /// The interval between two actions of this workload.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose Nodes are cordoned. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
}

impl Model for Cordoners {
    fn act(&self, hands: &mut Hands<'_>) {
        let Some(number) = hands.any_machine(self.scope.as_ref()) else { return };
        let is_theirs = hands.is_cordoned_by_people(number);
        hands.cordon(number, !is_theirs);
    }

    /// Uncordons the Nodes that users left cordoned.
    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            if hands.is_cordoned_by_people(number) {
                hands.cordon(number, false);
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        let problem = self.scope.as_ref().and_then(|scope| scope.problem(fleet));
        problem.map(|problem| format!("cordoners: {problem}"))
    }
}
