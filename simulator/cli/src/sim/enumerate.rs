//! `seaworthy sim enumerate`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use seaworthy_fleet::Options;
use seaworthy_fleet::enumeration::{Enumeration, Forked, Rule};
use seaworthy_fleet::vocabulary::Strike;
use seaworthy_kernel::Seed;
use serde::Serialize;

use super::arguments::{Many, Variation};
use super::exit::cannot_run;
use super::report::Outcome;
use super::table::{counts, number};
use super::{input, progress};

/// Arguments of `sim enumerate`.
#[derive(Args)]
pub(crate) struct EnumerateArguments {
    /// The scenario: a YAML file. Its own faults are ignored.
    file: PathBuf,
    #[command(flatten)]
    variation: Variation,
    #[command(flatten)]
    many: Many,
}

/// The results of the forks of one rule.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Covered {
    points: usize,
    /// The number of forks in which the fault happened.
    covered: usize,
    failed: usize,
}

/// The printed form.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted<'a> {
    scenario: &'a str,
    seed: u64,
    machines: u32,
    write_points: usize,
    write_points_crashed_percent: f64,
    rules: BTreeMap<Rule, Covered>,
    wall_seconds: f64,
    failures: Vec<String>,
}

/// `sim enumerate`.
pub(crate) fn enumerate(arguments: &EnumerateArguments) -> ExitCode {
    let variation = arguments.variation;
    let read = input::varied(&arguments.file, variation).and_then(|(file, document)| {
        let (name, machines) = (document.name().to_owned(), document.machines());
        let own = || document.scenario(&file).map(|scenario| scenario.seed());
        let seed =
            variation.seed.map_or_else(own, |seed| Ok(Seed(seed))).map_err(|error| error.to_string())?;
        let enumeration = Enumeration::new(&file, document, seed, Options::default());
        Ok((name, machines, seed, enumeration.map_err(|error| error.to_string())?))
    });
    let (name, machines, Seed(seed), enumeration) = match read {
        Ok(read) => read,
        Err(problem) => return cannot_run(&problem),
    };
    let started = Instant::now();
    let (enumeration, mut forked) = run(enumeration, arguments.many.jobs());
    forked.sort_by_key(|forked| (forked.at(), forked.rule));
    let rules = count(&forked);
    let crashed = |rule| rules.get(&rule).map_or(0, |covered: &Covered| covered.covered);
    let crashes = crashed(Rule::CrashBefore) + crashed(Rule::CrashAfter);
    let bad: Vec<&Forked> = forked.iter().filter(|forked| forked.attempt.failure.is_some()).collect();
    let counted = Counted {
        scenario: &name,
        seed,
        machines,
        write_points: enumeration.writes,
        write_points_crashed_percent: crashes as f64 * 50.0 / enumeration.writes.max(1) as f64,
        wall_seconds: started.elapsed().as_secs_f64(),
        failures: bad.iter().map(|forked| describe(forked)).collect(),
        rules,
    };
    counted.print(&arguments.many.printing);
    if let (Some(first), Some(out)) = (bad.first(), arguments.many.plan()) {
        if let Err(problem) = input::write(out, &enumeration.plan(&first.strikes)) {
            return cannot_run(&problem);
        }
        eprintln!("run the first again with: seaworthy sim replay {}", out.display());
    }
    let all_covered = counted.rules.values().all(|covered| covered.covered == covered.points);
    if bad.is_empty() && all_covered { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs all forks, over all cores.
fn run(enumeration: Enumeration, jobs: usize) -> (Enumeration, Vec<Forked>) {
    let mut line = progress::SwarmLine::new(enumeration.count as u64);
    let (source, ended) = (Mutex::new(enumeration), AtomicUsize::new(0));
    let work = || {
        let mut all = Vec::new();
        loop {
            let fork = source.lock().ok().and_then(|mut source| source.next_fork());
            let Some(fork) = fork else { return all };
            all.push(fork.run());
            ended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let forked = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::park_timeout(progress::INTERVAL);
            line.show(ended.load(Ordering::Relaxed) as u64);
        }
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    line.clear();
    (source.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner), forked)
}

fn count(forked: &[Forked]) -> BTreeMap<Rule, Covered> {
    let mut rules: BTreeMap<Rule, Covered> =
        Rule::ALL.into_iter().map(|rule| (rule, Covered::default())).collect();
    for forked in forked {
        let covered = rules.entry(forked.rule).or_default();
        covered.points += 1;
        covered.covered += usize::from(forked.came);
        covered.failed += usize::from(forked.attempt.failure.is_some());
    }
    rules
}

fn describe(forked: &Forked) -> String {
    let failure = forked.attempt.failure.as_ref();
    let what =
        failure.map(|failure| format!("{}: {}", failure.invariant, failure.detail)).unwrap_or_default();
    let strikes: Vec<String> = forked.strikes.iter().map(Strike::words).collect();
    format!("{} at {}: {what}", strikes.join(", and "), forked.at())
}

impl Outcome for Counted<'_> {
    fn document(&self) -> impl Serialize {
        self
    }

    fn table(&self) -> String {
        let failed = self.failures.len();
        let verdict = if failed == 0 { "all clean".to_owned() } else { format!("{failed} FAILED") };
        let mut text = format!(
            "{}: {} % of {} write points crashed, {verdict}\n\n",
            self.scenario,
            self.write_points_crashed_percent,
            number(self.write_points as u64)
        );
        let rows = self.rules.iter().map(|(rule, covered)| {
            let numbers = [covered.points, covered.covered, covered.failed];
            let [points, covered, failed] = numbers.map(|count| number(count as u64));
            [rule.words().to_owned(), points, covered, failed]
        });
        let table = counts(["what went wrong", "points", "covered", "failed"], rows);
        text.push_str(&format!(
            "{table}\n\n{} machines, seed {}, {:.1} s",
            self.machines, self.seed, self.wall_seconds
        ));
        for failure in self.failures.iter().take(20) {
            text.push_str(&format!("\nFAILED {failure}"));
        }
        text
    }
}
