//! `seaworthy sim explain`.

use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seaworthy_fleet::explanation::{self, Chronicle};
use seaworthy_fleet::vocabulary::{Length, START, machine_name, since_start};

use super::arguments::Variation;
use super::exit::cannot_run;
use super::input;

/// Arguments of `sim explain`.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// A scenario, or a resolved plan: a YAML file.
    file: PathBuf,
    /// The machine: `m-00007`, or its number.
    #[arg(long, value_name = "NAME", required_unless_present = "version")]
    machine: Option<String>,
    /// A version instead of a machine: `webd-1.0.0`. Why it still exists after its deletion, and what uses it.
    #[arg(long, value_name = "NAME", conflicts_with = "machine")]
    version: Option<String>,
    /// The time since the start: `1h30m`. By default the start of the quiet phase.
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Length>,
    #[command(flatten)]
    variation: Variation,
    /// The number of past events to print.
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
            // The reader may have closed the pipe.
            let _ = write!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => cannot_run(&problem),
    }
}

fn told(arguments: &ExplainArguments) -> Result<String, String> {
    let mut world = ManuallyDrop::new(input::world(&arguments.file, arguments.variation)?);
    let (machines, quiet) = (world.scenario().fleet.machines, world.scenario().quiet.after);
    let machine = arguments.machine.as_deref().map(|name| number(name, machines)).transpose()?;
    let until = START + arguments.at.unwrap_or(quiet).0;
    let mut chronicle = Chronicle::new(&world, machine);
    chronicle.follow(&mut world, until);
    let (name, explanation) = match (machine, &arguments.version) {
        (Some(number), _) => {
            let name = machine_name(number);
            let explanation = explanation::explain(&world, &name);
            (name, explanation)
        }
        (None, version) => {
            let name = version.clone().unwrap_or_default();
            let explanation = explanation::explain_version(&world, &name);
            (name, explanation)
        }
    };
    let mut text = format!("{name} at {}\n", since_start(world.now()));
    match explanation {
        None => text.push_str("\nno running operator knows it\n"),
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

/// The number of a machine, if the fleet has it.
fn number(machine: &str, machines: u32) -> Result<u32, String> {
    let name = machine.strip_prefix("m-").unwrap_or(machine);
    let number = name.parse().ok().filter(|number| *number < machines);
    number.ok_or_else(|| {
        let last = machine_name(machines - 1);
        format!("--machine: there is no {machine:?}; the last one is {last}")
    })
}
