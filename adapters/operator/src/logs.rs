//! Logs: one line for each event, for people or for machines, on standard error.

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts to log. `level` is a level for our own code, or directives such as `info,seaworthy_kube=debug`.
///
/// # Errors
/// When `level` is neither.
pub(crate) fn start(format: LogFormat, level: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(directives(level))
        .with_context(|| format!("--log-level: `{level}` is neither a level nor a list of directives"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    }
    .map_err(|error| anyhow::anyhow!("cannot start to log: {error}"))?;
    // What panics has to be in the log, in its form; the task's owner then sees to the rest.
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "a bug: panic");
    }));
    Ok(())
}

/// Our own crates that log.
const OWN: [&str; 3] = ["seaworthy_operator", "seaworthy_kube", "seaworthy_ssh"];

/// A bare level is for our own code; libraries say only what is wrong, and of requests that fail we speak ourselves.
/// Anything else is meant as it is written.
fn directives(level: &str) -> String {
    if level.parse::<LevelFilter>().is_err() {
        return level.to_owned();
    }
    let own = OWN.map(|target| format!(",{target}={level}")).concat();
    format!("warn,kube_client::client::builder=off{own}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_directives() {
        assert!(
            directives("debug")
                .ends_with(",seaworthy_operator=debug,seaworthy_kube=debug,seaworthy_ssh=debug")
        );
        assert_eq!(directives("info,kube_client=debug"), "info,kube_client=debug");
        for good in ["info", "DEBUG", "off", "info,seaworthy_kube=trace"] {
            assert!(EnvFilter::try_new(directives(good)).is_ok(), "{good}");
        }
        assert!(EnvFilter::try_new(directives("info,seaworthy_kube=loud")).is_err());
    }
}
