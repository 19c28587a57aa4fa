//! Measures the operator with thousands of machines, and prints the figures beside their goals.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use seaworthy_e2e::bench::{Bench, Cost, Row, Start, Throttled, number, seed, table};
use seaworthy_e2e::{World, ensure_parts};

/// How long the API server stands still, and how long it is throttled.
const OUTAGE: Duration = Duration::from_secs(60);

/// The memory limit of the chart, in MiB.
const LIMIT: f64 = 512.0;

/// Measure the operator on a real API server with thousands of hosts behind real SSH.
#[derive(Debug, Parser)]
#[command(name = "fleet-bench", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// The number of machines.
    #[arg(long, default_value_t = 10_000)]
    machines: u32,
    /// How long an operation takes on a host, in milliseconds.
    #[arg(long, default_value_t = 0)]
    operation_ms: u64,
    /// How long nothing is asked for, in seconds.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Only start the operator so many times, one after the other, and tell what each start has used.
    #[arg(long, value_name = "NUMBER")]
    starts: Option<u32>,
    /// Set up every machine before that: then the operator finds that there is nothing to do.
    #[arg(long, requires = "starts")]
    settled: bool,
    /// Only set up every machine, upgrade all of them so many times, wait for the idle time, and stop the operator: for
    /// profiles.
    #[arg(long, value_name = "NUMBER", conflicts_with = "starts")]
    upgrades: Option<u32>,
    /// Only set up every machine, freeze the API server in so many upgrades, and tell after how long each went on.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["starts", "upgrades"])]
    frosts: Option<u32>,
    /// Measure nothing: set up every machine, and stay until the standard input ends, for people to look at.
    #[arg(long, conflicts_with_all = ["starts", "upgrades", "frosts"])]
    hold: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Create Machines and Nodes. It is run where the API server can be reached.
    #[command(hide = true)]
    Seed {
        #[arg(long)]
        kubeconfig: PathBuf,
        #[arg(long)]
        machines: u32,
        #[arg(long)]
        host_key: String,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(Task::Seed { kubeconfig, machines, host_key }) = arguments.task {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(seed::seed(&kubeconfig, machines, &host_key));
    }
    ensure_parts()?;
    let world = World::start(0)?;
    let mut bench = Bench::start(&world, arguments.machines, Duration::from_millis(arguments.operation_ms))?;
    eprintln!("{} machines and Nodes are there", arguments.machines);
    if let Some(starts) = arguments.starts {
        return start(&mut bench, starts, arguments.settled);
    }
    let idle = Duration::from_secs(arguments.idle);
    if let Some(upgrades) = arguments.upgrades {
        return upgrade(&mut bench, upgrades, idle);
    }
    if let Some(frosts) = arguments.frosts {
        return freeze(&mut bench, frosts);
    }
    if arguments.hold {
        return hold(&mut bench);
    }
    let found = measure(&mut bench, idle)?;
    println!("{}", table(&rows(&found, Duration::from_millis(arguments.operation_ms))));
    Ok(())
}

/// Starts the operator so many times.
fn start(bench: &mut Bench<'_>, times: u32, is_settled: bool) -> Result<()> {
    if is_settled {
        told("import", bench.import("1.0.0")?.1);
        bench.stop_operator()?;
    }
    for _ in 0..times {
        println!("{:.2?}", bench.start_operator()?);
        bench.stop_operator()?;
    }
    Ok(())
}

/// Upgrades the fleet so many times. What it costs is for a profiler to tell.
fn upgrade(bench: &mut Bench<'_>, times: u32, idle: Duration) -> Result<()> {
    told("import", bench.import("1.0.0")?.1);
    for version in 1..=times {
        told(&format!("version 1.{version}.0"), bench.roll_out(&format!("1.{version}.0"))?);
    }
    told("idle", bench.idle(idle)?);
    bench.stop_operator()
}

/// Freezes the API server in so many upgrades.
fn freeze(bench: &mut Bench<'_>, times: u32) -> Result<()> {
    let (_, import) = bench.import("1.0.0")?;
    let at = told("import", import).machines * 3 / 10;
    for version in 1..=times {
        println!("{:.2?}", bench.freeze(&format!("1.{version}.0"), at, OUTAGE)?);
    }
    bench.stop_operator()
}

/// Leaves the fleet to people until the standard input ends.
fn hold(bench: &mut Bench<'_>) -> Result<()> {
    bench.import("1.0.0")?;
    println!("{}", bench.hints()?);
    io::copy(&mut io::stdin(), &mut io::sink())?;
    bench.stop_operator()
}

/// What was measured.
struct Findings {
    cold: Start,
    again: Start,
    settled: Start,
    import: Cost,
    upgrade: Cost,
    batches: Cost,
    idle: Cost,
    /// The part of an upgrade after a takeover.
    rest: Cost,
    /// From the end of a frost to the first operation.
    frost: Duration,
    throttled: Throttled,
}

fn measure(bench: &mut Bench<'_>, idle: Duration) -> Result<Findings> {
    let (cold, import) = bench.import("1.0.0")?;
    say("start", &format!("{cold:?}"));
    let import = told("import", import);
    let upgrade = told("upgrade", bench.roll_out("1.1.0")?);
    let idle = told("idle", bench.idle(idle)?);
    let batches = told("upgrade in batches", bench.roll_out_in_batches("1.2.0")?);
    let (again, rest) = bench.take_over("1.3.0", upgrade.machines * 3 / 10)?;
    let rest = told("rest after a takeover", rest);
    bench.stop_operator()?;
    let settled = bench.start_operator()?;
    say("start of a settled fleet", &format!("{settled:?}"));
    let frost = bench.freeze("1.4.0", upgrade.machines * 3 / 10, OUTAGE)?;
    let throttled = bench.throttle("1.5.0", upgrade.machines / 10, OUTAGE, &upgrade)?;
    told("while throttled", throttled.during.clone());
    told("after that", throttled.after.clone());
    bench.stop_operator()?;
    Ok(Findings { cold, again, settled, import, upgrade, batches, idle, rest, frost, throttled })
}

fn say(what: &str, text: &str) {
    eprintln!("{what}: {text}");
}

fn told(what: &str, cost: Cost) -> Cost {
    say(what, &format!("{:.1?}, {:?}, {:?}", cost.took, cost.usage, cost.hosts));
    cost.requests.lines().iter().take(12).for_each(|line| eprintln!("{line}"));
    cost
}

/// The figures of the table, with the goals of the project.
fn rows(found: &Findings, operation: Duration) -> Vec<Row> {
    let mut rows = rows_of_starts(found);
    rows.extend(rows_of_rollouts(found));
    rows.extend(rows_of_rest(found));
    if !operation.is_zero() {
        let share = found.upgrade.share_of_ideal(operation);
        rows.push(row("upgrade: time, of the ideal", (share, 1.02), "", 3));
    }
    rows
}

fn rows_of_starts(found: &Findings) -> Vec<Row> {
    vec![
        seconds("cold start: processor time", found.cold.usage.cpu, 0.30, 2),
        mib("cold start: peak memory", found.cold.usage.peak, 24.0),
        seconds("start of a settled fleet: processor time", found.settled.usage.cpu, 0.30, 2),
        mib("start of a settled fleet: peak memory", found.settled.usage.peak, 24.0),
    ]
}

fn rows_of_rollouts(found: &Findings) -> Vec<Row> {
    let writes = |what, cost: &Cost, count, limit| row(what, (cost.per_machine(count), limit), "", 3);
    let (import, upgrade, batches) = (&found.import, &found.upgrade, &found.batches);
    let commands = number(upgrade.hosts.commands) / number(upgrade.hosts.connections.max(1));
    vec![
        writes("import: writes per machine", import, import.writes(), 2.05),
        writes("upgrade: writes per machine", upgrade, upgrade.writes(), 1.05),
        writes("upgrade: writes of the owner per machine", upgrade, upgrade.owner_writes(), 0.02),
        writes("upgrade in batches: writes per machine", batches, batches.writes(), 1.05),
        writes("upgrade in batches: writes of the owner per machine", batches, batches.owner_writes(), 0.02),
        row("upgrade: processor time per machine", (upgrade.cpu_per_machine(), 0.8), "ms", 2),
        row("upgrade: commands per connection", (commands, 1.05), "", 2),
    ]
}

fn rows_of_rest(found: &Findings) -> Vec<Row> {
    let none = |what, count: u64| row(what, (number(count), 0.0), "", 0);
    let Findings { import, upgrade, batches, idle, again, rest, throttled, .. } = found;
    let share = idle.cpu.as_secs_f64() * 100.0 / idle.took.as_secs_f64();
    let peak = [import, upgrade, batches, rest].map(|cost| cost.usage.peak).into_iter().max();
    // The Lease has to expire before the second operator is ready.
    let resumed = Cost { hosts_took: rest.hosts_took.saturating_sub(again.took), ..rest.clone() };
    let slower = resumed.hosts_took_each().div_duration_f64(upgrade.hosts_took_each());
    let lost = [&throttled.during, &throttled.after].map(|cost| cost.hosts.redundant + cost.hosts.refused);
    vec![
        mib("memory after an upgrade and a pause", idle.usage.resident, 48.0),
        none("idle: writes", idle.writes()),
        row("idle: processor", (share, 0.1), "% of a core", 3),
        seconds("takeover: processor time until ready", again.usage.cpu, 0.30, 2),
        row("takeover: time per machine, of an upgrade without one", (slower, 1.05), "", 2),
        none("takeover: redundant or refused orders", rest.hosts.redundant + rest.hosts.refused),
        none("takeover: requests answered 429", rest.requests.answered("429")),
        seconds("first work after a minute of frost", found.frost, 1.0, 1),
        row("throttled for a minute: share of the API server not used", (throttled.unused(), 0.1), "", 3),
        seconds("throttled for a minute: delay after that", throttled.delay(upgrade), 5.0, 1),
        none("throttled for a minute: redundant or refused orders", lost.iter().sum()),
        mib("peak memory", peak.unwrap_or_default(), LIMIT),
    ]
}

const fn row(what: &'static str, (found, limit): (f64, f64), unit: &'static str, digits: usize) -> Row {
    Row { what, found, limit, unit, digits }
}

const fn seconds(what: &'static str, span: Duration, limit: f64, digits: usize) -> Row {
    row(what, (span.as_secs_f64(), limit), "s", digits)
}

fn mib(what: &'static str, kib: u64, limit: f64) -> Row {
    row(what, (number(kib) / 1024.0, limit), "MiB", 0)
}
