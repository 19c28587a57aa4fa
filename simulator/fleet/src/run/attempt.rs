//! A run that may fail in any way, including a panic: swarm, shrinker and enumeration continue after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::observers::Observers;
use crate::observers::record::Record;
use crate::options::Options;
use crate::run::beginning::begin;
use crate::run::course::{Summary, conclude};
use crate::scenario::Scenario;
use crate::world::World;

/// A run that has ended with a summary or with a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The summary of the run. `None` after a panic.
    pub summary: Option<Summary>,
    /// The first failure. `None` if the run succeeded.
    pub failure: Option<Failure>,
}

/// The failure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The invariant that was broken; `converged` when the run did not converge, `panic` after a panic.
    pub invariant: String,
    /// What happened.
    pub detail: String,
}

impl Failure {
    /// The failure of a finished run; `None` when it succeeded.
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        if let Some(breach) = summary.violations.first() {
            let detail = format!("{}: {}", breach.at, breach.detail);
            return Some(Self { invariant: breach.invariant.to_owned(), detail });
        }
        (!summary.converged)
            .then(|| Self { invariant: "converged".into(), detail: summary.missing.join("; ") })
    }
}

/// Lets a world run to its end. After a panic the world keeps the state of that moment.
pub fn attempt(world: &mut World) -> Attempt {
    match catch_unwind(AssertUnwindSafe(|| conclude(world, &mut |_| {}))) {
        Ok(summary) => Attempt { failure: Failure::of(&summary), summary: Some(summary) },
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let detail = text.to_owned();
            Attempt { summary: None, failure: Some(Failure { invariant: "panic".into(), detail }) }
        }
    }
}

/// Runs a scenario to its end, and keeps a record of it.
#[must_use]
pub fn attempt_recorded(scenario: &Arc<Scenario>, options: Options) -> (Attempt, Record) {
    let mut world = begin(Arc::clone(scenario), options);
    recorded(&mut world, attempt)
}

/// Lets a world run to its end with `attempt`, and keeps a record of the run.
pub(crate) fn recorded(world: &mut World, attempt: fn(&mut World) -> Attempt) -> (Attempt, Record) {
    Observers::change(world, |observers| observers.record = Some(Box::default()));
    let attempt = attempt(world);
    (
        attempt,
        Observers::change(world, |observers| {
            observers.record.take().map(|record| *record).unwrap_or_default()
        }),
    )
}
