//! `seaworthy`: the people's binary.

mod memory;
mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Run a resolved plan: exactly those strikes of faults that it lists.
    ///
    /// Says which of them never came to pass. Exits as `run` does.
    Replay(sim::ReplayArguments),
    /// Run many seeds over all cores, each with a fleet, a budget and faults of its own.
    ///
    /// Stops at the first failure and says how to see it again. Exits with 1 then, and with 2 when a file could not be
    /// used. One run in twenty is done twice, on two threads, and compared event by event.
    Swarm(sim::SwarmArguments),
    /// Make a run that fails as small as possible: fewer machines, strikes, moments, shorter outages.
    ///
    /// Writes the smallest plan that fails alike, and tells what happens in it. Exits with 0 when there is one, and with 2
    /// when the run does not fail or could not be used.
    Shrink(sim::ShrinkArguments),
    /// Why a machine is as it is, at a moment of a run.
    Explain(sim::ExplainArguments),
    /// Let one thing go wrong at every point of a run: crashes at every write, stale reads before every destructive write,
    /// hidden transitions.
    ///
    /// Exits with 0 when every point was covered and every history converged, with 1 when not, and with 2 when the
    /// scenario could not be used.
    Enumerate(sim::EnumerateArguments),
    /// Print one line for each run: hashes of what it did and of every message it sent.
    ///
    /// Two builds that behave alike print the same. `--against` compares, and exits with 1 when a line differs.
    Fingerprint(sim::FingerprintArguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Sim(Sim::Run(arguments)) => sim::run(&arguments),
        Command::Sim(Sim::Replay(arguments)) => sim::replay(&arguments),
        Command::Sim(Sim::Swarm(arguments)) => sim::swarm(&arguments),
        Command::Sim(Sim::Shrink(arguments)) => sim::shrink(&arguments),
        Command::Sim(Sim::Explain(arguments)) => sim::explain(&arguments),
        Command::Sim(Sim::Enumerate(arguments)) => sim::enumerate(&arguments),
        Command::Sim(Sim::Fingerprint(arguments)) => sim::fingerprint(&arguments),
    }
}
