//! The single changes that faults make to the world.

use std::time::Duration;

use seaworthy_model::host::Drift;
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;
use seaworthy_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{HostLie, Skew, clock, readable, since_start};

/// A single change that a fault makes to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Injection {
    /// A host loses power.
    PowerOff(u32),
    /// The power of a host returns.
    PowerOn(u32),
    /// A host is cut off from the network.
    Cut(u32),
    /// A host is connected to the network again.
    Mend(u32),
    /// Operators cannot connect to a host. Its kubelet can still connect to the API server.
    CutSsh(u32),
    /// Operators can connect to the host again.
    MendSsh(u32),
    /// The kubelet of a host cannot connect to the API server. Operators can still connect to the host.
    CutKubelet(u32),
    /// The kubelet can connect to the API server again.
    MendKubelet(u32),
    /// The kubelet of a host reports that its Node is not ready, for one more cause.
    Sicken(u32),
    /// One of these causes is gone.
    Recover(u32),
    /// A release that was installed on a host lets the kubelet report that its Node is not ready.
    FailLate(u32),
    /// That is over.
    RecoverLate(u32),
    /// The host program is killed in the middle of an operation. The host runs on.
    KillProgram(u32),
    /// Something on a host changes without the operator.
    Spoil(u32, Drift),
    /// The operator processes of a seat crash.
    Crash {
        /// The seat.
        seat: u32,
    },
    /// An operator process is suspended.
    Pause {
        /// The seat of the process. The holder of the Lease if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<u32>,
        /// The end of the pause.
        #[serde(with = "clock::length")]
        until: Timestamp,
    },
    /// The clocks of the processes in a seat are wrong.
    Skew {
        /// The seat.
        seat: u32,
        /// The error of the clock.
        skew: Skew,
    },
    /// Watches of a kind deliver nothing until this time.
    HoldWatch(Kind, #[serde(with = "clock::length")] Timestamp),
    /// Watches of a kind deliver everything late.
    Lag {
        /// The kind.
        kind: Kind,
        /// The additional delay.
        #[serde(with = "clock::span")]
        lag: Duration,
        /// The end of the delay.
        #[serde(with = "clock::length")]
        until: Timestamp,
    },
    /// Watches of a kind break, and list again.
    Relist(Kind),
    /// The history is compacted up to the present, and every watch breaks.
    Compact,
    /// A cache of the API server keeps its present state of a kind.
    Cache(Kind),
    /// Watches of a kind are served from an old cache.
    Travel {
        /// The kind.
        kind: Kind,
        /// The time whose state the cache shows.
        #[serde(with = "clock::length")]
        since: Timestamp,
        /// The time until which the cache stays that old.
        #[serde(with = "clock::length")]
        until: Timestamp,
    },
    /// Watches may omit changes from now on, until the end of the run.
    Silence,
    /// The API server does not answer until this time.
    ApiDown(#[serde(with = "clock::length")] Timestamp),
    /// The API server limits the requests of operators.
    Throttle {
        /// The number of requests a second, in the long run.
        per_second: u32,
        /// The number of requests at once.
        burst: u32,
        /// The end of the limit.
        #[serde(with = "clock::length")]
        until: Timestamp,
    },
    /// Nothing can be downloaded until this time.
    RegistryDown(#[serde(with = "clock::length")] Timestamp),
    /// The metrics of the cluster cannot be asked until this time.
    MetricsDown(#[serde(with = "clock::length")] Timestamp),
    /// Another controller puts its finalizer on a Machine.
    AddFinalizer(u32),
    /// The other controller removes its finalizer from the Machine.
    DropFinalizer(u32),
    /// Somebody removes the operator's finalizer from a Machine.
    StripFinalizer(u32),
    /// A Node reports this condition from now on, whether or not it is true; its present one if `None`.
    Lie(u32, Option<Health>),
    /// A Node reports its true condition again.
    Truth(u32),
    /// A host reports this from now on, although it is not true.
    Pretend(u32, HostLie),
    /// A host reports what is true again.
    Honest(u32),
    /// Everything on a host takes this many times as long.
    Slow(u32, u16),
    /// The disk of a host is full, for one more cause.
    Fill(u32),
    /// One of the causes of a full disk is gone.
    MakeRoom(u32),
    /// Nothing changes; triggers check the time.
    Time,
}

impl Injection {
    /// The number of the host that the injection hits, if it hits one.
    #[must_use]
    pub const fn host(mut self) -> Option<u32> {
        match self.host_mut() {
            Some(host) => Some(*host),
            None => None,
        }
    }

    /// The same injection on another host.
    #[must_use]
    pub const fn on_host(mut self, number: u32) -> Self {
        if let Some(host) = self.host_mut() {
            *host = number;
        }
        self
    }

    const fn host_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::PowerOff(host)
            | Self::PowerOn(host)
            | Self::Cut(host)
            | Self::Mend(host)
            | Self::CutSsh(host)
            | Self::MendSsh(host)
            | Self::CutKubelet(host)
            | Self::MendKubelet(host)
            | Self::Sicken(host)
            | Self::Recover(host)
            | Self::FailLate(host)
            | Self::RecoverLate(host)
            | Self::KillProgram(host)
            | Self::Spoil(host, _)
            | Self::AddFinalizer(host)
            | Self::DropFinalizer(host)
            | Self::StripFinalizer(host)
            | Self::Lie(host, _)
            | Self::Truth(host)
            | Self::Pretend(host, _)
            | Self::Honest(host)
            | Self::Slow(host, _)
            | Self::Fill(host)
            | Self::MakeRoom(host) => Some(host),
            Self::Crash { .. }
            | Self::Pause { .. }
            | Self::Skew { .. }
            | Self::HoldWatch(..)
            | Self::Lag { .. }
            | Self::Relist(_)
            | Self::Compact
            | Self::Cache(_)
            | Self::Travel { .. }
            | Self::Silence
            | Self::ApiDown(_)
            | Self::Throttle { .. }
            | Self::RegistryDown(_)
            | Self::MetricsDown(_)
            | Self::Time => None,
        }
    }

    /// The time at which the injection ends by itself, if it does.
    #[must_use]
    pub const fn until(mut self) -> Option<Timestamp> {
        match self.until_mut() {
            Some(until) => Some(*until),
            None => None,
        }
    }

    /// The same injection with another end; unchanged if it does not end by itself.
    #[must_use]
    pub const fn ending(mut self, at: Timestamp) -> Self {
        if let Some(until) = self.until_mut() {
            *until = at;
        }
        self
    }

    const fn until_mut(&mut self) -> Option<&mut Timestamp> {
        match self {
            Self::Pause { until, .. }
            | Self::HoldWatch(_, until)
            | Self::Lag { until, .. }
            | Self::Travel { until, .. }
            | Self::ApiDown(until)
            | Self::Throttle { until, .. }
            | Self::RegistryDown(until)
            | Self::MetricsDown(until) => Some(until),
            Self::PowerOff(_)
            | Self::PowerOn(_)
            | Self::Cut(_)
            | Self::Mend(_)
            | Self::CutSsh(_)
            | Self::MendSsh(_)
            | Self::CutKubelet(_)
            | Self::MendKubelet(_)
            | Self::Sicken(_)
            | Self::Recover(_)
            | Self::FailLate(_)
            | Self::RecoverLate(_)
            | Self::KillProgram(_)
            | Self::Spoil(..)
            | Self::Crash { .. }
            | Self::Skew { .. }
            | Self::Relist(_)
            | Self::Compact
            | Self::Cache(_)
            | Self::Silence
            | Self::AddFinalizer(_)
            | Self::DropFinalizer(_)
            | Self::StripFinalizer(_)
            | Self::Lie(..)
            | Self::Truth(_)
            | Self::Pretend(..)
            | Self::Honest(_)
            | Self::Slow(..)
            | Self::Fill(_)
            | Self::MakeRoom(_)
            | Self::Time => None,
        }
    }

    /// The injection, for display.
    #[must_use]
    pub fn words(self) -> String {
        let until = self.until().map(since_start).unwrap_or_default();
        match self {
            Self::PowerOff(host) => format!("host {host} loses its power"),
            Self::PowerOn(host) => format!("host {host} gets its power back"),
            Self::Cut(host) => format!("host {host} is cut off from the network"),
            Self::Mend(host) => format!("host {host} is connected again"),
            Self::CutSsh(host) => format!("operators cannot connect to host {host}"),
            Self::MendSsh(host) => format!("operators can connect to host {host} again"),
            Self::CutKubelet(host) => format!("the kubelet of host {host} cannot reach the API server"),
            Self::MendKubelet(host) => format!("the kubelet of host {host} reaches the API server again"),
            Self::Sicken(host) => format!("the Node of host {host} becomes not ready"),
            Self::Recover(host) => format!("the Node of host {host} may become ready again"),
            Self::FailLate(host) => format!("what was installed on host {host} makes its Node not ready"),
            Self::RecoverLate(host) => {
                format!("what was installed on host {host} lets its Node be ready again")
            }
            Self::KillProgram(host) => format!("the host program on host {host} is killed"),
            Self::Spoil(host, drift) => format!("something is changed on host {host}: {drift:?}"),
            Self::Crash { seat } => format!("the operator in seat {seat} crashes"),
            Self::Pause { seat: Some(seat), .. } => {
                format!("the operator in seat {seat} stands still until {until}")
            }
            Self::Pause { seat: None, .. } => format!("the operator that leads stands still until {until}"),
            Self::Skew { seat, skew } if skew == Skew::default() => {
                format!("the clock of seat {seat} is right again")
            }
            Self::Skew { seat, skew } => format!("the clock of seat {seat} is {skew}"),
            Self::AddFinalizer(host) => {
                format!("another controller puts its finalizer on the Machine of host {host}")
            }
            Self::DropFinalizer(host) => {
                format!("the other controller removes its finalizer from the Machine of host {host}")
            }
            Self::StripFinalizer(host) => {
                format!("somebody removes our finalizer from the Machine of host {host}")
            }
            Self::Lie(host, None) => format!("the Node of host {host} says what it said, whatever happens"),
            Self::Lie(host, Some(says)) => format!("the Node of host {host} says {says:?}, whatever is true"),
            Self::Truth(host) => format!("the Node of host {host} says the truth again"),
            Self::Pretend(host, lie) => format!("host {host} reports what is not true: {lie:?}"),
            Self::Honest(host) => format!("host {host} reports what is true again"),
            Self::Fill(host) => format!("the disk of host {host} is full"),
            Self::MakeRoom(host) => format!("somebody makes room on the disk of host {host}"),
            Self::Slow(host, 0 | 1) => format!("host {host} is as fast as usual again"),
            Self::Slow(host, factor) => format!("everything on host {host} takes {factor} times as long"),
            Self::Time => "triggers look at the clock".into(),
            Self::HoldWatch(kind, _) => {
                format!("the watch of {} delivers nothing until {until}", kind.name())
            }
            Self::Lag { kind, lag, .. } => {
                format!("the watch of {} is {} late until {until}", kind.name(), readable(lag))
            }
            Self::Relist(kind) => format!("the watch of {} breaks and lists anew", kind.name()),
            Self::Compact => "the history is compacted and every watch breaks".into(),
            Self::Cache(kind) => format!("a cache of the API server keeps what it has of {}", kind.name()),
            Self::Travel { kind, since, .. } => format!(
                "the watch of {} is served from a cache of {} until {until}",
                kind.name(),
                since_start(since)
            ),
            Self::Silence => "watches may leave changes out from now on".into(),
            Self::ApiDown(_) => format!("the API server does not answer until {until}"),
            Self::Throttle { per_second, .. } => {
                format!("the API server takes {per_second} requests a second until {until}")
            }
            Self::RegistryDown(_) => format!("nothing can be downloaded until {until}"),
            Self::MetricsDown(_) => format!("the metrics of the cluster cannot be asked until {until}"),
        }
    }
}
