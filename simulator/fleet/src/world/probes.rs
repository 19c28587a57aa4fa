//! What gates ask besides the machines: what the metrics of the cluster show, and pods that start or do not.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_kernel::Timestamp;
use seaworthy_model::gate_check::ProbeRound;

/// What gates ask about.
#[derive(Clone, Debug, Default)]
pub(super) struct GateChecks {
    /// How many hosts have releases that only the metrics show to be bad.
    pub(super) ailing: u32,
    /// The hosts on which no new pod starts.
    pub(super) stalled: BTreeSet<u32>,
    /// The probe pods, by round and number.
    pub(super) probes: BTreeMap<(ProbeRound, u32), Probe>,
}

/// A probe pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// The host of its Node; `None` if there is no such Node.
    pub(super) host: Option<u32>,
    /// From then on it runs, if something does not keep it from that.
    pub(super) starts_at: Timestamp,
    /// Whether it runs, or has run.
    pub(super) has_started: bool,
}
