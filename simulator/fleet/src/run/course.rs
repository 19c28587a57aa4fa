//! A run has three phases: chaos; quiet, in which everything has to converge; and stability, in which nothing is
//! written any more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::{Seed, Timestamp};
use serde::Serialize;

use crate::observers::Observers;
use crate::observers::history::{History, Recorder};
use crate::observers::oracle::{
    Oracle, RECOUNT, Violation, convergence_bound, doubts, recount, recount_after,
};
use crate::observers::tally::Tally;
use crate::options::{Heartbeats, Options};
use crate::run::beginning::begin;
use crate::run::label::fault_labels;
use crate::scenario::Scenario;
use crate::vocabulary::{START, readable, since_start};
use crate::world::World;
use crate::world::host::Host;

/// The number of events between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 16;

/// The number of events between two checks of what must always hold. These checks read counts that only grow, so
/// nothing is missed in between.
const LOOK_EVERY: u64 = 1 << 8;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of events so far.
    pub events: u64,
    /// The simulated time so far.
    pub simulated: Duration,
    /// Whether faults may still act.
    pub chaos: bool,
    /// The number of operations that have begun on hosts so far.
    pub operations: u64,
}

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// How many machines the fleet had at the beginning.
    pub machines: u32,
    /// Whether all expectations at the end of the scenario held, and continued to hold without another write.
    pub converged: bool,
    /// The reasons why the expectations at the end did not hold. Empty if they held.
    pub missing: Vec<String>,
    /// The occasions of `sometimes` that did not happen. With the scenario's own seed and fleet, they make the scenario
    /// worthless; another history may do without them.
    pub unseen: Vec<&'static str>,
    /// Invariants that were broken.
    pub violations: Vec<Breach>,
    /// The invariants whose breaches the scenario allowed, each with the number of breaches.
    pub tolerated: BTreeMap<&'static str, u32>,
    /// Events that were dispatched.
    pub events: u64,
    /// The simulated time that passed.
    pub simulated_seconds: u64,
    /// Writes of operators that the API server committed.
    pub api_writes: u64,
    /// The writes that renewed the Lease.
    pub lease_renewals: u64,
    /// The writes that changed a Machine, per machine, in hundredths.
    pub machine_writes: u64,
    /// How renewals of Node leases were simulated.
    pub heartbeats: Heartbeats,
    /// The renewals that were events of their own and succeeded.
    pub node_renewals: u64,
    /// The renewals that were events of their own and failed.
    pub node_renewals_failed: u64,
    /// Calls of `reconcile`.
    pub turns: u64,
    /// Operations that began on hosts.
    pub operations: u64,
    /// Hosts that were ever harmed by a release that failed.
    pub harmed: u32,
    /// Hosts that could be reached at the end.
    pub reachable: u32,
    /// The most of the budget that was used when one of our operations started.
    pub budget: Budget,
    /// The number of hosts per version when users first acted.
    pub versions_before: BTreeMap<String, u32>,
    /// The number of hosts per version at the end.
    pub versions_after: BTreeMap<String, u32>,
    /// How often each fault struck.
    pub strikes: BTreeMap<String, u64>,
    /// The occasions that happened, each with the number of times.
    pub occasions: BTreeMap<&'static str, u64>,
    /// The hash of everything observable: two runs that did the same have the same hash, with heartbeats folded or
    /// explicit.
    pub trace_hash: String,
}

/// An invariant that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// Its name.
    pub invariant: &'static str,
    /// The time of the breach, since the start of the run.
    pub at: String,
    /// What happened.
    pub detail: String,
}

/// The largest use of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// The number of machines at work or unavailable.
    pub peak: u32,
    /// The limit at that moment.
    pub limit: u32,
    /// The largest number of machines at work at the same time.
    pub at_work: u32,
}

impl Summary {
    /// The same summary without the values that depend on how heartbeats are simulated, that is, the number of events.
    #[must_use]
    pub fn observable(self) -> Self {
        let heartbeats = Heartbeats::Folded;
        Self { events: 0, heartbeats, node_renewals: 0, node_renewals_failed: 0, ..self }
    }

    /// Whether the run succeeded.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.converged && self.violations.is_empty()
    }
}

/// Runs a scenario to its end.
pub fn run(scenario: &Arc<Scenario>, options: Options, mut progress: impl FnMut(&Progress)) -> Summary {
    let mut world = begin(Arc::clone(scenario), options);
    conclude(&mut world, &mut progress)
}

/// Lets a world run to its end. The world may have run before.
pub fn conclude(world: &mut World, progress: &mut impl FnMut(&Progress)) -> Summary {
    let missing = drive(world, progress);
    summarise(world, missing)
}

/// Runs a scenario to its end and records its history. The recording does not change the run.
pub fn run_recorded(
    scenario: &Arc<Scenario>,
    options: Options,
    mut progress: impl FnMut(&Progress),
) -> (Summary, History) {
    conclude_recorded(&mut begin(Arc::clone(scenario), options), &mut progress)
}

/// Lets a world run to its end, and records what happens from now on.
pub fn conclude_recorded(world: &mut World, progress: &mut impl FnMut(&Progress)) -> (Summary, History) {
    Observers::change(world, |observers| observers.recorder = Recorder::on());
    let missing = drive(world, progress);
    let recorder = Observers::change(world, |observers| std::mem::take(&mut observers.recorder));
    let places = (&world.scenario.fleet, &world.catalogue);
    let history = recorder.finish(world.now(), places, oracle(world).violations());
    (summarise(world, missing), history)
}

/// Dispatches events until the run is over. Returns the reasons why the expectations at the end do not hold.
fn drive(world: &mut World, progress: &mut impl FnMut(&Progress)) -> Vec<String> {
    let quiet = world.quiet;
    let stable = world.scenario.quiet.stable.0;
    let mut limit = None;
    let events_max = 50_000_000 + 10_000 * u64::from(world.scenario.fleet.machines);
    let mut look_at = quiet + stable;
    let mut missing = vec!["the run was broken off".to_owned()];
    let (mut events, mut recounts) = (0u64, 0u64);
    let mut recount_at = recount_after(world, recounts);
    while !world.is_objected_to() {
        events += 1;
        if events.is_multiple_of(PROGRESS_EVERY) {
            progress(&progress_of(world));
        }
        if events.is_multiple_of(LOOK_EVERY) {
            look_always(world);
        }
        if events == recount_at {
            count_again(world);
            recounts += 1;
            recount_at += recount_after(world, recounts);
        }
        if events > events_max {
            let detail = format!("{events_max} events, and no end");
            breach(world, "livelock", detail);
        }
        if world.step_until(limit.map_or(look_at, |limit| look_at.min(limit))) {
            continue;
        }
        let limit = *limit.get_or_insert_with(|| quiet + time_to_converge(world) + stable);
        let idle = world.last_write.max(world.last_operation).max(quiet) + stable;
        if world.now() < idle && world.now() < limit {
            look_at = idle;
            continue;
        }
        look_always(world);
        missing = judge(world);
        let doubts = if missing.is_empty() { doubts(world) } else { Vec::new() };
        if missing.is_empty() && doubts.is_empty() && !is_work_under_way(world) {
            count_again(world);
            let now = world.now();
            Observers::change(world, |observers| observers.oracle.account(now));
            return missing;
        }
        if world.now() >= limit {
            for doubt in doubts {
                breach(world, "explained", doubt);
            }
            let after = readable(limit.since(quiet));
            missing.push(format!("{after} after the last fault, which is longer than it may take"));
            break;
        }
        let patience = (world.now().since(quiet) / 50).max(Duration::from_secs(60));
        look_at = world.now() + patience;
    }
    progress(&progress_of(world));
    missing
}

/// Whether an operation goes on that may still change the outcome. One that was cut short goes on when its host, or the next
/// order, starts the host program.
fn is_work_under_way(world: &World) -> bool {
    let goes_on = |host: &Host| host.running().is_some_and(|running| !running.is_orphaned);
    world.hosts.iter().any(|host| host.is_reachable() && goes_on(host))
}

fn oracle(world: &World) -> &Oracle {
    &Observers::of(world).oracle
}

fn tally(world: &World) -> &Tally {
    &Observers::of(world).tally
}

/// Notes that an invariant was broken.
fn breach(world: &mut World, invariant: &'static str, detail: String) {
    let now = world.now();
    Observers::change(world, |observers| observers.oracle.breach(invariant, now, detail));
}

/// Records breaches of what must always hold.
fn look_always(world: &mut World) {
    let observers = Observers::of(world);
    let checks = &world.scenario.always;
    let problems: Vec<String> = checks.iter().flat_map(|check| observers.judge(world, check)).collect();
    for problem in problems {
        breach(world, "always", problem);
    }
}

/// Recounts everything. Each difference breaks an invariant.
pub(crate) fn count_again(world: &mut World) {
    for detail in recount(world, oracle(world)) {
        breach(world, RECOUNT, detail);
    }
}

/// The time that convergence may take from the start of the quiet phase: as the scenario says, or as derived from the
/// work to do.
fn time_to_converge(world: &World) -> Duration {
    world.scenario.quiet.limit.map_or_else(|| convergence_bound(world), |limit| limit.0)
}

fn judge(world: &World) -> Vec<String> {
    let observers = Observers::of(world);
    world.scenario.eventually.iter().flat_map(|check| observers.judge(world, check)).collect()
}

/// The occasions of `sometimes` that did not happen.
fn unseen(world: &World) -> Vec<&'static str> {
    let unseen = world.scenario.sometimes.iter().filter(|occasion| tally(world).count(**occasion) == 0);
    unseen.map(|occasion| occasion.name()).collect()
}

fn progress_of(world: &World) -> Progress {
    Progress {
        events: world.queue.dispatched(),
        simulated: world.now().since(START),
        chaos: world.now() < world.quiet,
        operations: tally(world).operations,
    }
}

fn summarise(world: &World, missing: Vec<String>) -> Summary {
    let Observers { oracle, tally, .. } = Observers::of(world);
    let peak = oracle.peak();
    let violations: Vec<Breach> = oracle.violations().iter().map(breach_of).collect();
    let reachable = world.hosts.iter().filter(|host| host.is_reachable()).count();
    let Seed(seed) = world.seed;
    Summary {
        scenario: world.scenario.name.clone(),
        seed,
        machines: world.scenario.fleet.machines,
        converged: missing.is_empty() && violations.is_empty(),
        missing,
        unseen: unseen(world),
        violations,
        tolerated: oracle.tolerated().collect(),
        events: world.queue.dispatched(),
        simulated_seconds: simulated(world.now()),
        api_writes: tally.api_writes,
        lease_renewals: tally.lease_renewals,
        machine_writes: tally.machine_writes,
        heartbeats: world.options.heartbeats,
        node_renewals: tally.node_renewals,
        node_renewals_failed: tally.node_renewals_failed,
        turns: tally.turns,
        operations: tally.operations,
        harmed: oracle.harmed(),
        reachable: u32::try_from(reachable).unwrap_or(u32::MAX),
        budget: Budget { peak: peak.used, limit: peak.limit, at_work: peak.at_work },
        versions_before: tally.versions_before.clone(),
        versions_after: world.versions(),
        strikes: fault_labels(&world.scenario).into_iter().zip(world.strikes()).collect(),
        occasions: tally.occasions().iter().map(|(occasion, count)| (occasion.name(), *count)).collect(),
        trace_hash: world.trace.to_string(),
    }
}

fn breach_of(violation: &Violation) -> Breach {
    let Violation { invariant, at, detail } = violation;
    Breach { invariant, at: since_start(*at), detail: detail.clone() }
}

fn simulated(now: Timestamp) -> u64 {
    now.since(START).as_secs()
}
