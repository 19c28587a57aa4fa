//! The fault-free twin: the same fleet, seed, users and workloads, without faults. Faults may delay the result of a
//! scenario, but not change it. Their cost is accounted for, host by host.
//!
//! Sieve (Sun et al., OSDI 2022) found most of its bugs by this comparison. Draws are keyed, so both worlds make the
//! same draws.
//!
//! A run is compared if it succeeded. Both worlds must have the same objects with the same contents, and every host
//! must have what the same desired state leads to (`twinState`). No host may have more operations than in the twin plus
//! those that faults explain (`twinEffects`). A host that is lost for good is left out. So is a component whose rollout
//! has stopped half-way, which leaves the old version on some hosts and the new one on others.

mod account;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::observers::Observers;
use crate::options::Options;
use crate::run::attempt::{Attempt, Failure, attempt};
use crate::run::beginning::begin;
use crate::run::explanation::{Chronicle, Line};
use crate::scenario::{Check, Scenario};
use crate::vocabulary::since_start;
use crate::world::World;

/// A way in which a run differs from its twin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The invariant that is broken.
    pub invariant: &'static str,
    /// The host that differs, if the difference concerns one.
    pub host: Option<u32>,
    /// What differs: the run first, the twin second.
    pub detail: String,
}

/// The number of differences to report.
const EXAMPLES_MAX: usize = 5;

/// Lets a world run to its end, and compares it with its twin if it succeeded.
pub fn attempt_with_twin(world: &mut World) -> Attempt {
    let mut ended = attempt(world);
    if ended.failure.is_none() {
        ended.failure = compare_with_twin(world);
    }
    ended
}

/// The failure of a run that succeeded by itself: its differences from its twin.
#[must_use]
pub fn compare_with_twin(world: &World) -> Option<Failure> {
    let mut twin = beginning(world);
    if let Some(failure) = attempt(&mut twin).failure {
        let detail = format!("without faults: {}: {}", failure.invariant, failure.detail);
        return Some(Failure { invariant: "twinFails".into(), detail });
    }
    let exempt = exempt(world, &twin);
    let mut differences = state::differences(world, &twin, &exempt);
    differences.extend(account::differences(world, &twin));
    differences.retain(|difference| !difference.host.is_some_and(|host| exempt.contains(&host)));
    let first = differences.first()?;
    let mut words: Vec<String> =
        differences.iter().take(EXAMPLES_MAX).map(|difference| difference.detail.clone()).collect();
    if differences.len() > EXAMPLES_MAX {
        words.push(format!("and {} more", differences.len() - EXAMPLES_MAX));
    }
    words.extend(first.host.and_then(|host| first_in_time(world, &twin, host)));
    Some(Failure { invariant: first.invariant.into(), detail: words.join("; ") })
}

/// The hosts that may end otherwise: those that ever reported what was not true, and those that people have mixed up.
fn exempt(world: &World, twin: &World) -> BTreeSet<u32> {
    let has_lied = |host: &u32| Observers::of(world).oracle.has_lied(*host);
    let liars = (0..world.scenario.fleet.machines).filter(has_lied);
    let mistaken = |world| Observers::of(world).oracle.mistaken_hosts(world);
    liars.chain(mistaken(world)).chain(mistaken(twin)).collect()
}

/// The twin of a world, at its beginning.
fn beginning(world: &World) -> World {
    begin(Arc::new(without_faults(&world.scenario)), same_options(world))
}

/// The same scenario without faults. Its expectations are left out, because they may depend on faults, except that
/// everything converges: a twin in which nothing is written for a while may only wait.
fn without_faults(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.faults.clear();
    scenario.eventually.retain(|check| *check == Check::Converged);
    scenario.always.clear();
    scenario.sometimes.clear();
    for moment in &mut scenario.timeline {
        moment.expect.clear();
    }
    scenario
}

const fn same_options(world: &World) -> Options {
    let mut options = world.options;
    options.seed = Some(world.seed);
    options
}

/// The first difference in the history of a host: both runs are repeated and their chronicles compared line by line.
fn first_in_time(world: &World, twin: &World, host: u32) -> Option<String> {
    let mut again = begin(Arc::clone(&world.scenario), same_options(world));
    let mut story = Chronicle::new(&again, [host]);
    story.follow(&mut again, world.now());
    let mut twin_again = beginning(world);
    let mut twin_story = Chronicle::new(&twin_again, [host]);
    twin_story.follow(&mut twin_again, twin.now());
    let of_host = |line: &&Line| line.host == Some(host);
    let mut lines = story.lines.iter().filter(of_host);
    let mut twins = twin_story.lines.iter().filter(of_host);
    loop {
        let (line, twin) = (lines.next(), twins.next());
        if line.is_none() && twin.is_none() {
            return None;
        }
        if line.map(deed) != twin.map(deed) {
            let tell = |line: Option<&Line>| {
                line.map_or("nothing more".to_owned(), |line| {
                    format!("{} {}", since_start(line.at), line.text)
                })
            };
            return Some(format!(
                "host {host} differs first: {}, and without faults {}",
                tell(line),
                tell(twin)
            ));
        }
    }
}

/// The text of a line without the name of the operation.
fn deed(line: &Line) -> &str {
    line.text.split(" (").next().unwrap_or_default()
}
