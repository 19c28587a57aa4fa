//! `seaworthy sim gate`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use clap::Args;
use seaworthy_fleet::gates::{Reached, reached};
use seaworthy_fleet::{Options, Scenario, begin, conclude};
use seaworthy_kernel::Seed;
use serde::Serialize;

use super::arguments::{jobs, seeds};
use super::exit::cannot_run;
use super::progress;
use super::report::Outcome;
use crate::memory;
use crate::printing::Printing;

/// Arguments of `sim gate`.
#[derive(Args)]
pub(crate) struct GateArguments {
    /// The seeds of each of the two scenarios, both ends included.
    #[arg(long, value_name = "A..B", value_parser = seeds, default_value = "1..1000")]
    seeds: (u64, u64),
    /// The number of machines. By default 10,000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    machines: Option<u32>,
    /// The number of runs at once. By default the number of cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    #[command(flatten)]
    printing: Printing,
}

/// A version that breaks late on one kernel.
const BAD: (&str, &str) =
    ("scenarios/gate/one_kernel.yaml", include_str!("../../../../scenarios/gate/one_kernel.yaml"));
/// A good version, and machines that become unavailable for reasons of their own.
const GOOD: (&str, &str) =
    ("scenarios/gate/noise.yaml", include_str!("../../../../scenarios/gate/noise.yaml"));

/// A bad version is to be stopped within this many batches, in so many of a hundred runs.
const STOPPED: (u32, f64) = (2, 99.0);
/// A good version may be stopped in so many of a hundred runs.
const STOPPED_WRONGLY: f64 = 5.0;

/// `sim gate`.
pub(crate) fn gate(arguments: &GateArguments) -> ExitCode {
    let count = match [BAD, GOOD].map(|file| count(arguments, file)) {
        [Ok(bad), Ok(good)] => Count { bad, good },
        [Err(problem), _] | [_, Err(problem)] => return cannot_run(&problem),
    };
    count.print(&arguments.printing);
    if count.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a scenario with every seed, and counts how far its rollout came.
fn count(arguments: &GateArguments, (file, text): (&str, &str)) -> Result<Runs, String> {
    let scenario = Scenario::read(file, text).map_err(|error| error.to_string())?;
    let scenario = match arguments.machines {
        Some(machines) => scenario.with_machines(file, machines).map_err(|error| error.to_string())?,
        None => scenario,
    };
    let scenario = Arc::new(scenario);
    let (first, last) = arguments.seeds;
    memory::keep((last - first + 1).saturating_mul(scenario.fleet.machines.into()));
    let (next, runs) = (AtomicU64::new(first), Mutex::new(Runs::default()));
    let mut line = progress::SwarmLine::new(last - first + 1);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > last {
                return;
            }
            let mut world = begin(Arc::clone(&scenario), Options::seeded(Some(Seed(seed))));
            let summary = conclude(&mut world, &mut |_| ());
            if let Ok(mut runs) = runs.lock() {
                runs.add(seed, summary.is_good(), reached(&world).unwrap_or_default());
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs(arguments.jobs)).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::park_timeout(progress::INTERVAL);
            line.show(runs.lock().map_or(0, |runs| runs.runs.into()));
        }
    });
    line.clear();
    runs.into_inner().map_err(|_| format!("{file}: a run has panicked"))
}

/// How far the rollouts of a scenario came.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Runs {
    /// How many there were.
    runs: u32,
    /// How many were stopped by the gate after a batch, by its number.
    stopped: BTreeMap<u32, u32>,
    /// The largest number of hosts that had the version at the end of a run that was stopped.
    exposed_most: u32,
    /// Seeds whose run broke an invariant or did not converge.
    broken: Vec<u64>,
}

impl Runs {
    fn add(&mut self, seed: u64, is_good: bool, reached: Reached) {
        self.runs += 1;
        if !is_good {
            self.broken.push(seed);
            self.broken.sort_unstable();
        }
        if reached.is_stopped {
            *self.stopped.entry(reached.batch).or_default() += 1;
            self.exposed_most = self.exposed_most.max(reached.exposed);
        }
    }

    /// The share of the runs, in a hundred, that were stopped after one of the first batches.
    fn stopped_within(&self, batches: u32) -> f64 {
        let stopped: u32 = self.stopped.range(..=batches).map(|(_, runs)| runs).sum();
        100.0 * f64::from(stopped) / f64::from(self.runs.max(1))
    }

    fn by_batch(&self) -> String {
        let mut text = String::new();
        for (batch, runs) in &self.stopped {
            let _ = write!(text, "after batch {batch}: {runs}, ");
        }
        let never = self.runs - self.stopped.values().sum::<u32>();
        let _ = write!(text, "never: {never}");
        text
    }
}

/// The result.
#[derive(Clone, Debug, Serialize)]
struct Count {
    bad: Runs,
    good: Runs,
}

impl Count {
    fn is_good(&self) -> bool {
        let (batches, least) = STOPPED;
        self.bad.stopped_within(batches) >= least
            && self.good.stopped_within(u32::MAX) <= STOPPED_WRONGLY
            && self.bad.broken.is_empty()
            && self.good.broken.is_empty()
    }
}

impl Outcome for Count {
    fn table(&self) -> String {
        let Self { bad, good } = self;
        let (batches, least) = STOPPED;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "A version that breaks ten minutes after its start on one kernel, {} runs",
            bad.runs
        );
        let _ = writeln!(text, "  stopped {}", bad.by_batch());
        let within = bad.stopped_within(batches);
        let _ = writeln!(text, "  {within:.1} % within {batches} batches (goal: {least:.0} % at least)");
        let _ = writeln!(text, "  hosts with the version when it was stopped: {} at most", bad.exposed_most);
        let _ = writeln!(
            text,
            "A good version, while 2 % of the machines fail for reasons of their own, {} runs",
            good.runs
        );
        let _ = writeln!(text, "  stopped {}", good.by_batch());
        let wrongly = good.stopped_within(u32::MAX);
        let _ = writeln!(text, "  {wrongly:.1} % wrongly (goal: {STOPPED_WRONGLY:.0} % at most)");
        for (file, runs) in [(BAD.0, bad), (GOOD.0, good)] {
            if let Some(seed) = runs.broken.first() {
                let broken = runs.broken.len();
                let _ = writeln!(
                    text,
                    "{broken} runs FAILED, the first with: seaworthy sim run {file} --seed {seed}"
                );
            }
        }
        text
    }

    fn document(&self) -> impl Serialize {
        self
    }
}
