//! The fingerprint of a run: everything that a build of the engine did and sent in it. Two builds that behave alike
//! have the same fingerprints, so a refactoring can be compared with the build before it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use seaworthy_kernel::Seed;

use crate::observers::Observers;
use crate::observers::contents::Contents;
use crate::options::Options;
use crate::run::attempt::{Attempt, attempt};
use crate::run::beginning::begin;
use crate::scenario::Scenario;
use crate::world::World;

/// The fingerprint of one run. Its text is one line, so that builds of different revisions can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The run: file, seed and number of machines.
    pub case: String,
    /// The outcome: hashes, counts, and the failure if there was one.
    pub outcome: String,
}

/// A case in which two builds differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The case.
    pub case: String,
    /// Its outcome in the base; `None` when the base did not run it.
    pub base: Option<String>,
    /// Its outcome here; `None` when it did not run here.
    pub ours: Option<String>,
}

/// Stands between the case and the outcome in a line. No file name contains it.
const SEPARATOR: &str = " => ";

impl Fingerprint {
    /// Runs a scenario with this seed. A run that fails has a fingerprint too.
    #[must_use]
    pub fn of(file: &str, scenario: &Arc<Scenario>, seed: Seed) -> Self {
        let (attempt, contents) = run(scenario, seed, Contents::default());
        let case = format!("{file} --seed {} --machines {}", seed.0, scenario.fleet.machines);
        Self { case, outcome: outcome(&attempt, &contents) }
    }

    /// Reads a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (case, outcome) = line.split_once(SEPARATOR)?;
        Some(Self { case: case.to_owned(), outcome: outcome.to_owned() })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SEPARATOR}{}", self.case, self.outcome)
    }
}

/// The cases whose outcome differs between the base and ours, or that only one of them ran: first those of ours, in their
/// order.
#[must_use]
pub fn differences(base: &[Fingerprint], ours: &[Fingerprint]) -> Vec<Difference> {
    let by_case = |list: &[Fingerprint]| -> BTreeMap<String, String> {
        list.iter().map(|one| (one.case.clone(), one.outcome.clone())).collect()
    };
    let (in_base, in_ours) = (by_case(base), by_case(ours));
    let only_base = base.iter().filter(|one| !in_ours.contains_key(&one.case));
    let each = ours.iter().chain(only_base).map(|Fingerprint { case, .. }| Difference {
        case: case.clone(),
        base: in_base.get(case).cloned(),
        ours: in_ours.get(case).cloned(),
    });
    each.filter(|difference| difference.base != difference.ours).collect()
}

/// Runs a scenario with this seed, and keeps the text of everything that its operators sent.
#[must_use]
pub fn logged(scenario: &Arc<Scenario>, seed: Seed) -> Vec<String> {
    run(scenario, seed, Contents::logged()).1.log().to_vec()
}

/// Runs a world that has not begun, and keeps the text of everything that its operators sent.
#[must_use]
pub fn logged_of(mut world: World) -> Vec<String> {
    keep_contents(&mut world, Contents::logged()).1.log().to_vec()
}

fn run(scenario: &Arc<Scenario>, seed: Seed, contents: Contents) -> (Attempt, Contents) {
    let mut world = begin(Arc::clone(scenario), Options::seeded(Some(seed)));
    keep_contents(&mut world, contents)
}

fn keep_contents(world: &mut World, contents: Contents) -> (Attempt, Contents) {
    Observers::change(world, |observers| observers.contents = Some(Box::new(contents)));
    let attempt = attempt(world);
    let contents = Observers::change(world, |observers| observers.contents.take());
    (attempt, contents.map(|contents| *contents).unwrap_or_default())
}

fn outcome(attempt: &Attempt, contents: &Contents) -> String {
    let verdict = attempt.failure.as_ref().map_or_else(
        || "good".to_owned(),
        |failure| format!("{}: {}", failure.invariant, failure.detail.replace('\n', " ")),
    );
    let (hash, messages) = (contents.hash(), contents.messages());
    let Some(summary) = &attempt.summary else { return format!("contents {hash}, {verdict}") };
    let (trace, events, turns) = (&summary.trace_hash, summary.events, summary.turns);
    format!("trace {trace}, contents {hash}, {events} events, {turns} turns, {messages} messages, {verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<Fingerprint> {
        text.iter().map(|line| Fingerprint::parse(line).expect("a line")).collect()
    }

    #[test]
    fn cases_that_differ_are_named_in_their_order() {
        let base = lines(&["a --seed 1 => x, good", "b --seed 1 => y, good", "c --seed 1 => z, good"]);
        assert_eq!(differences(&base, &base), []);
        let ours = lines(&["a --seed 1 => x, good", "b --seed 1 => y, budget: 2", "c --seed 1 => q, good"]);
        let found = differences(&base, &ours);
        let outcome = |text: &str| Some(text.to_owned());
        let first =
            Difference { case: "b --seed 1".into(), base: outcome("y, good"), ours: outcome("y, budget: 2") };
        assert_eq!((found.len(), found.first()), (2, Some(&first)));
    }

    #[test]
    fn a_case_that_only_one_build_ran_differs() {
        let (base, ours) = (lines(&["a => x"]), lines(&["a => x", "b => y"]));
        let only_ours = Difference { case: "b".into(), base: None, ours: Some("y".into()) };
        assert_eq!(differences(&base, &ours), [only_ours]);
        let only_base = Difference { case: "b".into(), base: Some("y".into()), ours: None };
        assert_eq!(differences(&ours, &base), [only_base]);
    }

    #[test]
    fn lines_read_as_they_were_written() {
        let one = Fingerprint { case: "fast/a.yaml --seed 3".into(), outcome: "trace 1, good".into() };
        assert_eq!(Fingerprint::parse(&one.to_string()), Some(one));
        assert_eq!(Fingerprint::parse("no line"), None);
    }
}
