//! Commands about a live cluster, with the rights of the person who calls them.

#[cfg(test)]
mod api_server;
mod canary;
mod explain;
mod governors;
mod picture;
mod plan;
mod rollout;
mod subject;
mod undo;
mod words;

use std::env;
use std::io::{ErrorKind, Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seaworthy_api::object::ClusterPackageVersion;
use seaworthy_kube::Terminal;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

/// How the cluster is reached.
#[derive(Args)]
struct Cluster {
    /// The kubeconfig. By default what KUBECONFIG names, or ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Arguments of `rollout`.
#[derive(Args)]
pub(crate) struct RolloutArguments {
    #[command(flatten)]
    cluster: Cluster,
    #[command(subcommand)]
    command: Rollout,
}

#[derive(Subcommand)]
enum Rollout {
    /// Show how far each rollout is, and what it waits for.
    ///
    /// Exits with 0 when every rollout is complete or goes on, with 1 when one has stopped, and with 2 when the cluster could
    /// not be asked.
    Status(rollout::StatusArguments),
    /// Show how far each rollout is until every one is complete, or one has stopped.
    ///
    /// Exits with 0 when every rollout is complete, with 1 when one has stopped, and with 2 when the cluster could not be
    /// asked.
    Watch(rollout::WatchArguments),
    /// Show what was rolled out before, how it ended, and why people wanted it.
    History(rollout::HistoryArguments),
    /// Start nothing new on any machine, or for a set or a canary, until `resume`.
    Pause(subject::OwnerArguments),
    /// End a pause. If a gate has failed, let its rollout go on in spite of it.
    Resume(rollout::ResumeArguments),
    /// Set a component back to what worked before: the default, or that of a set or a canary.
    Undo(undo::UndoArguments),
    /// Let a change begin that is rarely meant: one that reaches many machines, a selector that selects nobody any more, a way back
    /// from a version with `rollback: Unsafe`.
    Confirm(subject::OwnerArguments),
    /// Write what a CanaryRelease has tried into the defaults, or into the set that it names.
    Promote(canary::PromoteArguments),
    /// End a CanaryRelease: its machines get back what they had before.
    Abort(canary::AbortArguments),
}

/// Arguments of `explain`.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    cluster: Cluster,
    /// The machine: `machine/NAME`.
    object: String,
}

/// Arguments of `plan`.
#[derive(Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    cluster: Cluster,
    #[command(flatten)]
    plan: plan::Planning,
}

/// `plan`.
pub(crate) fn plan(arguments: &PlanArguments) -> ExitCode {
    run(&arguments.cluster, async |terminal| plan::plan(&terminal, &arguments.plan).await)
}

/// Why a command could not do its work.
#[derive(Debug)]
struct Problem(String);

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// `rollout`.
pub(crate) fn rollout(arguments: &RolloutArguments) -> ExitCode {
    run(&arguments.cluster, async |terminal| arguments.command.run(&terminal).await)
}

impl Rollout {
    async fn run(&self, terminal: &Terminal) -> Result<ExitCode, Problem> {
        match self {
            Self::Status(status) => rollout::status(terminal, status).await,
            Self::Watch(watch) => rollout::watch(terminal, watch).await,
            Self::History(history) => rollout::history(terminal, history).await,
            Self::Pause(of) => rollout::pause(terminal, of).await,
            Self::Resume(resume) => rollout::resume(terminal, resume).await,
            Self::Undo(undo) => undo::undo(terminal, undo).await,
            Self::Confirm(of) => rollout::confirm(terminal, of).await,
            Self::Promote(promote) => canary::promote(terminal, promote).await,
            Self::Abort(abort) => canary::abort(terminal, abort).await,
        }
    }
}

/// `explain`.
pub(crate) fn explain(arguments: &ExplainArguments) -> ExitCode {
    run(&arguments.cluster, async |terminal| explain::machine(&terminal, &arguments.object).await)
}

/// How often a change is tried that others overtake.
const ATTEMPTS: usize = 10;

/// Makes a change of what was read just before; anew when somebody else has changed that in the meantime, which the attempt
/// tells by `None`. The operator writes the status at any time while a rollout is under way.
async fn retry_on_conflict(
    attempt: impl AsyncFn() -> Result<Option<ExitCode>, Problem>,
) -> Result<ExitCode, Problem> {
    for _ in 0..ATTEMPTS {
        if let Some(code) = attempt().await? {
            return Ok(code);
        }
    }
    Err(Problem(format!(
        "somebody else has changed it in each of {ATTEMPTS} attempts, and nothing was written; try again"
    )))
}

/// Prints a text. Whoever reads it may have seen enough, as `head` has: that is no problem to tell of.
fn say(text: &str) -> Result<(), Problem> {
    match writeln!(stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Problem(String::new())),
        written => Ok(written?),
    }
}

/// The exit code of a command that could not do its work.
const CANNOT_RUN: u8 = 2;

/// The most characters of a user's name that are told.
const USER_MAX: usize = 64;

/// The name under which these commands write: with that of the user, as the system tells it. It proves nothing.
fn manager(user: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "._-".contains(*character);
    let user: String = user.chars().filter(is_plain).take(USER_MAX).collect();
    if user.is_empty() { "seaworthy".to_owned() } else { format!("seaworthy/{user}") }
}

fn run(cluster: &Cluster, command: impl AsyncFnOnce(Terminal) -> Result<ExitCode, Problem>) -> ExitCode {
    let manager = manager(&env::var("USER").unwrap_or_default());
    let work = async { command(Terminal::connect(cluster.kubeconfig.as_deref(), manager).await?).await };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Problem::from).and_then(|runtime| runtime.block_on(work)) {
        Ok(code) => code,
        Err(Problem(problem)) => {
            if !problem.is_empty() {
                eprintln!("error: {problem}");
            }
            ExitCode::from(CANNOT_RUN)
        }
    }
}

/// The fleet's defaults.
async fn fleet(terminal: &Terminal) -> Result<ClusterPackageVersion, Problem> {
    match terminal.get(Kind::ClusterPackageVersion, SINGLETON).await {
        Err(failure) if failure.is_not_found() => Err(Problem(
            "there is no ClusterPackageVersion `default`, or the kind is not installed".to_owned(),
        )),
        read => Ok(read?),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_api_server_accepts_the_name_of_any_user() {
        assert_eq!(manager("alice"), "seaworthy/alice");
        assert_eq!(manager(""), "seaworthy");
        assert_eq!(manager("a&b c\u{e4}\n"), "seaworthy/abc");
        assert!(manager(&"x".repeat(1000)).len() <= 128);
    }

    #[test]
    fn a_change_that_others_overtake_is_made_anew() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let attempts = |conflicts: usize| {
            let tried = Cell::new(0);
            let attempt = async || {
                tried.set(tried.get() + 1);
                Ok((tried.get() > conflicts).then_some(ExitCode::SUCCESS))
            };
            let result = runtime.block_on(retry_on_conflict(attempt));
            (result.map_err(|Problem(problem)| problem), tried.get())
        };
        assert_eq!(attempts(0), (Ok(ExitCode::SUCCESS), 1));
        assert_eq!(attempts(3), (Ok(ExitCode::SUCCESS), 4));
        let (result, tried) = attempts(usize::MAX);
        assert_eq!(tried, ATTEMPTS);
        assert!(result.is_err_and(|problem| problem.contains("nothing was written")));
    }
}
