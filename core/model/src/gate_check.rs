//! What a gate asks besides the machines themselves: the metrics of the cluster, and whether pods start.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

/// A question to a Prometheus, or to what answers as one. A gate fails if the answer is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Query {
    /// The namespace of its Service.
    pub namespace: Arc<str>,
    /// The name of its Service. It is asked through the API server.
    pub service: Arc<str>,
    /// The port of the Service.
    pub port: u16,
    /// Whether it is asked by TLS. The API server does not verify its certificate.
    pub tls: bool,
    /// What comes before `/api/v1/query` in its path; empty, or begins with a slash.
    pub path_prefix: Arc<str>,
    /// The PromQL expression. It gives a vector: what is wrong, as that of an alert does.
    pub expression: Arc<str>,
}

/// A pod that has to start on some of the machines that a rollout has changed last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProbePod {
    /// Its image. It has to run for a few minutes, as any user, without arguments.
    pub image: Arc<str>,
    /// On how many machines, from 1 to [`Self::MACHINES_MAX`].
    pub machines: u32,
    /// Within which time it has to run.
    pub within: Duration,
}

impl ProbePod {
    /// The most machines on which probe pods start.
    pub const MACHINES_MAX: u32 = 16;
    /// On how many machines they start by default: enough to find what keeps pods from starting on half of them.
    pub const MACHINES: u32 = 5;
    /// Within which time they have to run by default: an image may have to be pulled first.
    pub const WITHIN: Duration = Duration::from_secs(120);
}

/// What a gate asks besides the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GateCheck {
    /// The metrics of the cluster: see [`Query`].
    Query,
    /// Whether pods start: see [`ProbePod`].
    ProbePods,
}

impl GateCheck {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Query, Self::ProbePods];
}

/// Why a gate was not answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Silence {
    /// In the words of who was asked.
    Told(Arc<str>),
    /// No answer came in time.
    NoAnswer,
    /// No probe pod can start: no changed machine has a Node that is ready.
    NothingToProbe,
}

/// What the probe pods of one gate have in common, so that those of another gate, or of an earlier try, are not taken for
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProbeRound(pub u64);

impl fmt::Display for ProbeRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A probe pod that is to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeStart {
    /// The round that it belongs to.
    pub round: ProbeRound,
    /// Its number in the round, from 0.
    pub number: u32,
    /// What starts.
    pub pod: Arc<ProbePod>,
}
