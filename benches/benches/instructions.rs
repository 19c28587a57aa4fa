//! Instruction counts, measured by valgrind. Unlike a time, a count is the same on a busy machine, so it shows a change of a
//! few per cent. `make bench-instructions` runs it.
//!
//! The table lists the instructions for an event of the simulator, an observation and a decision. The benchmark fails if one
//! exceeds its limit. Lower a limit below when its count has gone down for good.
//!
//! Valgrind does not know SHA instructions. Every machine here has its own release, whose digest is computed in software: that
//! is four fifths of an observation or a decision, and far less on a real processor.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seaworthy_benches::{scenario, simulate};

/// The number of machines in every fleet here.
const MACHINES: u32 = 1_000;

mod counted {
    //! The benchmarks that run under valgrind. Their inputs are made before the count begins.

    use std::sync::Arc;

    use gungraun::prelude::*;
    use seaworthy_benches::{Case, Fleet, Judged, judge, scenario};
    use seaworthy_engine::Engine;
    use seaworthy_fleet::{Scenario, Summary};
    use seaworthy_model::event::Event;
    use seaworthy_model::quantity::CountOrPercent::Percent;
    use seaworthy_model::time::Timestamp;

    use super::MACHINES;

    fn of_thousand(name: &str) -> Arc<Scenario> {
        scenario(name, MACHINES)
    }

    #[library_benchmark]
    #[bench::day(args = ("day_10k"), setup = of_thousand)]
    #[bench::upgrade(args = ("upgrade_10k"), setup = of_thousand)]
    fn simulate(scenario: Arc<Scenario>) -> Summary {
        seaworthy_benches::simulate(&scenario)
    }

    fn again() -> (Engine, Vec<Event>) {
        let (mut fleet, engine) = Fleet::settled(MACHINES, Percent(100));
        fleet.touch();
        (engine, fleet.machines())
    }

    #[library_benchmark]
    #[bench::again(setup = again)]
    fn observe((mut engine, events): (Engine, Vec<Event>)) -> Engine {
        for event in events {
            engine.observe(event);
        }
        engine
    }

    fn prepared(case: Case) -> (Engine, Timestamp) {
        case.engine(MACHINES)
    }

    #[library_benchmark]
    #[bench::no_op(args = (Case::NO_OP), setup = prepared)]
    #[bench::diff(args = (Case::DIFF), setup = prepared)]
    #[bench::blocked(args = (Case::BLOCKED), setup = prepared)]
    fn reconcile((mut engine, now): (Engine, Timestamp)) -> (Judged, Engine) {
        (judge(&mut engine, now), engine)
    }

    library_benchmark_group!(name = instructions, benchmarks = [simulate, observe, reconcile]);
    main!(library_benchmark_groups = instructions);

    /// Counts in separate processes. Exits if that fails.
    pub(super) fn run() {
        main();
    }
}

/// A count and its limit.
struct Limit {
    /// The benchmark.
    name: &'static str,
    /// The counted unit.
    unit: &'static str,
    /// The limit of instructions per unit: the count when this was last changed, and a tenth more.
    most: u64,
}

const LIMITS: [Limit; 6] = [
    Limit { name: "simulate.day", unit: "events", most: 8_300 },
    Limit { name: "simulate.upgrade", unit: "events", most: 8_200 },
    Limit { name: "observe.again", unit: "facts", most: 46_500 },
    Limit { name: "reconcile.no_op", unit: "decisions", most: 48_000 },
    Limit { name: "reconcile.diff", unit: "decisions", most: 56_500 },
    Limit { name: "reconcile.blocked", unit: "decisions", most: 51_000 },
];

fn main() -> ExitCode {
    let is_parent = !std::env::args().any(|argument| argument == "--gungraun-run");
    counted::run();
    if !is_parent {
        return ExitCode::SUCCESS;
    }
    println!("\n{:<20}{:>10} {:<10}{:>16}{:>12}{:>12}", "", "", "", "instructions", "for one", "at most");
    let mut is_good = true;
    for limit in LIMITS {
        match instructions(limit.name) {
            Ok(counted) => is_good &= print(&limit, counted),
            Err(problem) => {
                eprintln!("{}: {problem}", limit.name);
                is_good = false;
            }
        }
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a line. False if the count exceeds the limit.
fn print(limit: &Limit, counted: u64) -> bool {
    let times = match limit.name {
        "simulate.day" => simulate(&scenario("day_10k", MACHINES)).events,
        "simulate.upgrade" => simulate(&scenario("upgrade_10k", MACHINES)).events,
        _ => u64::from(MACHINES),
    };
    let one = counted / times.max(1);
    let verdict = if one > limit.most { "  TOO MANY" } else { "" };
    println!(
        "{:<20}{times:>10} {:<10}{counted:>16}{one:>12}{:>12}{verdict}",
        limit.name, limit.unit, limit.most
    );
    one <= limit.most
}

/// The count of a benchmark from valgrind's output.
fn instructions(name: &str) -> Result<u64, String> {
    let folder = folder()?.join(name);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    let file = files.find(|file| file.extension().is_some_and(|extension| extension == "out"));
    let file = file.ok_or_else(|| format!("nothing was counted in {}", folder.display()))?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    total(&text).ok_or_else(|| format!("{}: no instructions were counted", file.display()))
}

/// The folder of gungraun for valgrind's output: in the target folder of this program.
fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = program.ancestors().nth(3).map(Path::to_path_buf);
    let target = target.ok_or_else(|| format!("{} is in no target folder", program.display()))?;
    Ok(target.join("gungraun").join(env!("CARGO_PKG_NAME")).join("instructions/counted/instructions"))
}

/// All instructions in a callgrind file: the first of the totals.
fn total(text: &str) -> Option<u64> {
    let is_instructions = text.lines().any(|line| line.starts_with("events: Ir"));
    let totals =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")))?;
    totals.split_whitespace().next()?.parse().ok().filter(|_| is_instructions)
}
