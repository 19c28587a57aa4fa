//! Faults 13 and 21: machines leave the fleet and return under the same names, as new incarnations. The software on a
//! host is removed before the host is released, and the next Machine starts with nothing.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Portion, Range, Scope, Window};

/// A program deletes Machines and creates them again under the same names.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Autoscaler {
    /// The interval between two actions of this workload.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose Machines leave and join. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of these Machines that always stays.
    pub least: Portion,
    /// The largest number of Machines that leave or join at once. 0 counts as 1.
    pub step: u32,
}

impl Model for Autoscaler {
    fn act(&self, hands: &mut Hands<'_>) {
        let machines = hands.machines(self.scope.as_ref());
        let (wanted, rest): (Vec<u32>, Vec<u32>) =
            machines.iter().partition(|number| hands.is_wanted(**number));
        let away: Vec<u32> = rest.into_iter().filter(|number| !hands.exists(*number)).collect();
        let least = self.least.0.of(u32::try_from(machines.len()).unwrap_or(u32::MAX)) as usize;
        let count = 1 + hands.below("count", self.step.max(1) as usize);
        let grows = hands.below("grows", 2) == 0;
        let (pool, most) = if grows {
            (away, count)
        } else {
            (wanted.clone(), count.min(wanted.len().saturating_sub(least)))
        };
        let first = hands.below("first", pool.len());
        for number in pool.iter().cycle().skip(first).take(most.min(pool.len())) {
            if grows {
                hands.join(*number);
            } else {
                hands.delete(*number);
            }
        }
    }

    /// Creates every missing machine again, except those that are still being deleted: their names are taken.
    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            hands.join(number);
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        self.scope
            .as_ref()
            .and_then(|scope| scope.problem(fleet))
            .map(|problem| format!("autoscaler: {problem}"))
    }
}
