//! Runs the suites of this crate side by side, each in a process and in worlds of its own.
//!
//! A suite is one module of the test program, or the unit tests of the library or of a program. What it prints goes to a file of its name; here it is one line when the suite ends. A suite
//! that fails does not stop the others. At the end it says why each failure happened, and lists all suites with their times.
//!
//! Cargo builds the suites before: `cargo test --no-run --message-format=json` prints which programs there are.

mod failure;
mod outcome;
mod report;
mod runner;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use seaworthy_e2e::{Sweep, log_folder, sweep, unsupported};

use crate::runner::Runner;

/// Run the suites of the real part side by side.
#[derive(Debug, Parser)]
#[command(name = "e2e-suites")]
struct Arguments {
    /// What `cargo test --no-run --message-format=json` has printed.
    #[arg(long, value_name = "FILE")]
    built: PathBuf,
    /// How many suites run at the same time; 0 is one for each processor, and up to two while the machine has time and memory.
    #[arg(long, env = "SEAWORTHY_E2E_AT_ONCE", default_value_t = 0, value_name = "NUMBER")]
    at_once: usize,
    /// How often each suite runs.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    times: u32,
    /// A suite that still runs after so many seconds is killed, and has failed.
    #[arg(long, default_value_t = 1800, value_name = "SECONDS")]
    limit: u64,
    /// Only these suites. By default all.
    #[arg(value_name = "SUITE")]
    only: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(reason) = unsupported() {
        eprintln!("SKIPPED: {reason}");
        return Ok(ExitCode::SUCCESS);
    }
    let messages = std::fs::read_to_string(&arguments.built)
        .with_context(|| format!("cannot read {}", arguments.built.display()))?;
    let suites = suite::chosen(suite::built(&messages)?, &arguments.only)?;
    ensure!(arguments.times > 0, "nothing to run");
    let (at_once, always) = match arguments.at_once {
        0 => (runner::room()?, thread::available_parallelism()?.get()),
        number => (number, number),
    };
    let runner = Runner {
        logs: log_folder().join("suites"),
        limit: Duration::from_secs(arguments.limit),
        at_once: at_once.min(suites.len() * arguments.times as usize),
        always,
    };
    let outcomes = runner.run(&suites, arguments.times)?;
    // What the worlds of a killed suite left is of no use to anybody.
    sweep(&Sweep::Abandoned)?;
    let is_green = outcomes.iter().all(outcome::Outcome::has_passed);
    print!("{}", report::report(&outcomes, runner.at_once));
    Ok(if is_green { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
