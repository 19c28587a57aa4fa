//! `seaworthy sim explain`.

use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seaworthy_fleet::explanation::Chronicle;
use seaworthy_fleet::scenario::Length;
use seaworthy_fleet::world::{START, machine_name, since_start};

use super::arguments::Variation;
use super::{cannot_run, input};

/// Arguments of `sim explain`.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// A scenario, or a resolved plan: a YAML file.
    file: PathBuf,
    /// The machine: `m-00007`, or its number.
    #[arg(long, value_name = "NAME")]
    machine: String,
    /// When, since the start: `1h30m`. When it becomes quiet, if left out.
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Length>,
    #[command(flatten)]
    variation: Variation,
    /// So many of the last things that happened are told.
    #[arg(long, value_name = "N", default_value_t = 12)]
    last: usize,
}

fn time(text: &str) -> Result<Length, String> {
    Length::parse(text).ok_or_else(|| "expected a length of time such as 90s, 5m or 1h30m".into())
}

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
    let mut world = ManuallyDrop::new(input::world(&arguments.file, arguments.variation)?);
    let (machines, quiet) = (world.scenario().fleet.machines, world.scenario().quiet.after);
    let name = arguments.machine.strip_prefix("m-").unwrap_or(&arguments.machine);
    let number = name.parse().ok().filter(|number| *number < machines);
    let number: u32 = number.ok_or_else(|| {
        let last = machine_name(machines - 1);
        format!("--machine: there is no {:?}; the last one is {last}", arguments.machine)
    })?;
    let until = START + arguments.at.unwrap_or(quiet).0;
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
    let lines = &chronicle.lines[chronicle.lines.len().saturating_sub(arguments.last)..];
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    Ok(text)
}
