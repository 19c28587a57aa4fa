//! Measures the operator with thousands of machines, and prints the figures beside their goals.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use seaworthy_e2e::bench::{Bench, Cost, Row, Start, seed, table};
use seaworthy_e2e::{World, ensure_parts};

/// How long the API server stands still.
const FROST: Duration = Duration::from_secs(60);

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
        for _ in 0..starts {
            let start = bench.start_operator()?;
            println!("{start:.2?}");
            bench.stop_operator()?;
        }
        return Ok(());
    }
    let operation = Duration::from_millis(arguments.operation_ms);
    let rows = measure(&mut bench, Duration::from_secs(arguments.idle), operation)?;
    println!("{}", table(&rows));
    Ok(())
}

fn measure(bench: &mut Bench<'_>, idle: Duration, operation: Duration) -> Result<Vec<Row>> {
    let cold = bench.start_operator()?;
    say("start", &format!("{cold:?}"));
    let import = told("import", bench.roll_out("1.0.0")?);
    let upgrade = told("upgrade", bench.roll_out("1.1.0")?);
    let idle = told("idle", bench.idle(idle)?);
    let (again, rest) = bench.take_over("1.2.0", upgrade.machines * 3 / 10)?;
    let rest = told("rest after a takeover", rest);
    bench.stop_operator()?;
    let settled = bench.start_operator()?;
    say("start of a settled fleet", &format!("{settled:?}"));
    let frost = bench.freeze("1.3.0", upgrade.machines * 3 / 10, FROST)?;
    bench.stop_operator()?;
    let mut rows = rows(&[cold, again, settled], &import, &upgrade, &idle, &rest);
    let frost = frost.as_secs_f64();
    rows.push(Row {
        what: "first work after a minute of frost",
        found: frost,
        limit: 1.0,
        unit: "s",
        digits: 1,
    });
    let peak = [&import, &upgrade, &rest].map(|cost| cost.usage.peak).into_iter().max().unwrap_or_default();
    rows.push(Row {
        what: "peak memory",
        found: number(peak) / 1024.0,
        limit: LIMIT,
        unit: "MiB",
        digits: 0,
    });
    if !operation.is_zero() {
        let share = upgrade.share_of_ideal(operation);
        rows.push(Row {
            what: "upgrade: time, of the ideal",
            found: share,
            limit: 1.02,
            unit: "",
            digits: 3,
        });
    }
    Ok(rows)
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
fn rows(
    [cold, again, settled]: &[Start; 3],
    import: &Cost,
    upgrade: &Cost,
    idle: &Cost,
    rest: &Cost,
) -> Vec<Row> {
    let seconds =
        |what, span: Duration| Row { what, found: span.as_secs_f64(), limit: 0.30, unit: "s", digits: 2 };
    let mib =
        |what, kib: u64, limit| Row { what, found: number(kib) / 1024.0, limit, unit: "MiB", digits: 0 };
    let writes = |what, cost: &Cost, count, limit| Row {
        what,
        found: cost.per_machine(count),
        limit,
        unit: "",
        digits: 3,
    };
    let none = |what, count: u64| Row { what, found: number(count), limit: 0.0, unit: "", digits: 0 };
    let share = idle.cpu.as_secs_f64() * 100.0 / idle.took.as_secs_f64();
    let (cpu, commands) = (upgrade.cpu_per_machine(), upgrade.hosts.commands);
    let commands = number(commands) / number(upgrade.hosts.connections.max(1));
    vec![
        seconds("cold start: processor time", cold.usage.cpu),
        mib("cold start: peak memory", cold.usage.peak, 24.0),
        seconds("start of a settled fleet: processor time", settled.usage.cpu),
        mib("start of a settled fleet: peak memory", settled.usage.peak, 24.0),
        writes("import: writes per machine", import, import.writes(), 2.05),
        writes("upgrade: writes per machine", upgrade, upgrade.writes(), 1.05),
        writes("upgrade: writes of the owner per machine", upgrade, upgrade.owner_writes(), 0.02),
        Row { what: "upgrade: processor time per machine", found: cpu, limit: 0.8, unit: "ms", digits: 2 },
        Row { what: "upgrade: commands per connection", found: commands, limit: 1.05, unit: "", digits: 2 },
        mib("memory after an upgrade and a pause", idle.usage.resident, 48.0),
        none("idle: writes", idle.writes()),
        Row { what: "idle: processor", found: share, limit: 0.1, unit: "% of a core", digits: 3 },
        seconds("takeover: processor time until ready", again.usage.cpu),
        none("takeover: redundant or refused orders", rest.hosts.redundant + rest.hosts.refused),
        none("takeover: requests answered 429", rest.requests.answered("429")),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn number(count: u64) -> f64 {
    count as f64
}
