//! Users edit sets, and move machines from one set to another.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Occasion, Range, Scope, Window};

/// Users change the versions of sets, their priorities, and what becomes of machines that leave them, pause them, and move
/// machines between pools. At the
/// start of the quiet phase they apply everything as it was.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetEditors {
    /// The interval between two edits.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose Machines are moved. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The names of the sets.
    pub sets: Vec<String>,
    /// The components whose versions change, each with the versions from which one is drawn.
    pub versions: BTreeMap<String, Vec<String>>,
    /// The values of the label `pool` that machines are moved to.
    pub pools: Vec<String>,
}

impl SetEditors {
    fn publish(&self, hands: &mut Hands<'_>, set: &str) -> bool {
        let all: Vec<(&String, &Vec<String>)> = self.versions.iter().collect();
        let Some((component, versions)) = hands.one_of("component", &all).copied() else { return false };
        let Some(version) = hands.one_of("version", versions).cloned() else { return false };
        hands.edit_set(set, |spec| {
            for setting in spec.components.iter_mut().filter(|setting| setting.name == *component) {
                setting.version = Some(version.as_str().into());
            }
        })
    }
}

impl Model for SetEditors {
    fn act(&self, hands: &mut Hands<'_>) {
        let Some(set) = hands.one_of("set", &self.sets).cloned() else { return };
        let done = match hands.below("what", 8) {
            0..3 => self.publish(hands, &set),
            3 => hands.edit_set(&set, |spec| spec.paused = !spec.paused),
            4 => {
                let takes_back = hands.below("takes back", 2) == 0;
                hands.edit_set(&set, |spec| {
                    spec.priority = 1 - spec.priority;
                    spec.on_leave = if takes_back { "Remove" } else { "Keep" }.into();
                })
            }
            _ => {
                let (machine, pool) =
                    (hands.any_machine(self.scope.as_ref()), hands.one_of("pool", &self.pools));
                machine
                    .zip(pool.cloned())
                    .is_some_and(|(number, pool)| hands.move_to_pool(number, Some(&pool)))
            }
        };
        if done {
            hands.note(Occasion::SetEdited);
        }
    }

    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            hands.move_to_pool(number, None);
        }
        hands.apply_again();
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        let problem = self.scope.as_ref().and_then(|scope| scope.problem(fleet));
        problem.map(|problem| format!("setEditors: {problem}"))
    }
}
