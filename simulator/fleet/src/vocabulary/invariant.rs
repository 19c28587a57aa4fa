//! The names of invariants, and allowances for breaking some of them.

use seaworthy_check::CHECKS;
use serde::Deserialize;

/// The invariants that the oracle judges, in addition to those that are checked after every turn.
const OWN_INVARIANTS: [&str; 35] = [
    "budget",
    "backOff",
    "precondition",
    "hostExclusivity",
    "leadership",
    "removalWanted",
    "maxFailures",
    "finalizerOrder",
    "soundAction",
    "expected",
    "always",
    "peopleRefused",
    "livelock",
    "versionOrder",
    "dependencyOrder",
    "versionSkew",
    "pause",
    "effects",
    "oscillation",
    "explained",
    "starvation",
    "queueLength",
    "hotLoop",
    "triedAgain",
    "repairedAgain",
    "emptyWrite",
    "recount",
    "drained",
    "disruptionBudget",
    "foreignCordon",
    "foreignAttribute",
    "foreignHost",
    "confirmed",
    "gate",
    "disruptionPolicy",
];

/// The names of all invariants.
pub static INVARIANTS: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
    let mut names: Vec<&str> =
        OWN_INVARIANTS.into_iter().chain(CHECKS.iter().map(|check| check.name)).collect();
    names.sort_unstable();
    names.dedup();
    names
});

/// An invariant that may be broken in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Allowance {
    /// The name of the invariant, as a breach reports it.
    pub invariant: String,
    /// The reason why the breach is right in this scenario. It must not be empty.
    pub reason: String,
    /// The largest number of breaches that are allowed.
    pub most: u32,
}
