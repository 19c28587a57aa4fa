//! `seaworthy sim swarm`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use seaworthy_fleet::swarm::{Divergence, Member, Swarm};
use seaworthy_fleet::{Attempt, Options};
use seaworthy_kernel::Seed;

use super::arguments::{Many, seeds};
use super::count::Count;
use super::exit::cannot_run;
use super::failures::{Failed, Wrong, groups};
use super::report::Outcome as _;
use super::{input, progress};
use crate::memory;

/// Arguments of `sim swarm`.
#[derive(Args)]
pub(crate) struct SwarmArguments {
    /// Scenario files, or folders of scenario files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The seeds, both ends included.
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    seeds: (u64, u64),
    /// The largest number of machines in a fleet. By default the number in the file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    machines: Option<u32>,
    /// Give every fleet the largest number of machines.
    #[arg(long)]
    exact: bool,
    /// Continue after a failed run: count the failures by invariant and scenario, and list every seed.
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    many: Many,
}

/// The typical number of machines in a fleet without a given size.
const USUAL: u32 = 16;
/// One in this many runs runs twice, on two threads, and is compared.
const TWICE_EVERY: u64 = 20;

/// State shared by the threads.
struct Shared<'a> {
    swarm: &'a Swarm,
    next: AtomicU64,
    last: u64,
    keep_going: bool,
    stopped: AtomicBool,
    count: Mutex<Count>,
    failed: Mutex<Vec<Failed>>,
    unusable: Mutex<Option<String>>,
}

/// `sim swarm`.
pub(crate) fn swarm(arguments: &SwarmArguments) -> ExitCode {
    let files = match input::documents(&arguments.files) {
        Ok(files) => files,
        Err(problem) => return cannot_run(&problem),
    };
    let swarm = Swarm::new(files, arguments.machines);
    let swarm = if arguments.exact { swarm.exactly() } else { swarm };
    let (first, last) = arguments.seeds;
    memory::keep((last - first + 1).saturating_mul(arguments.machines.unwrap_or(USUAL).into()));
    let jobs = arguments.many.jobs();
    let shared = Shared {
        swarm: &swarm,
        next: AtomicU64::new(first),
        last,
        keep_going: arguments.keep_going,
        stopped: AtomicBool::new(false),
        count: Mutex::default(),
        failed: Mutex::default(),
        unusable: Mutex::default(),
    };
    let started = Instant::now();
    let mut line = progress::SwarmLine::new(last - first + 1);
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| while shared.step().is_continue() {})).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::park_timeout(progress::INTERVAL);
            line.show(shared.count.lock().map_or(0, |count| count.seeds));
        }
    });
    line.clear();
    if let Some(problem) = shared.unusable.into_inner().unwrap_or_default() {
        return cannot_run(&problem);
    }
    let mut failed = shared.failed.into_inner().unwrap_or_default();
    failed.sort_by_key(|failed| failed.seed);
    let count = shared.count.into_inner().unwrap_or_default();
    count.report(started.elapsed(), &swarm, groups(&failed)).print(&arguments.many.printing);
    match failed.first() {
        None => ExitCode::SUCCESS,
        Some(first) => tell(arguments, &swarm, first),
    }
}

impl Shared<'_> {
    /// Runs the next seed.
    fn step(&self) -> ControlFlow<()> {
        let seed = self.next.fetch_add(1, Ordering::Relaxed);
        if seed > self.last || self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let member = match self.swarm.member(Seed(seed)) {
            Ok(member) => member,
            Err(problem) => {
                self.stopped.store(true, Ordering::Relaxed);
                if let Ok(mut unusable) = self.unusable.lock() {
                    *unusable = Some(format!("seed {seed}: {problem}"));
                }
                return ControlFlow::Break(());
            }
        };
        let (attempt, divergence) = run(&member, seed.is_multiple_of(TWICE_EVERY));
        if let (Some(summary), Ok(mut count)) = (&attempt.summary, self.count.lock()) {
            count.add(summary, seed.is_multiple_of(TWICE_EVERY));
        }
        let what = attempt.failure.map(Wrong::Failed).or_else(|| divergence.map(Wrong::Diverged));
        if let Some(what) = what {
            self.stopped.fetch_or(!self.keep_going, Ordering::Relaxed);
            let (machines, file) = (member.machines(), member.file);
            if let Ok(mut failed) = self.failed.lock() {
                failed.push(Failed { seed, file, machines, what });
            }
        }
        ControlFlow::Continue(())
    }
}

/// One run. If it is to be compared, a second one runs on its own thread.
fn run(member: &Member, twice: bool) -> (Attempt, Option<Divergence>) {
    let options = Options::default();
    if !twice {
        return (member.run_with_twin(options), None);
    }
    let (attempt, record) = member.recorded_with_twin(options);
    let again = thread::scope(|scope| scope.spawn(|| member.recorded(options).1).join());
    (attempt, again.ok().and_then(|again| record.divergence(&again)))
}

/// Reports the first failure, and the command that repeats it.
fn tell(arguments: &SwarmArguments, swarm: &Swarm, first: &Failed) -> ExitCode {
    eprintln!("{}", first.words());
    let Failed { seed, file, .. } = first;
    let machines = arguments.machines.map(|machines| format!(" --machines {machines}")).unwrap_or_default();
    let exact = if arguments.exact { " --exact" } else { "" };
    eprintln!("run it again with: seaworthy sim swarm {file} --seeds {seed}..{seed}{machines}{exact}");
    if let Some(out) = arguments.many.plan() {
        let plan = swarm.member(Seed(*seed)).map(|member| member.plan(Options::default()));
        let written = plan.map_err(|error| error.to_string()).and_then(|plan| input::write(out, &plan));
        if let Err(problem) = written {
            return cannot_run(&problem);
        }
        eprintln!("make it small with: seaworthy sim shrink {}", out.display());
    }
    ExitCode::FAILURE
}
