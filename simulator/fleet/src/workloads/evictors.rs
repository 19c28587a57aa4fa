//! Users and their tools who act on pods themselves: they evict and delete pods, as a descheduler does, drain Nodes and
//! uncordon them later, and create pods past the scheduler, on cordoned Nodes too.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Range, Scope, Window};

/// Users evict, delete and create pods, and drain Nodes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evictors {
    /// The interval between two actions of this workload.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose pods are affected. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
}

impl Model for Evictors {
    fn act(&self, hands: &mut Hands<'_>) {
        let Some(number) = hands.any_machine(self.scope.as_ref()) else { return };
        match hands.below("what", 8) {
            0..=2 => hands.take_pod(number, true),
            3 | 4 => hands.take_pod(number, false),
            5 => hands.place_pod(number),
            _ if hands.is_cordoned_by_people(number) => hands.cordon(number, false),
            _ => {
                hands.cordon(number, true);
                hands.empty_node(number);
            }
        }
    }

    /// Uncordons the Nodes that users left cordoned, and deletes the pods that they created.
    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            if hands.is_cordoned_by_people(number) {
                hands.cordon(number, false);
            }
        }
        hands.remove_placed_pods();
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        let problem = self.scope.as_ref().and_then(|scope| scope.problem(fleet));
        problem.map(|problem| format!("evictors: {problem}"))
    }
}
