//! Other writers who label and taint Nodes: `kubectl label` and `kubectl taint` of their own keys, and of keys that
//! Machines set, before and after the operator has set them.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Range, Relabel, Scope, Window};

/// Other writers set and remove labels and taints of Nodes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Labellers {
    /// The interval between two actions of this workload.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose Nodes are labelled and tainted. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The keys of the labels and taints. Taints have the effect `NoSchedule`.
    pub keys: Vec<String>,
}

/// The value that marks labels and taints of this workload.
const THEIRS: &str = "theirs";

impl Model for Labellers {
    fn act(&self, hands: &mut Hands<'_>) {
        let Some(number) = hands.any_machine(self.scope.as_ref()) else { return };
        let Some(key) = hands.one_of("key", &self.keys).cloned() else { return };
        let value = (hands.below("value", 3) > 0).then(|| THEIRS.to_owned());
        let mut change = Relabel::default();
        let of = if hands.below("what", 3) > 0 { &mut change.labels } else { &mut change.taints };
        of.insert(key, value);
        hands.relabel(number, &change);
    }

    /// Removes the labels and taints of this workload.
    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            let mut change = Relabel::default();
            for key in self.keys.iter().filter(|key| hands.is_their_label(number, key, THEIRS)) {
                change.labels.insert(key.clone(), None);
            }
            for key in self.keys.iter().filter(|key| hands.is_their_taint(number, key, THEIRS)) {
                change.taints.insert(key.clone(), None);
            }
            hands.relabel(number, &change);
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        let problem = self.scope.as_ref().and_then(|scope| scope.problem(fleet));
        problem.map(|problem| format!("labellers: {problem}"))
    }
}
