//! `seaworthy sim`.

mod arguments;
mod count;
mod enumerate;
mod exit;
mod explain;
mod failures;
mod fingerprint;
mod gate;
mod input;
mod page;
mod progress;
mod replay;
mod report;
mod shrink;
mod swarm;
mod table;
mod trace;

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use seaworthy_fleet::history::History;
use seaworthy_fleet::world::World;
use seaworthy_fleet::{
    Options, ResolvedPlan, Summary, begin, begin_noted, compare_with_twin, conclude, conclude_recorded,
};
use seaworthy_kernel::Seed;

use arguments::Variation;
pub(crate) use enumerate::{EnumerateArguments, enumerate};
use exit::cannot_run;
pub(crate) use explain::{ExplainArguments, explain};
pub(crate) use fingerprint::{FingerprintArguments, fingerprint};
pub(crate) use gate::{GateArguments, gate};
use progress::ProgressLine;
pub(crate) use replay::{ReplayArguments, replay};
use report::{Outcome as _, Report};
pub(crate) use shrink::{ShrinkArguments, shrink};
pub(crate) use swarm::{SwarmArguments, swarm};

use crate::memory;
use crate::printing::Printing;

/// Arguments of `sim run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// The scenario: a YAML file.
    file: PathBuf,
    #[command(flatten)]
    variation: Variation,
    /// Write the resolved plan of the run to this file: scenario, seed, and every fault strike. `sim replay` runs it.
    #[arg(long, value_name = "OUT")]
    plan: Option<PathBuf>,
    /// Also run the fault-free twin and compare: same final state, and no work that no fault accounts for.
    #[arg(long)]
    twin: bool,
    /// How kubelets renew the leases of their Nodes. The observable result and the trace hash are the same.
    #[arg(long, value_enum, default_value_t = Heartbeats::Folded)]
    heartbeats: Heartbeats,
    #[command(flatten)]
    printing: Printing,
    /// Write a report of the run: one HTML file without dependencies.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev: Chrome trace events as JSON.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Heartbeats {
    /// A renewal is an event only if it can change a Node.
    Folded,
    /// Every renewal is an event.
    Explicit,
}

/// `sim run`.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    let scenario = match input::scenario(&arguments.file, arguments.variation) {
        Ok(scenario) => Arc::new(scenario),
        Err(problem) => return cannot_run(&problem),
    };
    memory::keep(u64::from(scenario.fleet.machines));
    let options = options(arguments);
    let mut line = ProgressLine::new(&scenario);
    let started = Instant::now();
    // The process ends soon. Freeing a large fleet piece by piece takes longer than the exit.
    let mut world = ManuallyDrop::new(match &arguments.plan {
        Some(_) => begin_noted(Arc::clone(&scenario), options),
        None => begin(Arc::clone(&scenario), options),
    });
    let mut progress = |progress: &seaworthy_fleet::Progress| line.show(progress);
    let pictures = arguments.report.is_some() || arguments.trace.is_some();
    let (summary, history) = if pictures {
        conclude_recorded(&mut world, &mut progress)
    } else {
        (conclude(&mut world, &mut progress), History::default())
    };
    let report = Report { summary: &summary, goal: &scenario.goal, wall: started.elapsed() };
    line.clear();
    report.print(&arguments.printing);
    if let Err(problem) = write_files(arguments, &world, &summary, &history) {
        return cannot_run(&problem);
    }
    if arguments.twin
        && summary.is_good()
        && let Some(failure) = compare_with_twin(&world)
    {
        eprintln!("{}: {}", failure.invariant, failure.detail);
        eprintln!("run it again with: {} --twin", again(arguments, summary.seed));
        return ExitCode::FAILURE;
    }
    let is_own_history = arguments.variation.seed.is_none() && arguments.variation.machines.is_none();
    if summary.is_good() && (summary.unseen.is_empty() || !is_own_history) {
        return ExitCode::SUCCESS;
    }
    eprintln!("run it again with: {}", again(arguments, summary.seed));
    ExitCode::FAILURE
}

/// Writes the requested files: the plan, the report and the trace.
fn write_files(
    arguments: &RunArguments,
    world: &World,
    summary: &Summary,
    history: &History,
) -> Result<(), String> {
    if let Some(out) = &arguments.plan {
        write_plan(arguments, world, out)?;
    }
    let (again, scenario) = (&again(arguments, summary.seed), world.scenario());
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

/// Writes the resolved plan of a run that has ended.
fn write_plan(arguments: &RunArguments, world: &World, out: &Path) -> Result<(), String> {
    let (_, scenario) = input::varied(&arguments.file, arguments.variation)?;
    let strikes = world.ledger().map(|ledger| ledger.strikes().to_vec()).unwrap_or_default();
    input::write(out, &ResolvedPlan { scenario, seed: world.seed(), strikes })
}

fn options(arguments: &RunArguments) -> Options {
    let heartbeats = match arguments.heartbeats {
        Heartbeats::Folded => seaworthy_fleet::Heartbeats::Folded,
        Heartbeats::Explicit => seaworthy_fleet::Heartbeats::Explicit,
    };
    Options { heartbeats, ..Options::seeded(arguments.variation.seed.map(Seed)) }
}

/// The command that repeats the run.
fn again(arguments: &RunArguments, seed: u64) -> String {
    let machines =
        arguments.variation.machines.map(|machines| format!(" --machines {machines}")).unwrap_or_default();
    let heartbeats = match arguments.heartbeats {
        Heartbeats::Folded => "",
        Heartbeats::Explicit => " --heartbeats explicit",
    };
    format!("seaworthy sim run {} --seed {seed}{machines}{heartbeats}", arguments.file.display())
}
