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
    /// How many.
    pub machines: u32,
    /// Failure domains. Machine n is in zone n modulo this.
    #[serde(default = "one")]
    pub zones: u32,
    /// Racks per zone.
    #[serde(default = "one")]
    pub racks_per_zone: u32,
    /// What share of the hosts is arm64; the others are amd64.
    #[serde(default)]
    pub arm64: Portion,
    /// Whether each host runs a kubelet, and so has a Node.
    #[serde(default = "yes")]
    pub nodes: bool,
    /// Kinds of machines, all over the failure domains: a label `pool` on the Machine.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// What runs on the Nodes; nothing when left out.
    #[serde(default)]
    pub pods: Option<Pods>,
    /// Operator processes from the first second on, one in each seat from 0. One leads, the others stand by; whatever
    /// ends in a seat is started again there.
    #[serde(default = "one")]
    pub operators: u32,
    /// The build of the operator that runs first.
    #[serde(default)]
    pub operator_build: Build,
    /// The version of the API servers, for example `1.36.3`. Without one they do not tell it.
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

    /// The pool of a host; `None` when its share of the fleet belongs to no pool.
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

/// The version of API servers.
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

/// What runs on the Nodes of a fleet: apps whose controllers make another pod when one goes, each with a disruption budget.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pods {
    /// How many apps.
    #[serde(default = "one")]
    pub apps: u32,
    /// How many pods each has.
    pub replicas: u32,
    /// How many of them its budget lets be unavailable.
    #[serde(default = "one")]
    pub max_unavailable: u32,
    /// How long a pod takes to end.
    #[serde(default = "grace_default")]
    pub grace: Range,
    /// How long a pod takes from its being placed until it is ready.
    #[serde(default = "startup_default")]
    pub startup: Range,
    /// On what share of the Nodes there is a pod that nobody makes again.
    #[serde(default)]
    pub bare: Portion,
}

const fn grace_default() -> Range {
    Range(Span::millis(500, 30_000))
}

const fn startup_default() -> Range {
    Range(Span::millis(2_000, 20_000))
}

/// A kind of machines.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// What share of the fleet it is.
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
    /// One that came before: it words conditions in another way, does not record the cgroup version of hosts, sends less at
    /// once, waits longer after failures, and audits more often.
    Earlier,
    /// The one that is compiled here.
    #[default]
    Current,
}
