//! Shrinks a failing run to the smallest one that fails in the same way: fewer strikes, machines, manifests and
//! moments, shorter outages. Uses delta debugging (Zeller and Hildebrandt, 2002) on the resolved plan.

mod candidate;

use std::collections::BTreeSet;

use seaworthy_kernel::word;
use seaworthy_model::id::StoreId;
use seaworthy_model::report::{Blocker, Subject};
use serde_json::Value;

use crate::options::Options;
use crate::run::attempt::{Failure, attempt};
use crate::run::plan::ResolvedPlan;
use crate::run::twin::compare_with_twin;
use crate::vocabulary::Strike;
use crate::world::World;

/// The result of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest plan that was found.
    pub plan: ResolvedPlan,
    /// The failure of this plan.
    pub failure: Failure,
    /// The number of plans that were tried.
    pub tried: u32,
}

/// The progress of shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrinking {
    /// The number of plans that were tried.
    pub tried: u32,
    /// The number of machines that are left.
    pub machines: u32,
    /// The number of strikes that are left.
    pub strikes: usize,
}

struct Shrinker<'a> {
    best: ResolvedPlan,
    failure: Failure,
    kind: String,
    /// Whether everything converges without faults, thanks to the actions of users.
    people_suffice: bool,
    options: Options,
    tried: u32,
    seen: BTreeSet<u64>,
    progress: &'a mut dyn FnMut(Shrinking),
}

/// A run that failed.
struct Broken {
    failure: Failure,
    /// The kind of the failure. Failures with the same meaning have the same kind.
    kind: String,
    /// The strikes that happened until then.
    came: Vec<Strike>,
}

/// The largest number of rounds.
const ROUNDS_MAX: u32 = 6;

/// Makes a plan smaller as long as it fails in the same way. User actions that the fleet needs to converge even without
/// faults stay: otherwise the smallest plan would be one without them. `None` when the plan does not fail.
pub fn shrink(plan: ResolvedPlan, options: Options, progress: &mut dyn FnMut(Shrinking)) -> Option<Shrunk> {
    let Broken { failure, kind, .. } = outcome(&plan.to_string(), options, true)?;
    let people_suffice = converges_without_faults(&plan, options);
    let seen = BTreeSet::new();
    let mut shrinker =
        Shrinker { best: plan, failure, kind, people_suffice, options, tried: 1, seen, progress };
    for _ in 0..ROUNDS_MAX {
        let before = shrinker.best.clone();
        shrinker.take(candidate::without_strikes(&before));
        shrinker.fewer_machines();
        shrinker.fewer_strikes();
        shrinker.repeat(candidate::simpler_fleets);
        shrinker.repeat(candidate::shorter_lists);
        shrinker.repeat(candidate::shorter_outages);
        if shrinker.best == before {
            break;
        }
    }
    let mut idle = shrinker.best.clone();
    idle.drop_idle_faults();
    shrinker.take(idle);
    let Shrinker { best: plan, failure, tried, .. } = shrinker;
    Some(Shrunk { plan, failure, tried })
}

/// How a plan fails, by itself or in comparison with its fault-free twin. `None` when it does not.
#[must_use]
pub fn failure(plan: &ResolvedPlan, options: Options) -> Option<Failure> {
    outcome(&plan.to_string(), options, true).map(|broken| broken.failure)
}

/// How a plan fails when it is read back from its text, as a user would replay it. A plan that succeeds may still
/// differ from its fault-free twin.
fn outcome(text: &str, options: Options, by_twin: bool) -> Option<Broken> {
    let plan = ResolvedPlan::read("plan", text).ok()?;
    let mut world = plan.world("plan", options).ok()?;
    let ended = attempt(&mut world);
    let failure = match ended.failure {
        None if by_twin => compare_with_twin(&world)?,
        failure => failure?,
    };
    let missed: Vec<&Strike> = world.ledger().into_iter().flat_map(|ledger| ledger.missed()).collect();
    let now = world.now();
    let came = plan.strikes.iter().filter(|strike| {
        // Strikes that would come after the failure are no part of it.
        !missed.contains(strike) && crate::vocabulary::START + strike.at().0 <= now
    });
    Some(Broken { kind: kind(&failure, &world), came: came.cloned().collect(), failure })
}

/// Whether everything converges when no fault strikes.
fn converges_without_faults(plan: &ResolvedPlan, options: Options) -> bool {
    let mut plan = candidate::without_strikes(plan);
    plan.scenario.relax();
    *plan.scenario.list_mut("eventually") = vec![Value::from("converged")];
    plan.scenario.list_mut("always").clear();
    let world = plan.world("plan", Options::seeded(options.seed));
    world.is_ok_and(|mut world| attempt(&mut world).failure.is_none())
}

/// The kind of a failure: the invariant; and if the run has not converged, the first words without numbers, and what
/// the operator waits for.
fn kind(failure: &Failure, world: &World) -> String {
    let broken = failure.invariant != "converged" && failure.invariant != "expected";
    if broken {
        return failure.invariant.clone();
    }
    let waits = world.mind().map(|(_, engine, _)| {
        let world = engine.world();
        world
            .gate(StoreId::HOME)
            .or_else(|| world.blocker(Subject::PackageVersion))
            .map_or("nothing", Blocker::name)
    });
    let detail = failure.detail.split(';').next().unwrap_or_default();
    let words: String = detail.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    format!("{} {words}, and it waits for {}", failure.invariant, waits.unwrap_or("an operator"))
}

impl Shrinker<'_> {
    /// Tries a smaller plan, and keeps it if it fails in the same way.
    fn take(&mut self, candidate: ResolvedPlan) -> bool {
        let Some(came) = self.keep(candidate) else { return false };
        // Strikes that did not happen are dropped too, unless the failure depends on their being in the plan.
        self.keep(ResolvedPlan { strikes: came, ..self.best.clone() });
        true
    }

    /// Tries a smaller plan as `take` does, and returns the strikes that happened.
    fn keep(&mut self, candidate: ResolvedPlan) -> Option<Vec<Strike>> {
        let text = candidate.to_string();
        if candidate == self.best || !self.seen.insert(word(&text)) {
            return None;
        }
        self.tried += 1;
        let (machines, strikes) = (self.best.scenario.machines(), self.best.strikes.len());
        (self.progress)(Shrinking { tried: self.tried, machines, strikes });
        let by_twin = self.failure.invariant.starts_with("twin");
        let Broken { failure, came, .. } =
            outcome(&text, self.options, by_twin).filter(|broken| broken.kind == self.kind)?;
        let people_do_the_same = candidate.scenario == self.best.scenario;
        if self.people_suffice && !people_do_the_same && !converges_without_faults(&candidate, self.options) {
            return None;
        }
        self.failure = failure;
        self.best = candidate;
        Some(came)
    }

    /// Replaces the plan by the first smaller plan that fails in the same way, until there is none.
    fn repeat(&mut self, smaller: fn(&ResolvedPlan) -> Vec<ResolvedPlan>) {
        loop {
            let candidates = smaller(&self.best);
            if !candidates.into_iter().any(|candidate| self.take(candidate)) {
                return;
            }
        }
    }

    /// Small fleets are tried first: they cost nothing.
    fn fewer_machines(&mut self) {
        loop {
            let machines = self.best.scenario.machines();
            let fixed = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24];
            // Finally try a slightly smaller fleet. To remove machines one by one would take as many runs as there are
            // machines.
            let least = machines - (machines / 32).max(1);
            let halves = [machines / 16, machines / 8, machines / 4, machines / 2];
            let parts = halves.into_iter().chain([machines * 3 / 4, machines * 7 / 8, least]);
            let sizes: BTreeSet<u32> =
                fixed.into_iter().chain(parts).filter(|size| *size > 0 && *size < machines).collect();
            let best = self.best.clone();
            let mut candidates = sizes.into_iter().flat_map(|size| candidate::smaller_fleets(&best, size));
            if !candidates.any(|candidate| self.take(candidate)) {
                return;
            }
        }
    }

    /// ddmin: leaves out ever smaller parts of the strikes.
    fn fewer_strikes(&mut self) {
        let mut parts = 2;
        while !self.best.strikes.is_empty() {
            let strikes = self.best.strikes.clone();
            let length = strikes.len().div_ceil(parts);
            let taken = (0..strikes.len()).step_by(length).any(|from| {
                let kept =
                    strikes.iter().enumerate().filter(|(index, _)| *index < from || *index >= from + length);
                let kept = kept.map(|(_, strike)| strike.clone()).collect();
                self.take(ResolvedPlan { strikes: kept, ..self.best.clone() })
            });
            if taken {
                parts = (parts - 1).max(2);
            } else if length <= 1 {
                return;
            } else {
                parts = (parts * 2).min(strikes.len());
            }
        }
    }
}

#[cfg(test)]
mod tests;
