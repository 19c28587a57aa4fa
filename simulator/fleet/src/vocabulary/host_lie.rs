//! What a host reports although it is not true.

use serde::{Deserialize, Serialize};

/// A field of a host's report that is not true. The report is well-formed, and each value could be true of some host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum HostLie {
    /// An epoch that is a little higher than the one that the host has seen.
    Epoch,
    /// The highest epoch that fits into the report.
    HighestEpoch,
    /// Another Machine of the cluster as its owner.
    Owner,
    /// No owner.
    NoOwner,
    /// A Machine of another cluster as its owner.
    Cluster,
    /// Another machine-id.
    MachineId,
    /// Another boot id in each report.
    Boot,
    /// Another processor architecture.
    Architecture,
    /// No components.
    Nothing,
    /// Other releases than the installed ones.
    Releases,
    /// Drift of every component.
    Drift,
    /// No drift.
    NoDrift,
    /// The last operation is under way.
    Running,
    /// The last operation was interrupted.
    Interrupted,
    /// The last operation has failed, because the probe of its release did.
    Failed,
    /// No node identity.
    NoIdentity,
}

impl HostLie {
    /// Those that cost at most operations on the host itself and its slot, and that leave nothing behind. The failure of an
    /// operation counts against `maxFailures`, and a machine-id is recorded when a host is seen first: people have to
    /// correct that.
    pub const HARMLESS: [Self; 14] = [
        Self::Epoch,
        Self::HighestEpoch,
        Self::Owner,
        Self::NoOwner,
        Self::Cluster,
        Self::Boot,
        Self::Architecture,
        Self::Nothing,
        Self::Releases,
        Self::Drift,
        Self::NoDrift,
        Self::Running,
        Self::Interrupted,
        Self::NoIdentity,
    ];

    /// The number that a host makes up instead of its true machine-id: always the same.
    #[must_use]
    pub const fn invented(truth: u128) -> u128 {
        truth ^ 0x5eed_5eed_5eed_5eed
    }
}
