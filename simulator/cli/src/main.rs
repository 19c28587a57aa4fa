//! `seaworthy`: the people's binary.

mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A simulated fleet is millions of small allocations; with the system's allocator they cost a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Declarative operation of very large Kubernetes fleets, and the simulator that every decision went through first.
#[derive(Parser)]
#[command(name = "seaworthy", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Work with simulated fleets.
    #[command(subcommand)]
    Sim(Sim),
}

#[derive(Subcommand)]
enum Sim {
    /// Run a scenario to its end, and say what came of it.
    ///
    /// Exits with 0 when everything converged and no invariant was broken, with 1 when not, and with 2 when the scenario
    /// could not be run.
    Run(sim::RunArguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Sim(Sim::Run(arguments)) => sim::run(&arguments),
    }
}
