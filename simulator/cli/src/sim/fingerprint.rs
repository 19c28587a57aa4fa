//! `seaworthy sim fingerprint`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use clap::Args;
use seaworthy_fleet::{Difference, Fingerprint, differences, logged};
use seaworthy_kernel::Seed;

use super::arguments::{Variation, jobs, seeds};
use super::{cannot_run, input, progress};

/// Arguments of `sim fingerprint`.
#[derive(Args)]
pub(crate) struct FingerprintArguments {
    /// Scenario files, or folders of scenario files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The seeds, both ends included. By default the seed in the file.
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    seeds: Option<(u64, u64)>,
    /// The number of machines. By default the number in the file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    machines: Option<u32>,
    /// The number of runs at once. By default the number of cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Compare with the fingerprints in this file, printed by another build, and report the first case that differs.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Intended differences: lines such as `scenarios/fast/drain.yaml --seed 2: the reason`. A case that starts with the text
    /// before the colon may differ.
    #[arg(long, value_name = "FILE", requires = "against")]
    declared: Option<PathBuf>,
    /// Write every message of the first run to this file, one per line.
    #[arg(long, value_name = "OUT")]
    log: Option<PathBuf>,
}

/// One run.
struct Case {
    file: PathBuf,
    seed: Option<u64>,
}

/// `sim fingerprint`.
pub(crate) fn fingerprint(arguments: &FingerprintArguments) -> ExitCode {
    let cases = match cases(arguments) {
        Ok(cases) => cases,
        Err(problem) => return cannot_run(&problem),
    };
    if let (Some(out), Some(case)) = (&arguments.log, cases.first()) {
        return write_log(case, arguments.machines, out);
    }
    let ours = run(&cases, arguments);
    for line in &ours {
        println!("{line}");
    }
    let Some(file) = &arguments.against else { return ExitCode::SUCCESS };
    compare(file, arguments.declared.as_deref(), &ours).unwrap_or_else(|problem| cannot_run(&problem))
}

fn cases(arguments: &FingerprintArguments) -> Result<Vec<Case>, String> {
    let files = input::files(&arguments.files)?;
    let seeds: Vec<Option<u64>> =
        arguments.seeds.map_or_else(|| vec![None], |(first, last)| (first..=last).map(Some).collect());
    let each = |file: PathBuf| seeds.iter().map(move |seed| Case { file: file.clone(), seed: *seed });
    Ok(files.into_iter().flat_map(each).collect())
}

/// Runs all cases, over all cores. The answers are in the order of the cases.
fn run(cases: &[Case], arguments: &FingerprintArguments) -> Vec<Fingerprint> {
    let mut line = progress::SwarmLine::new(cases.len() as u64);
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return };
            let one = case.run(arguments.machines);
            if let Ok(mut all) = all.lock() {
                all.push((index, one));
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs(arguments.jobs)).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::park_timeout(progress::INTERVAL);
            line.show(all.lock().map_or(0, |all| all.len() as u64));
        }
    });
    line.clear();
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, one)| one).collect()
}

impl Case {
    /// Runs the case. A file that is not a valid scenario with this number of machines has its error as the outcome.
    fn run(&self, machines: Option<u32>) -> Fingerprint {
        let file = self.file.display().to_string();
        match input::scenario(&self.file, Variation { seed: self.seed, machines }) {
            Ok(scenario) => {
                let seed = self.seed.map_or_else(|| scenario.seed(), Seed);
                Fingerprint::of(&file, &Arc::new(scenario), seed)
            }
            Err(problem) => Fingerprint { case: file, outcome: problem.replace('\n', " ") },
        }
    }
}

fn write_log(case: &Case, machines: Option<u32>, out: &Path) -> ExitCode {
    let scenario = match input::scenario(&case.file, Variation { seed: case.seed, machines }) {
        Ok(scenario) => scenario,
        Err(problem) => return cannot_run(&problem),
    };
    let seed = case.seed.map_or_else(|| scenario.seed(), Seed);
    match input::write_lines(out, &logged(&Arc::new(scenario), seed)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => cannot_run(&problem),
    }
}

/// Compares with the output of another build: counts the declared differences, and reports the first undeclared one.
fn compare(base: &Path, declared: Option<&Path>, ours: &[Fingerprint]) -> Result<ExitCode, String> {
    let base: Vec<Fingerprint> = input::text(base)?.1.lines().filter_map(Fingerprint::parse).collect();
    let declared = declared.map(declarations).transpose()?.unwrap_or_default();
    let is_declared = |difference: &Difference| declared.iter().any(|case| difference.case.starts_with(case));
    let (meant, other): (Vec<_>, Vec<_>) = differences(&base, ours).into_iter().partition(is_declared);
    if !meant.is_empty() {
        eprintln!("{} of {} cases differ as declared", meant.len(), ours.len());
    }
    for case in declared.iter().filter(|case| !meant.iter().any(|one| one.case.starts_with(*case))) {
        eprintln!("declared, and does not differ here: {case}");
    }
    let Some(Difference { case, base, ours: outcome }) = other.first() else {
        eprintln!("{} cases are equal", ours.len() - meant.len());
        return Ok(ExitCode::SUCCESS);
    };
    let words = |outcome: &Option<String>| outcome.clone().unwrap_or_else(|| "not run".into());
    eprintln!("{} of {} cases differ, first: {case}", other.len(), ours.len());
    eprintln!("  base: {}\n  ours: {}", words(base), words(outcome));
    Ok(ExitCode::FAILURE)
}

/// The cases that may differ, each with its reason.
fn declarations(file: &Path) -> Result<Vec<String>, String> {
    let (file, text) = input::text(file)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let read = lines.map(|line| match line.split_once(": ") {
        Some((case, reason)) if !reason.trim().is_empty() => Ok(case.to_owned()),
        _ => Err(format!("{file}: {line:?}: expected a case, a colon and the reason why it may differ")),
    });
    read.collect()
}
