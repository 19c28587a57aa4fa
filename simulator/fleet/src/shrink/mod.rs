//! From a run that fails to the smallest one that fails alike: fewer strikes, machines, manifests and moments, shorter
//! outages. Delta debugging (Zeller and Hildebrandt, 2002) over the resolved plan.

mod candidate;

use std::collections::BTreeSet;

use seaworthy_kernel::word;

use crate::attempt::{Failure, attempt};
use crate::options::Options;
use crate::plan::{ResolvedPlan, Strike};

/// What became of a plan that was made smaller.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest plan that was found.
    pub plan: ResolvedPlan,
    /// How it fails.
    pub failure: Failure,
    /// So many plans were tried.
    pub tried: u32,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrinking {
    /// Plans that were tried.
    pub tried: u32,
    /// Machines that are left.
    pub machines: u32,
    /// Strikes that are left.
    pub strikes: usize,
}

struct Shrinker<'a> {
    best: ResolvedPlan,
    failure: Failure,
    options: Options,
    tried: u32,
    seen: BTreeSet<u64>,
    progress: &'a mut dyn FnMut(Shrinking),
}

/// Rounds after which what is left is left.
const ROUNDS_MAX: u32 = 6;

/// Makes a plan smaller as long as it fails with the same invariant. `None` when it does not fail.
pub fn shrink(plan: ResolvedPlan, options: Options, progress: &mut dyn FnMut(Shrinking)) -> Option<Shrunk> {
    let failure = outcome(&plan, options)?.0;
    let mut shrinker = Shrinker { best: plan, failure, options, tried: 1, seen: BTreeSet::new(), progress };
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

/// How a plan fails, and the strikes that came to pass until then.
fn outcome(plan: &ResolvedPlan, options: Options) -> Option<(Failure, Vec<Strike>)> {
    let mut world = plan.world("plan", options).ok()?;
    let failure = attempt(&mut world).failure?;
    let missed: Vec<&Strike> = world.ledger().into_iter().flat_map(|ledger| ledger.missed()).collect();
    let now = world.now();
    let came = plan.strikes.iter().filter(|strike| {
        // What was to come after the failure is no part of it.
        !missed.contains(strike) && crate::world::START + strike.at().0 <= now
    });
    Some((failure, came.cloned().collect()))
}

/// What failures have in common that mean the same: the invariant, and of what has not converged the first words without
/// numbers.
fn kind(failure: &Failure) -> String {
    let broken = failure.invariant != "converged" && failure.invariant != "expected";
    if broken {
        return failure.invariant.clone();
    }
    let detail = failure.detail.split(';').next().unwrap_or_default();
    let words = detail.chars().filter(|letter| !letter.is_ascii_digit());
    format!("{} {}", failure.invariant, words.collect::<String>())
}

impl Shrinker<'_> {
    /// Tries a smaller plan, and keeps it if it fails alike.
    fn take(&mut self, candidate: ResolvedPlan) -> bool {
        if candidate == self.best || !self.seen.insert(word(&candidate.to_string())) {
            return false;
        }
        self.tried += 1;
        let Some((failure, came)) = outcome(&candidate, self.options) else { return false };
        if kind(&failure) != kind(&self.failure) {
            return false;
        }
        self.failure = failure;
        self.best = ResolvedPlan { strikes: came, ..candidate };
        let (machines, strikes) = (self.best.scenario.machines(), self.best.strikes.len());
        (self.progress)(Shrinking { tried: self.tried, machines, strikes });
        true
    }

    /// Takes the first of the smaller plans that fails alike, as often as there is one.
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
            let parts =
                [machines / 16, machines / 8, machines / 4, machines / 2, machines * 3 / 4, machines - 1];
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
