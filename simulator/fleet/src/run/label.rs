//! The labels of faults in plans.

use std::collections::BTreeMap;

use crate::scenario::Scenario;

/// The labels of a scenario's faults in plans.
#[must_use]
pub fn fault_labels(scenario: &Scenario) -> Vec<String> {
    labels(scenario.faults.iter().map(|rule| rule.fault.name().to_owned()))
}

/// Names, with `#2` behind the second of the same name.
pub(crate) fn labels(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let label = |name: String| {
        let place = seen.entry(name.clone()).or_default();
        *place += 1;
        if *place == 1 { name } else { format!("{name}#{place}") }
    };
    names.map(label).collect()
}
