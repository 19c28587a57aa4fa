//! Logs: one line for each event, for people or for machines, on standard error.

use anyhow::Context as _;
use clap::ValueEnum;
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

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
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    subscriber(format, filter, colours, std::io::stderr)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start to log: {error}"))?;
    // A panic has to be in the log, in the log's format; the owner of the task handles the rest.
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "a bug: panic");
    }));
    Ok(())
}

/// Writes a line in `format` to `writer` for each event that passes `filter`. Colours are for people only.
fn subscriber<W>(format: LogFormat, filter: EnvFilter, colours: bool, writer: W) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match format {
        LogFormat::Text => builder.with_ansi(colours).into(),
        LogFormat::Json => builder.json().flatten_event(true).into(),
    }
}

/// Our own crates that log.
const OWN: [&str; 3] = ["seaworthy_operator", "seaworthy_kube", "seaworthy_ssh"];

/// A bare level is for our own crates; libraries log warnings only, and failed requests are logged by us. Anything else is
/// taken as directives.
fn directives(level: &str) -> String {
    if level.parse::<LevelFilter>().is_err() {
        return level.to_owned();
    }
    let own = OWN.map(|target| format!(",{target}={level}")).concat();
    format!("warn,kube_client::client::builder=off{own}")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `events` make, in `format` at `level`.
    fn logged(format: LogFormat, level: &str, events: fn()) -> Vec<String> {
        let kept = Kept::default();
        let writer = kept.clone();
        let filter = EnvFilter::try_new(directives(level)).unwrap();
        let dispatch = subscriber(format, filter, false, move || writer.clone());
        tracing::dispatcher::with_default(&dispatch, events);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_for_machines_is_one_object_with_what_people_search_for() {
        let lines = logged(LogFormat::Json, "info", || {
            let span = tracing::info_span!(target: "seaworthy_ssh", "ssh", host = "198.18.0.1", port = 22);
            let _entered = span.enter();
            let (outcome, cause, detail) = ("refused", "NoSpace", "a \"disk\"\nis full \u{1b}[31m\0");
            tracing::info!(
                action = 7,
                effect = "host_apply",
                object = "m1",
                outcome,
                cause,
                detail,
                ms = 3,
                "ended"
            );
            tracing::debug!("not asked for");
        });
        let [line] = lines.as_slice() else { panic!("not one line: {lines:#?}") };
        let line: Value = serde_json::from_str(line).unwrap();
        for (field, expected) in [
            ("level", "INFO".into()),
            ("target", module_path!().into()),
            ("message", "ended".into()),
            ("action", Value::from(7)),
            ("effect", "host_apply".into()),
            ("object", "m1".into()),
            ("outcome", "refused".into()),
            ("cause", "NoSpace".into()),
            ("detail", "a \"disk\"\nis full \u{1b}[31m\0".into()),
            ("ms", Value::from(3)),
        ] {
            assert_eq!(line[field], expected, "{field} of {line}");
        }
        assert_eq!(line["span"]["host"], "198.18.0.1", "{line}");
        assert_eq!(line["span"]["port"], 22, "{line}");
        let time = line["timestamp"].as_str().unwrap();
        assert!(time.len() >= 20 && time.contains('T') && time.ends_with('Z'), "not RFC 3339 in UTC: {time}");
    }

    #[test]
    fn a_line_for_people_has_no_colours_in_a_file_and_cannot_forge_another() {
        let lines = logged(LogFormat::Text, "info", || {
            tracing::warn!(detail = "a\nb \u{1b}[31m", "not ready");
        });
        let [line] = lines.as_slice() else { panic!("not one line: {lines:#?}") };
        assert!(line.contains("WARN") && line.contains("not ready"), "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }

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
