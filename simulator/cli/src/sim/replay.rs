//! `seaworthy sim replay`.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use seaworthy_fleet::{Options, compare_with_twin, conclude, logged_of};

use super::exit::cannot_run;
use super::input;
use super::progress::ProgressLine;
use super::report::{Outcome as _, Report};
use crate::printing::Printing;

/// So many strikes that never came are listed: a plan that another version made may have thousands.
const MISSED_TOLD: usize = 5;

/// Arguments of `sim replay`.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The plan: a YAML file that `sim run --plan`, `sim swarm` or `sim shrink` wrote.
    plan: PathBuf,
    /// Also run the fault-free twin and compare: same final state, and no work that no fault accounts for.
    #[arg(long)]
    twin: bool,
    /// Write every message of the run to this file, one per line.
    #[arg(long, value_name = "OUT")]
    log: Option<PathBuf>,
    #[command(flatten)]
    printing: Printing,
}

/// `sim replay`.
pub(crate) fn replay(arguments: &ReplayArguments) -> ExitCode {
    let read = input::plan(&arguments.plan).and_then(|(file, plan)| {
        let world = plan.world(&file, Options::default()).map_err(|error| error.to_string())?;
        let scenario = plan.scenario.scenario(&file).map_err(|error| error.to_string())?;
        Ok((world, scenario))
    });
    let (world, scenario) = match read {
        Ok(read) => read,
        Err(problem) => return cannot_run(&problem),
    };
    if let Some(out) = &arguments.log
        && let Err(problem) = input::write_lines(out, &logged_of(world.clone()))
    {
        return cannot_run(&problem);
    }
    let mut world = ManuallyDrop::new(world);
    let mut line = ProgressLine::new(&scenario);
    let started = Instant::now();
    let summary = conclude(&mut world, &mut |progress| line.show(progress));
    let report = Report { summary: &summary, goal: &scenario.goal, wall: started.elapsed() };
    line.clear();
    report.print(&arguments.printing);
    let missed: Vec<_> = world.ledger().into_iter().flat_map(|ledger| ledger.missed()).collect();
    for strike in missed.iter().take(MISSED_TOLD) {
        eprintln!("never came: {}", strike.words());
    }
    if missed.len() > MISSED_TOLD {
        let more = missed.len() - MISSED_TOLD;
        eprintln!("never came: {more} more; was the plan edited, or made by another version?");
    }
    if !summary.is_good() {
        return ExitCode::FAILURE;
    }
    if arguments.twin
        && let Some(failure) = compare_with_twin(&world)
    {
        eprintln!("{}: {}", failure.invariant, failure.detail);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
