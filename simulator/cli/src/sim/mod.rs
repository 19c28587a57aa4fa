//! `seaworthy sim`.

mod page;
mod progress;
mod report;
mod trace;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use seaworthy_fleet::history::History;
use seaworthy_fleet::{Options, Scenario, Summary};
use seaworthy_kernel::Seed;

use progress::ProgressLine;
use report::Report;

/// Arguments of `sim run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// The scenario: a YAML file.
    file: PathBuf,
    /// Another seed than the file names.
    #[arg(long)]
    seed: Option<u64>,
    /// Another number of machines than the file names.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    machines: Option<u32>,
    /// How to print what came of it.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Write a page that shows what happened: one HTML file, which needs nothing else.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev: Chrome's trace events, as JSON.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// The scenario could not be run.
const CANNOT_RUN: u8 = 2;

/// `sim run`.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    let scenario = match read(arguments) {
        Ok(scenario) => Arc::new(scenario),
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(CANNOT_RUN);
        }
    };
    let options = Options::seeded(arguments.seed.map(Seed));
    let mut line = ProgressLine::new(&scenario);
    let started = Instant::now();
    let pictures = arguments.report.is_some() || arguments.trace.is_some();
    let (summary, history) = if pictures {
        seaworthy_fleet::run_recorded(&scenario, options, |progress| line.show(progress))
    } else {
        (seaworthy_fleet::run(&scenario, options, |progress| line.show(progress)), History::default())
    };
    let report = Report { summary: &summary, goal: &scenario.goal, wall: started.elapsed() };
    line.clear();
    let text = match arguments.output {
        Output::Table => report.table(),
        Output::Json => report.json(),
    };
    // Whoever reads it may have gone away; the exit code still says what came of it.
    let _ = writeln!(std::io::stdout(), "{text}");
    if let Err(problem) = picture(arguments, &scenario, &summary, &history) {
        eprintln!("error: {problem}");
        return ExitCode::from(CANNOT_RUN);
    }
    let is_own_history = arguments.seed.is_none() && arguments.machines.is_none();
    if summary.is_good() && (summary.unseen.is_empty() || !is_own_history) {
        return ExitCode::SUCCESS;
    }
    eprintln!("run it again with: {}", again(arguments, summary.seed));
    ExitCode::FAILURE
}

/// Writes the files that show what happened.
fn picture(
    arguments: &RunArguments,
    scenario: &Scenario,
    summary: &Summary,
    history: &History,
) -> Result<(), String> {
    let again = &again(arguments, summary.seed);
    if let Some(file) = &arguments.report {
        let run = page::Run { scenario, summary, history, again };
        let page = page::render(&run).map_err(|error| format!("{}: {error}", file.display()))?;
        write(file, page.as_bytes())?;
    }
    if let Some(file) = &arguments.trace {
        let trace = trace::render(summary, history, again);
        write(file, &trace.map_err(|error| format!("{}: {error}", file.display()))?)?;
    }
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))
}

fn read(arguments: &RunArguments) -> Result<Scenario, String> {
    let file = arguments.file.display().to_string();
    let text = std::fs::read_to_string(&arguments.file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = Scenario::read(&file, &text).map_err(|error| error.to_string())?;
    match arguments.machines {
        Some(machines) => scenario.with_machines(&file, machines).map_err(|error| error.to_string()),
        None => Ok(scenario),
    }
}

/// The command that does the same again.
fn again(arguments: &RunArguments, seed: u64) -> String {
    let machines = arguments.machines.map(|machines| format!(" --machines {machines}")).unwrap_or_default();
    format!("seaworthy sim run {} --seed {seed}{machines}", arguments.file.display())
}
