//! `seaworthy`: the command-line program.

#[cfg(feature = "live")]
mod live;
mod memory;
mod printing;
mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Declarative operation of very large Kubernetes fleets, and a simulator that tests every decision first.
#[derive(Parser)]
#[command(name = "seaworthy", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate fleets.
    #[command(subcommand)]
    Sim(Sim),
    /// See, stop and undo rollouts of a live cluster.
    #[cfg(feature = "live")]
    Rollout(live::RolloutArguments),
    /// Explain the state of a machine of a live cluster.
    #[cfg(feature = "live")]
    Explain(live::ExplainArguments),
    /// Say which machines a changed ClusterPackageVersion, MachineComponentSet or CanaryRelease would change, in which batches,
    /// what becomes of those that leave it, and what would be refused. Nothing is written.
    ///
    /// Exits with 0, with 1 if something would be refused, and with 2 if the file or the cluster cannot be read.
    #[cfg(feature = "live")]
    Plan(live::PlanArguments),
    /// Print a script that completes commands in a shell.
    #[cfg(feature = "live")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Subcommand)]
enum Sim {
    /// Run a scenario to its end and report the result.
    ///
    /// Exits with 0 when everything converged and no invariant was broken, with 1 when not, and with 2 when the scenario
    /// could not be run.
    Run(sim::RunArguments),
    /// Run a resolved plan: exactly the fault strikes that it lists.
    ///
    /// Reports the strikes that did not happen. Exits as `run` does.
    Replay(sim::ReplayArguments),
    /// Run many seeds on all cores, each with its own fleet, budget and faults.
    ///
    /// Stops at the first failure and prints the command that repeats it. Exits with 1 then, and with 2 when a file could
    /// not be used. One run in twenty runs twice, on two threads, and is compared event by event.
    Swarm(sim::SwarmArguments),
    /// Make a failing run as small as possible: fewer machines, strikes and moments, shorter outages.
    ///
    /// Writes the smallest plan that fails in the same way, and prints what happens in it. Exits with 0 when there is one,
    /// and with 2 when the run does not fail or could not be used.
    Shrink(sim::ShrinkArguments),
    /// Explain the state of a machine at a moment of a run.
    Explain(sim::ExplainArguments),
    /// Inject one fault at every point of a run: a crash at every write, a stale read before every destructive write, and
    /// every hidden transition.
    ///
    /// Exits with 0 when every point was covered and every run converged, with 1 when not, and with 2 when the scenario
    /// could not be used.
    Enumerate(sim::EnumerateArguments),
    /// Measure the gates of the default strategy: how soon they stop a version that breaks late, and how often they stop a
    /// good one.
    ///
    /// Exits with 0 when both figures meet their goals, and with 1 when not.
    Gate(sim::GateArguments),
    /// Print one line for each run: hashes of what it did and of every message it sent.
    ///
    /// Two builds that behave alike print the same. `--against` compares, and exits with 1 when a line differs.
    Fingerprint(sim::FingerprintArguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        #[cfg(feature = "live")]
        Command::Rollout(arguments) => live::rollout(&arguments),
        #[cfg(feature = "live")]
        Command::Explain(arguments) => live::explain(&arguments),
        #[cfg(feature = "live")]
        Command::Plan(arguments) => live::plan(&arguments),
        #[cfg(feature = "live")]
        Command::Completions { shell } => {
            complete(shell, &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        Command::Sim(Sim::Run(arguments)) => sim::run(&arguments),
        Command::Sim(Sim::Replay(arguments)) => sim::replay(&arguments),
        Command::Sim(Sim::Swarm(arguments)) => sim::swarm(&arguments),
        Command::Sim(Sim::Shrink(arguments)) => sim::shrink(&arguments),
        Command::Sim(Sim::Explain(arguments)) => sim::explain(&arguments),
        Command::Sim(Sim::Enumerate(arguments)) => sim::enumerate(&arguments),
        Command::Sim(Sim::Gate(arguments)) => sim::gate(&arguments),
        Command::Sim(Sim::Fingerprint(arguments)) => sim::fingerprint(&arguments),
    }
}

/// Writes the script that completes commands in a shell.
#[cfg(feature = "live")]
fn complete(shell: clap_complete::Shell, script: &mut dyn std::io::Write) {
    let mut command = <Arguments as clap::CommandFactory>::command();
    clap_complete::generate(shell, &mut command, "seaworthy", script);
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    /// The library finds contradictions between arguments only when it parses.
    #[test]
    fn the_commands_are_sound() {
        super::Arguments::command().debug_assert();
    }

    #[cfg(feature = "live")]
    #[test]
    fn the_shells_complete_the_commands_about_a_live_cluster() {
        let command = super::Arguments::command();
        let rollout = command.find_subcommand("rollout").unwrap();
        let names: Vec<&str> = rollout.get_subcommands().map(clap::Command::get_name).collect();
        let expected =
            ["status", "watch", "history", "pause", "resume", "undo", "confirm", "promote", "abort"];
        assert_eq!(names, expected);
        for (shell, before, after) in [
            (clap_complete::Shell::Bash, ",", ")"),
            (clap_complete::Shell::Zsh, "'", ":"),
            (clap_complete::Shell::Fish, "-a \"", "\""),
        ] {
            let mut script = Vec::new();
            super::complete(shell, &mut script);
            let script = String::from_utf8(script).unwrap();
            for name in expected.into_iter().chain(["rollout", "plan", "explain"]) {
                let word = format!("{before}{name}{after}");
                assert!(script.contains(&word), "{shell}: {word}\n{script}");
            }
        }
    }
}
