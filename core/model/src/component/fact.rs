//! Values that templates use: facts about a machine, and parameters.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

/// A fact about a machine that templates may use, by this name in lower camel case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fact {
    /// `machineName`: the Machine's name.
    MachineName,
    /// `ip`: `spec.address.ip`.
    Ip,
    /// `hostname`: `spec.address.hostname`.
    Hostname,
    /// `idc`: `spec.address.idc`.
    Idc,
    /// `rack`: `spec.address.rack`.
    Rack,
    /// `architecture`: what the host reported.
    Architecture,
    /// `cgroupVersion`: what the host reported, `v1` or `v2`.
    CgroupVersion,
}

impl Fact {
    /// Every fact.
    pub const ALL: [Self; 7] = [
        Self::MachineName,
        Self::Ip,
        Self::Hostname,
        Self::Idc,
        Self::Rack,
        Self::Architecture,
        Self::CgroupVersion,
    ];

    /// Its name in templates.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MachineName => "machineName",
            Self::Ip => "ip",
            Self::Hostname => "hostname",
            Self::Idc => "idc",
            Self::Rack => "rack",
            Self::Architecture => "architecture",
            Self::CgroupVersion => "cgroupVersion",
        }
    }
}

/// Parameters for templates, by name.
pub type Parameters = BTreeMap<String, String>;

/// Which version of control groups a host uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CgroupVersion {
    /// One hierarchy for each controller, also beside the unified one.
    V1,
    /// The unified hierarchy alone.
    V2,
}

impl CgroupVersion {
    /// Every version.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}
