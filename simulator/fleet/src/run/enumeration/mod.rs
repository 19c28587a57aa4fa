//! Enumerates single faults at every point, instead of random faults at some points. From one run without faults, it
//! tries a crash of the operator at every write, a change of the leader at every write that then arrives late, every
//! stale read before every destructive write, and hides every transition.
//!
//! Crashes, stale reads and hidden transitions come from Sieve (Sun et al., OSDI 2022), which needs a cluster and minutes for each plan. Here the
//! world is cloned at the point, and the clone continues on its own.

mod point;

use seaworthy_kernel::Seed;
use serde_json::json;

use point::ForkPoint;
pub use point::Rule;

use crate::faults::Ledger;
use crate::observers::Observers;
use crate::observers::record::Record;
use crate::options::Options;
use crate::run::attempt::{Attempt, Failure, attempt};
use crate::run::plan::{Document, ResolvedPlan};
use crate::scenario::ScenarioError;
use crate::vocabulary::{Length, START, Scheduled, Strike};
use crate::world::World;

/// The forks of a reference run, in the order of their points.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// The reference run as a plan without strikes.
    reference: ResolvedPlan,
    /// The reference run, up to the last point that was returned.
    world: World,
    points: std::vec::IntoIter<ForkPoint>,
    /// The number of points.
    pub count: usize,
    /// The number of writes of the operator in the reference run. Two forks crash the operator at each of them: one
    /// before the write, one after it.
    pub writes: usize,
}

/// A world in which one thing goes wrong, which may take two strikes.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The rule that selected the point.
    pub rule: Rule,
    strikes: Vec<Strike>,
    world: World,
}

/// The result of a fork.
#[derive(Clone, Debug)]
pub struct Forked {
    /// The rule that selected the point.
    pub rule: Rule,
    /// The strikes that were injected.
    pub strikes: Vec<Strike>,
    /// Whether they happened.
    pub came: bool,
    /// The result of the run.
    pub attempt: Attempt,
}

/// The reason why nothing can be enumerated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnumerationError {
    /// The scenario is not acceptable without its faults.
    Scenario(ScenarioError),
    /// The reference run fails already.
    Reference(Failure),
}

impl std::fmt::Display for EnumerationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Reference(failure) => {
                write!(f, "the run without faults fails already: {}: {}", failure.invariant, failure.detail)
            }
        }
    }
}

impl std::error::Error for EnumerationError {}

impl Enumeration {
    /// The forks of a scenario. Its own faults are left out, and so are expectations that hold only for its own
    /// history.
    ///
    /// # Errors
    /// When the scenario is not acceptable then, or its run fails although nothing goes wrong.
    pub fn new(
        file: &str,
        mut scenario: Document,
        seed: Seed,
        options: Options,
    ) -> Result<Self, EnumerationError> {
        scenario.relax();
        let pauses = json!({"every": "1h", "lasting": "1s"});
        *scenario.list_mut("faults") = vec![
            json!({"operatorCrash": {}}),
            json!({"lateRequest": {"by": "1s"}}),
            json!({"processPause": {"every": "1h", "lasting": "1s"}}),
            json!({"staleWatch": &pauses}),
            json!({"unobserved": &pauses}),
        ];
        let reference = ResolvedPlan { scenario, seed, strikes: Vec::new() };
        let start = || reference.world(file, options).map_err(EnumerationError::Scenario);
        let mut observed = start()?;
        Observers::change(&mut observed, |observers| observers.record = Some(Box::default()));
        if let Some(ledger) = &mut observed.ledger {
            ledger.note_points();
        }
        let reached = attempt(&mut observed);
        if let Some(failure) = reached.failure {
            return Err(EnumerationError::Reference(failure));
        }
        let record = Observers::change(&mut observed, |observers| observers.record.take());
        let record: Record = record.map(|record| *record).unwrap_or_default();
        let visits = observed.ledger().map(Ledger::points).unwrap_or_default();
        let writes = visits.iter().filter(|visit| visit.point.is_write()).count();
        let points = point::all(visits, &record, observed.quiet);
        let world = start()?;
        Ok(Self { reference, world, count: points.len(), writes, points: points.into_iter() })
    }

    /// The next fork: the world just before its point, in which one thing will go wrong.
    pub fn next_fork(&mut self) -> Option<Fork> {
        let ForkPoint { at, rule, strikes } = self.points.next()?;
        let before = at.millis().saturating_sub(1).max(START.millis());
        while self.world.step_until(seaworthy_kernel::Timestamp::from_millis(before)) {}
        let mut world = self.world.clone();
        for strike in &strikes {
            if let Strike::Timed(timed) = strike {
                let end = timed.end.map(|end| (START + end.at.0, end.does));
                world.schedule(&Scheduled { at: START + timed.at.0, injection: timed.does, end });
            }
            if let Some(ledger) = &mut world.ledger {
                ledger.add(strike.clone());
            }
        }
        Some(Fork { rule, strikes, world })
    }

    /// The plan that does the same as a fork, from the start.
    #[must_use]
    pub fn plan(&self, strikes: &[Strike]) -> ResolvedPlan {
        ResolvedPlan { strikes: strikes.to_vec(), ..self.reference.clone() }
    }
}

impl Forked {
    /// The time of the first strike, since the start of the run.
    #[must_use]
    pub fn at(&self) -> Length {
        self.strikes.first().map(Strike::at).unwrap_or_default()
    }
}

impl Fork {
    /// Lets the fork run to its end.
    #[must_use]
    pub fn run(mut self) -> Forked {
        let attempt = attempt(&mut self.world);
        let came = self.world.ledger().is_none_or(|ledger| ledger.missed().next().is_none());
        Forked { rule: self.rule, strikes: self.strikes, came, attempt }
    }
}

#[cfg(test)]
mod tests;
