//! The resolved plan of a run: scenario, seed, and every strike of its faults made explicit. It replays after the engine
//! was changed, and it is what the shrinker works on; a seed alone means another history after any refactoring.

mod document;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use seaworthy_kernel::Seed;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::faults::Ledger;
pub use crate::run::label::fault_labels;
pub use document::Document;
pub(crate) use document::fault_mut;

use crate::options::Options;
use crate::run::beginning::begin_with;
use crate::run::label::labels;
use crate::scenario::{Scenario, ScenarioError};
use crate::vocabulary::Strike;
use crate::world::World;

/// The format that this program writes and reads.
const FORMAT: &str = "seaworthy.dev/plan/v1";

/// A resolved plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPlan {
    /// The scenario.
    pub scenario: Document,
    /// The seed, from which everything is drawn except strikes: delays, ranks, identities.
    pub seed: Seed,
    /// The strikes of the faults.
    pub strikes: Vec<Strike>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Text {
    format: String,
    seed: u64,
    strikes: Vec<Strike>,
    scenario: Value,
}

impl ResolvedPlan {
    /// Whether a file is a plan and not a scenario.
    #[must_use]
    pub fn is_plan(text: &str) -> bool {
        text.lines().any(|line| line.starts_with("format:"))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and field where there is one.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        // The limits on expansion stay as they are. The length of the file is not limited, because a plan has one entry
        // for each strike of its run.
        let limits = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: text.len(),
                max_nodes: text.len(),
                max_total_scalar_bytes: text.len(),
            },
        };
        let text: Text = serde_saphyr::from_str_with_options(text, limits)
            .map_err(|error| ScenarioError::malformed(file, &error))?;
        if text.format != FORMAT {
            let problem = format!("format: {:?} is not {FORMAT:?}", text.format);
            return Err(ScenarioError::unacceptable(file, vec![problem]));
        }
        let plan = Self { scenario: Document(text.scenario), seed: Seed(text.seed), strikes: text.strikes };
        let scenario = plan.scenario.scenario(file)?;
        let problems = plan.problems(&scenario);
        if problems.is_empty() { Ok(plan) } else { Err(ScenarioError::unacceptable(file, problems)) }
    }

    fn problems(&self, scenario: &Scenario) -> Vec<String> {
        let labels = fault_labels(scenario);
        let machines = scenario.fleet.machines;
        let mut problems = Vec::new();
        for (index, strike) in self.strikes.iter().enumerate() {
            let fault = strike.fault();
            if !labels.iter().any(|label| label == fault) {
                problems.push(format!("strikes[{index}].fault: the scenario has no fault {fault:?}"));
            }
            let timed_at = matches!(strike, Strike::Timed(_)).then(|| strike.host()).flatten();
            if let Some(host) = timed_at.filter(|host| *host >= machines) {
                problems.push(format!("strikes[{index}]: there is no host {host} among {machines}"));
            }
        }
        problems
    }

    /// The world at the beginning of the plan.
    ///
    /// # Errors
    /// When its scenario is not acceptable.
    pub fn world(&self, file: &str, mut options: Options) -> Result<World, ScenarioError> {
        let scenario = Arc::new(self.scenario.scenario(file)?);
        let ledger = Ledger::replaying(fault_labels(&scenario), self.strikes.clone());
        options.seed = Some(self.seed);
        Ok(begin_with(scenario, options, Some(ledger)))
    }

    /// Drops the faults that have no strikes. The other faults keep theirs.
    pub fn drop_idle_faults(&mut self) {
        let faults = self.scenario.list("faults").to_vec();
        let before = labels(faults.iter().map(fault_name));
        let is_busy = |label: &String| self.strikes.iter().any(|strike| strike.fault() == label);
        let kept: Vec<(Value, String)> =
            faults.into_iter().zip(before).filter(|(_, label)| is_busy(label)).collect();
        let after = labels(kept.iter().map(|(fault, _)| fault_name(fault)));
        let renamed: BTreeMap<&str, String> =
            kept.iter().map(|(_, label)| label.as_str()).zip(after).collect();
        for strike in &mut self.strikes {
            if let Some(name) = renamed.get(strike.fault()) {
                strike.set_fault(name.clone());
            }
        }
        *self.scenario.list_mut("faults") = kept.into_iter().map(|(fault, _)| fault).collect();
    }
}

impl fmt::Display for ResolvedPlan {
    /// Writes the plan in the form of its file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Text {
            format: FORMAT.into(),
            seed: self.seed.0,
            strikes: self.strikes.clone(),
            scenario: self.scenario.0.clone(),
        };
        f.write_str(&serde_saphyr::to_string(&text).map_err(|_| fmt::Error)?)
    }
}

/// The name of a fault in a document, as [`Fault::name`](crate::faults::Fault::name) has it.
pub(crate) fn fault_name(fault: &Value) -> String {
    let mut snake = String::new();
    for letter in document::fault_name(fault).chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests;
