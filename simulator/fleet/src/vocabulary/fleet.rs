//! The shape of a fleet: its machines, failure domains, pools, pods, operators and API servers.

use seaworthy_kernel::{Draws, Share, Span, word};
use seaworthy_model::requirement::VersionNumber;
use serde::Deserialize;

use super::{Portion, Range};

/// The machines of a fleet: `m-00000`, `m-00001` and so on, each with a host and, normally, a Node.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fleet {
    /// The number of machines.
    pub machines: u32,
    /// The number of zones. Machine n is in zone n modulo this number. 1 if omitted.
    #[serde(default = "one")]
    pub zones: u32,
    /// The number of racks in each zone. 1 if omitted.
    #[serde(default = "one")]
    pub racks_per_zone: u32,
    /// The share of the hosts that are arm64; the others are amd64. None if omitted.
    #[serde(default)]
    pub arm64: Portion,
    /// Whether each host runs a kubelet, and therefore has a Node. True if omitted.
    #[serde(default = "yes")]
    pub nodes: bool,
    /// Pools of machines, spread over all failure domains. The Machines of a pool have its name in the label `pool`.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// The pods that run on the Nodes. None if omitted.
    #[serde(default)]
    pub pods: Option<Pods>,
    /// The number of operator processes, which start one second after the start of the run, one in each seat from 0.
    /// One process leads and the others stand by. A process that ends is started again in its seat. 1 if omitted.
    #[serde(default = "one")]
    pub operators: u32,
    /// The build of the operator at the start.
    #[serde(default)]
    pub operator_build: Build,
    /// The version of the API servers, for example `1.36.3`. If omitted, the API servers do not report a version.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub api_server: Option<ApiServerVersion>,
}

impl Fleet {
    /// The zone of a host: neighbours are in different zones.
    #[must_use]
    pub const fn zone_of(&self, host: u32) -> u32 {
        if self.zones == 0 { 0 } else { host % self.zones }
    }

    /// The rack of a host within its zone.
    #[must_use]
    pub const fn rack_of(&self, host: u32) -> u32 {
        if self.zones == 0 || self.racks_per_zone == 0 { 0 } else { host / self.zones % self.racks_per_zone }
    }

    /// The pool of a host. `None` if the host belongs to no pool.
    #[must_use]
    pub fn pool_of(&self, host: u32, draws: &Draws) -> Option<&str> {
        let place = u32::try_from(draws.below(word("pool"), u64::from(host), 0, u64::from(Share::ALL.0)));
        let mut before = 0;
        self.pools.iter().find_map(|pool| {
            before += pool.share.0.0;
            place.is_ok_and(|place| place < before).then_some(pool.name.as_str())
        })
    }
}

/// The version of the API servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ApiServerVersion(pub VersionNumber);

impl TryFrom<String> for ApiServerVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        VersionNumber::parse(&text)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not three numbers, such as \"1.36.0\""))
    }
}

/// The pods that run on the Nodes of a fleet: apps, each with a disruption budget and a controller that replaces
/// missing pods.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pods {
    /// The number of apps. 1 if omitted.
    #[serde(default = "one")]
    pub apps: u32,
    /// The number of pods of each app.
    pub replicas: u32,
    /// The number of pods of each app that its disruption budget allows to be unavailable. 1 if omitted.
    #[serde(default = "one")]
    pub max_unavailable: u32,
    /// The time that a pod takes to terminate. 0.5 to 30 seconds if omitted.
    #[serde(default = "grace_default")]
    pub grace: Range,
    /// The time from the scheduling of a pod until it is ready. 2 to 20 seconds if omitted.
    #[serde(default = "startup_default")]
    pub startup: Range,
    /// The share of the Nodes that have a pod without a controller, which nobody replaces. None if omitted.
    #[serde(default)]
    pub bare: Portion,
    /// The share of the Nodes that have a mirror pod: the object of a static pod, which only its kubelet can end. None if
    /// omitted.
    #[serde(default)]
    pub mirrors: Portion,
    /// The share of the Nodes that have a finished pod of a Job. None if omitted.
    #[serde(default)]
    pub finished: Portion,
    /// The number of apps whose pods have an `emptyDir` volume. None if omitted.
    #[serde(default)]
    pub local_storage: u32,
    /// The number of apps whose pods tolerate every taint, so that they may be placed on a Node that is cordoned. None
    /// if omitted.
    #[serde(default)]
    pub tolerating: u32,
}

const fn grace_default() -> Range {
    Range(Span::millis(500, 30_000))
}

const fn startup_default() -> Range {
    Range(Span::millis(2_000, 20_000))
}

/// A pool of machines.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pool {
    /// The name of the pool.
    pub name: String,
    /// The share of the fleet that belongs to the pool. The shares of all pools must not exceed 100%.
    pub share: Portion,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

/// A build of the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Build {
    /// An earlier build: it words conditions differently, does not record the cgroup version of hosts, sends less at
    /// once, waits longer after failures, and audits more often.
    Earlier,
    /// The current build: the one compiled from this workspace.
    #[default]
    Current,
}
