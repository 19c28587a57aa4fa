//! The names of invariants, and allowances for breaking some of them.

use seaworthy_check::CHECKS;
use serde::Deserialize;

/// The invariants that the oracle judges, besides those that are checked after every turn.
const OWN_INVARIANTS: [&str; 30] = [
    "budget",
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
    "foreignCordon",
    "foreignAttribute",
    "foreignHost",
    "confirmed",
];

/// The names of all invariants.
pub static INVARIANTS: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
    let mut names: Vec<&str> =
        OWN_INVARIANTS.into_iter().chain(CHECKS.iter().map(|check| check.name)).collect();
    names.sort_unstable();
    names.dedup();
    names
});

/// An invariant that may be broken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Allowance {
    /// Its name, as a breach gives it.
    pub invariant: String,
    /// Why it is right here.
    pub reason: String,
    /// How often at most.
    pub most: u32,
}
