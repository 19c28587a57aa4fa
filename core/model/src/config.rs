//! The configuration of an engine. It is fixed: another configuration needs a new engine.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::quantity::CountOrPercent;

/// The engine's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The name of this process in the Lease. No two processes ever have the same.
    pub holder: String,
    /// How long others let the holder of the Lease be silent, by their own clocks, before they take it; whole seconds,
    /// at least 1, and longer than `renew_deadline`. 15 s, as `RecommendedDefaultLeaderElectionConfiguration` of
    /// `k8s.io/component-base` has it for all of Kubernetes.
    pub lease_duration: Duration,
    /// A holder that could not renew for so long starts nothing more, until it can again. 10 s, from the same place.
    pub renew_deadline: Duration,
    /// From one try of a failed write of the Lease to the next; `renew_deadline` must be more than 1.2 times as long,
    /// since candidates draw it out by up to a fifth (client-go's `JitterFactor`). 2 s, from the same place.
    pub retry_period: Duration,
    /// How many actions one turn may contain, at least 1.
    pub actions_per_turn_max: u32,
    /// How many subjects one turn may look at, at least 1.
    pub subjects_per_turn_max: u32,
    /// How many orders to hosts may be under way at once, at least 1. An SSH connection costs about 70 KiB and a
    /// connect about 25 ms of CPU.
    pub host_sessions_max: u32,
    /// After this time an API request is given up.
    pub api_deadline: Duration,
    /// After this time a read of a host is given up.
    pub read_deadline: Duration,
    /// After this time, on top of what the probe may take, an operation is given up and probed.
    pub apply_deadline: Duration,
    /// The first wait after a failure; it doubles with each.
    pub backoff_min: Duration,
    /// The longest wait after failures.
    pub backoff_max: Duration,
    /// So many failed contacts in a row make a host unreachable, at least 1.
    pub unreachable_after: u32,
    /// How often hosts without a Node are audited while `auditInterval` is at most a day. No event shows that such a host
    /// is in trouble. With a longer `auditInterval` it is longer in proportion.
    pub audit_without_node: Duration,
    /// How long it counts what versions the API servers had when they were asked. Drivers ask every two minutes; nothing
    /// that has a rule about them is started on older knowledge.
    pub api_server_memory: Duration,
    /// How long a wave of grants may wait to become larger before it is written.
    pub admission_wait: Duration,
    /// The batches of a rollout: up to each of these, machines are permitted once those before are done. Everybody is
    /// permitted after the last one.
    pub batches: Vec<CountOrPercent>,
}

impl Config {
    /// From one renewal of the Lease to the next: half of the renew deadline. client-go renews at every retry period;
    /// half the deadline leaves time for two more tries with the usual numbers (at 5, 7 and 9 of 10 s), and costs the
    /// store 17,280 writes a day instead of 43,200.
    #[must_use]
    pub fn renew_interval(&self) -> Duration {
        self.renew_deadline / 2
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            holder: String::from("seaworthy"),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            actions_per_turn_max: 512,
            subjects_per_turn_max: 4096,
            host_sessions_max: 512,
            api_deadline: Duration::from_secs(15),
            read_deadline: Duration::from_secs(60),
            apply_deadline: Duration::from_secs(600),
            backoff_min: Duration::from_secs(5),
            backoff_max: Duration::from_secs(1800),
            unreachable_after: 3,
            audit_without_node: Duration::from_secs(300),
            api_server_memory: Duration::from_secs(600),
            admission_wait: Duration::from_secs(10),
            batches: Vec::new(),
        }
    }
}
