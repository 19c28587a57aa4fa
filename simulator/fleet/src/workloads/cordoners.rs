//! Users who cordon Nodes for their own reasons and uncordon them later: `kubectl cordon`, and `kubectl uncordon` of
//! the Nodes that they cordoned.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Range, Scope, Window};

/// People who cordon Nodes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cordoners {
    /// From one act to the next.
    pub every: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// Which machines; all when left out.
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
