//! `seaworthy sim shrink`.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use seaworthy_fleet::explanation::Chronicle;
use seaworthy_fleet::shrink::{Shrunk, failure, shrink as make_smaller};
use seaworthy_fleet::{Options, ResolvedPlan, attempt, begin_noted};
use seaworthy_kernel::Seed;

use super::arguments::Variation;
use super::exit::cannot_run;
use super::input;

/// Arguments of `sim shrink`.
#[derive(Args)]
pub(crate) struct ShrinkArguments {
    /// A resolved plan, or a scenario: a YAML file.
    file: PathBuf,
    #[command(flatten)]
    variation: Variation,
    /// The file for the smallest plan. By default `NAME.shrunk.yaml` beside the input.
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
}

/// The number of machines whose events are printed.
const HOSTS_TOLD: u32 = 64;
/// The largest number of printed lines: the beginning and the end.
const LINES_MAX: usize = 60;

/// `sim shrink`.
pub(crate) fn shrink(arguments: &ShrinkArguments) -> ExitCode {
    let (before, shrunk) = match run(arguments) {
        Ok(run) => run,
        Err(problem) => return cannot_run(&problem),
    };
    let out = arguments.out.clone().unwrap_or_else(|| beside(&arguments.file));
    if let Err(problem) = input::write(&out, &shrunk.plan).and_then(|()| verify(&out, &shrunk)) {
        return cannot_run(&problem);
    }
    let plan = &shrunk.plan;
    let text = format!(
        "{}: {} with {} machines and {} strikes, of {} and {}; {} plans tried\n{}\n\n{}",
        plan.scenario.name(),
        shrunk.failure.invariant,
        plan.scenario.machines(),
        plan.strikes.len(),
        before.0,
        before.1,
        shrunk.tried,
        shrunk.failure.detail,
        story(plan).join("\n"),
    );
    // The reader may have closed the pipe; the plan is written.
    let _ = writeln!(std::io::stdout(), "{text}");
    // A run that breaks no invariant itself fails only in the comparison with its twin.
    let twin = if shrunk.failure.invariant.starts_with("twin") { " --twin" } else { "" };
    eprintln!("run it with: seaworthy sim replay {}{twin}", out.display());
    ExitCode::SUCCESS
}

/// Machines and strikes before and after.
fn run(arguments: &ShrinkArguments) -> Result<((u32, usize), Shrunk), String> {
    let plan = read(arguments)?;
    let before = (plan.scenario.machines(), plan.strikes.len());
    // A failure may be a panic, in hundreds of plans. Panics are counted, not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let visible = stderr().is_terminal();
    let shrunk = make_smaller(plan, Options::default(), &mut |step| {
        if visible {
            let _ = write!(
                stderr(),
                "\r\x1b[K{} machines, {} strikes, {} tried",
                step.machines,
                step.strikes,
                step.tried
            );
        }
    });
    if visible {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let shrunk = shrunk.ok_or_else(|| format!("{}: this run does not fail", arguments.file.display()))?;
    Ok((before, shrunk))
}

/// Runs the written file to verify that it fails in the same way, because people will rely on it.
fn verify(out: &Path, shrunk: &Shrunk) -> Result<(), String> {
    let (_, plan) = input::plan(out)?;
    match failure(&plan, Options::default()) {
        Some(failure) if failure == shrunk.failure => Ok(()),
        Some(_) | None => Err(format!("{}: does not fail as it did before it was written", out.display())),
    }
}

fn read(arguments: &ShrinkArguments) -> Result<ResolvedPlan, String> {
    let variation = arguments.variation;
    if let Some(plan) = input::plan_as_it_is(&arguments.file, variation)? {
        return Ok(plan);
    }
    let (file, document) = input::varied(&arguments.file, variation)?;
    let scenario = Arc::new(document.scenario(&file).map_err(|error| error.to_string())?);
    let mut world = begin_noted(scenario, Options::seeded(variation.seed.map(Seed)));
    let _ = attempt(&mut world);
    let strikes = world.ledger().map(|ledger| ledger.strikes().to_vec()).unwrap_or_default();
    Ok(ResolvedPlan { scenario: document, seed: world.seed(), strikes })
}

/// The events of a plan in order, for people.
fn story(plan: &ResolvedPlan) -> Vec<String> {
    let world = || plan.world("plan", Options::default()).ok();
    let (Some(mut first), Some(mut again)) = (world(), world()) else { return Vec::new() };
    let _ = attempt(&mut first);
    let mut chronicle = Chronicle::new(&again, 0..plan.scenario.machines().min(HOSTS_TOLD));
    let until = first.now();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        chronicle.follow(&mut again, until);
        chronicle.lines.iter().map(ToString::to_string).collect::<Vec<String>>()
    }));
    let lines = told.unwrap_or_default();
    let left_out = lines.len().saturating_sub(LINES_MAX);
    if left_out == 0 {
        return lines;
    }
    let (head, tail) = (&lines[..LINES_MAX / 3], &lines[LINES_MAX / 3 + left_out..]);
    let between = format!("... {left_out} more ...");
    head.iter().cloned().chain([between]).chain(tail.iter().cloned()).collect()
}

/// `NAME.shrunk.yaml` beside a file.
fn beside(file: &Path) -> PathBuf {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    file.with_file_name(format!("{stem}.shrunk.yaml"))
}
