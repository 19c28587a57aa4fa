//! `seaworthy sim explain`.

use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use seaworthy_fleet::explanation::Chronicle;
use seaworthy_fleet::scenario::Length;
use seaworthy_fleet::world::{START, World, machine_name, since_start};
use seaworthy_fleet::{Options, Scenario};
use seaworthy_kernel::Seed;

use super::{cannot_run, input};

/// Arguments of `sim explain`.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// The scenario: a YAML file.
    file: PathBuf,
    /// The machine: `m-00007`, or its number.
    #[arg(long, value_name = "NAME")]
    machine: String,
    /// When, since the start: `1h30m`. When it becomes quiet, if left out.
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Length>,
    /// Another seed than the file names.
    #[arg(long)]
    seed: Option<u64>,
    /// Another number of machines than the file names.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    machines: Option<u32>,
}

fn time(text: &str) -> Result<Length, String> {
    Length::parse(text).ok_or_else(|| "expected a length of time such as 90s, 5m or 1h30m".into())
}

/// So many of the last things that happened are told.
const LAST: usize = 12;

/// `sim explain`.
pub(crate) fn explain(arguments: &ExplainArguments) -> ExitCode {
    match told(arguments) {
        Ok(text) => {
            // Whoever reads it may have gone away.
            let _ = write!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => cannot_run(&problem),
    }
}

fn told(arguments: &ExplainArguments) -> Result<String, String> {
    let (file, text) = input::text(&arguments.file)?;
    let mut scenario = Scenario::read(&file, &text).map_err(|error| error.to_string())?;
    if let Some(machines) = arguments.machines {
        scenario = scenario.with_machines(&file, machines).map_err(|error| error.to_string())?;
    }
    let name = arguments.machine.strip_prefix("m-").unwrap_or(&arguments.machine);
    let number = name.parse().ok().filter(|number| *number < scenario.fleet.machines);
    let number: u32 = number.ok_or_else(|| {
        let last = machine_name(scenario.fleet.machines - 1);
        format!("--machine: there is no {:?}; the last one is {last}", arguments.machine)
    })?;
    let until = START + arguments.at.unwrap_or(scenario.quiet.after).0;
    let options = Options::seeded(arguments.seed.map(Seed));
    let mut world = ManuallyDrop::new(World::new(Arc::new(scenario), options));
    let mut chronicle = Chronicle::new(&world, [number]);
    chronicle.follow(&mut world, until);
    let name = machine_name(number);
    let mut text = format!("{name} at {}\n", since_start(world.now()));
    match seaworthy_fleet::explanation::explain(&world, &name) {
        None => text.push_str("\nno operator that is alive knows this machine\n"),
        Some(explanation) => {
            for (heading, lines) in explanation.iter().filter(|(_, lines)| !lines.is_empty()) {
                text.push_str(&format!("\n{heading}\n"));
                lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
            }
        }
    }
    text.push_str("\nwhat happened\n");
    let lines = &chronicle.lines[chronicle.lines.len().saturating_sub(LAST)..];
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    Ok(text)
}
