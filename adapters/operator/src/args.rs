//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};
use seaworthy_model::config::Config;

use crate::logs::LogFormat;

/// The operator of Seaworthy: watches Machines, MachineComponents and the ClusterPackageVersion, and keeps the
/// software on every host as they declare.
///
/// Its Lease and the Secrets with SSH keys are in the namespace seaworthy-system. Exits with 0 after SIGTERM or SIGINT,
/// with 1 after an error, with 2 after a wrong command line, and with 3 after a newer operator has taken over.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "seaworthy-operator", version)]
pub(crate) struct Args {
    /// Kubeconfig file to reach the API server; by default the service account of the pod.
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Readable name of this process in the Lease; the host name by default. A unique suffix is appended.
    #[arg(long, env = "SEAWORTHY_IDENTITY", value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// Where /healthz and /readyz are served.
    #[arg(long, env = "SEAWORTHY_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,

    /// Where /metrics is served.
    #[arg(
        long,
        env = "SEAWORTHY_METRICS_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8081"
    )]
    pub(crate) metrics_listen: SocketAddr,

    /// Format of the logs.
    #[arg(long, env = "SEAWORTHY_LOG_FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,

    /// Lowest level that is logged: error, warn, info, debug or trace; or directives such as
    /// `info,seaworthy_kube=debug`.
    #[arg(long, env = "SEAWORTHY_LOG_LEVEL", value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: String,

    /// The program that works on hosts: a static binary, or a directory with one for each architecture, named
    /// seaworthy-host-amd64, seaworthy-host-arm64, ...; by default the files beside this program.
    #[arg(long, env = "SEAWORTHY_HOST_PROGRAM", value_name = "PATH")]
    pub(crate) host_program: Option<PathBuf>,

    /// How long a stop waits for actions under way. Operations on hosts go on without the operator.
    #[arg(long, env = "SEAWORTHY_STOP_GRACE", value_name = "TIME", default_value = "25s", value_parser = duration)]
    pub(crate) stop_grace: Duration,

    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Intervals and limits. Times are written as 250ms, 5s, 10m or 24h.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct Pace {
    /// How long the holder of the Lease may be silent before another process takes it; whole seconds.
    #[arg(long, env = "SEAWORTHY_LEASE_DURATION", value_name = "TIME", default_value = "15s", value_parser = duration)]
    lease_duration: Duration,
    /// A holder that could not renew the Lease for this long starts nothing new until it can.
    #[arg(long, env = "SEAWORTHY_RENEW_DEADLINE", value_name = "TIME", default_value = "10s", value_parser = duration)]
    renew_deadline: Duration,
    /// Interval between attempts of a failed write of the Lease.
    #[arg(long, env = "SEAWORTHY_RETRY_PERIOD", value_name = "TIME", default_value = "2s", value_parser = duration)]
    retry_period: Duration,
    /// First back-off after a failure; it doubles with each failure.
    #[arg(long, env = "SEAWORTHY_BACKOFF_MIN", value_name = "TIME", default_value = "5s", value_parser = duration)]
    backoff_min: Duration,
    /// Longest back-off.
    #[arg(long, env = "SEAWORTHY_BACKOFF_MAX", value_name = "TIME", default_value = "30m", value_parser = duration)]
    backoff_max: Duration,
    /// Number of failed contacts in a row after which a host is unreachable.
    #[arg(long, env = "SEAWORTHY_UNREACHABLE_AFTER", value_name = "NUMBER", default_value_t = 3, value_parser = positive())]
    unreachable_after: u32,
    /// How often a host without a Node is audited. Longer in proportion when auditInterval is longer than a day.
    #[arg(long, env = "SEAWORTHY_AUDIT_WITHOUT_NODE", value_name = "TIME", default_value = "5m", value_parser = duration)]
    audit_without_node: Duration,
    /// How long a machine may wait so that a rollout admits it together with others.
    #[arg(long, env = "SEAWORTHY_ADMISSION_WAIT", value_name = "TIME", default_value = "10s", value_parser = duration)]
    admission_wait: Duration,
    /// Timeout of a write to the API server.
    #[arg(long, env = "SEAWORTHY_API_DEADLINE", value_name = "TIME", default_value = "15s", value_parser = duration)]
    api_deadline: Duration,
    /// Timeout of a read of a host.
    #[arg(long, env = "SEAWORTHY_READ_DEADLINE", value_name = "TIME", default_value = "1m", value_parser = duration)]
    read_deadline: Duration,
    /// Timeout of an operation on a host, in addition to the timeout of its probe. Then the host is probed.
    #[arg(long, env = "SEAWORTHY_APPLY_DEADLINE", value_name = "TIME", default_value = "10m", value_parser = duration)]
    apply_deadline: Duration,
    /// Highest number of orders to hosts under way at once.
    #[arg(long, env = "SEAWORTHY_HOST_SESSIONS", value_name = "NUMBER", default_value_t = 512, value_parser = positive())]
    host_sessions: u32,
    /// Highest number of requests to the API server under way at once.
    #[arg(long, env = "SEAWORTHY_API_REQUESTS", value_name = "NUMBER", default_value_t = 32, value_parser = positive())]
    pub(crate) api_requests: u32,
}

impl Args {
    /// Reads the arguments and environment of this process. Exits when they are invalid.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        if let Err(why) = args.pace.check() {
            Self::command().error(ErrorKind::ValueValidation, why).exit();
        }
        args
    }
}

impl Pace {
    fn check(&self) -> Result<(), String> {
        if self.backoff_min > self.backoff_max {
            return Err(format!(
                "--backoff-min ({:?}) is longer than --backoff-max ({:?})",
                self.backoff_min, self.backoff_max
            ));
        }
        if self.lease_duration.subsec_nanos() != 0 || self.lease_duration <= self.renew_deadline {
            return Err(format!(
                "--lease-duration ({:?}) must be whole seconds and longer than --renew-deadline ({:?})",
                self.lease_duration, self.renew_deadline
            ));
        }
        if self.renew_deadline * 5 <= self.retry_period * 6 {
            return Err(format!(
                "--renew-deadline ({:?}) must be more than 1.2 times --retry-period ({:?})",
                self.renew_deadline, self.retry_period
            ));
        }
        Ok(())
    }

    /// The engine's configuration for the process that calls itself `holder`.
    pub(crate) fn config(&self, holder: String) -> Config {
        Config {
            holder,
            lease_duration: self.lease_duration,
            renew_deadline: self.renew_deadline,
            retry_period: self.retry_period,
            host_sessions_max: self.host_sessions,
            api_deadline: self.api_deadline,
            read_deadline: self.read_deadline,
            apply_deadline: self.apply_deadline,
            backoff_min: self.backoff_min,
            backoff_max: self.backoff_max,
            unreachable_after: self.unreachable_after,
            audit_without_node: self.audit_without_node,
            admission_wait: self.admission_wait,
            ..Config::default()
        }
    }
}

fn positive() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Reads a time such as `250ms`, `5s`, `10m` or `24h`. Zero is invalid for every argument.
fn duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a number with a unit, such as 250ms, 5s, 10m or 24h";
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or(EXPECTED)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| EXPECTED)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(EXPECTED.into()),
    };
    match number.checked_mul(millis) {
        None => Err("is too long".into()),
        Some(0) => Err("must be longer than zero".into()),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["seaworthy-operator"], args].concat())
    }

    #[test]
    fn defaults_are_those_of_the_engine() {
        let config = parse(&[]).unwrap().pace.config("me".into());
        assert_eq!(config, Config { holder: "me".into(), ..Config::default() });
    }

    #[test]
    fn times() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("90s"), duration("90s"));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for bad in ["", "5", "s", "5 s", "-5s", "0s", "5d", "99999999999999999999h", "18446744073709551615h"]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_of_the_lease_that_do_not_fit_are_refused() {
        for (args, named) in [
            (["--lease-duration", "10s"], "--lease-duration"),
            (["--lease-duration", "15500ms"], "whole seconds"),
            (["--retry-period", "9s"], "--retry-period"),
        ] {
            let why = parse(&args).unwrap().pace.check().unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let error = parse(&["--backoff-min", "soon"]).unwrap_err().to_string();
        assert!(error.contains("--backoff-min") && error.contains("250ms"), "{error}");
        let error = parse(&["--host-sessions", "0"]).unwrap_err().to_string();
        assert!(error.contains("--host-sessions"), "{error}");
        let error = parse(&["--listen", "8080"]).unwrap_err().to_string();
        assert!(error.contains("--listen"), "{error}");
        let crossed = parse(&["--backoff-min", "1h", "--backoff-max", "1m"]).unwrap();
        assert!(crossed.pace.check().unwrap_err().contains("--backoff-max"));
    }
}
