//! What a scenario expects.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::vocabulary::{KindName, Reference};

/// Something that must hold, at a moment of the timeline or at the end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Check {
    /// Every machine that can be reached has exactly what is wanted, and the status says so.
    Converged,
    /// On every host that can be reached exactly this version of each of these components is installed, undamaged. The
    /// version as its author spells it; `none` for a component that must not be there.
    Installed(BTreeMap<String, String>),
    /// On these machines, by number, exactly this version of each of these components is installed.
    InstalledOn(InstalledOn),
    /// The Nodes of these machines, by number, are unschedulable, and no others are.
    Unschedulable(Vec<u32>),
    /// At most so many hosts were ever harmed by a release that failed.
    MaxHarmed(u32),
    /// At least so many were: the scenario bites.
    MinHarmed(u32),
    /// At most so many hosts ever had operations of ours at once.
    MaxAtWork(u32),
    /// Nothing was ever removed from any host.
    NothingRemoved,
    /// The `ClusterPackageVersion` says that its rollouts stopped for this reason.
    Stopped(String),
    /// An object of this kind and name does not exist.
    Gone(Reference),
    /// A condition of an object is as told.
    Condition(ExpectedCondition),
    /// Operations were started on hosts so often at most, in all.
    MaxOperations(u64),
    /// The same, for each machine of the fleet.
    MaxOperationsPerMachine(u32),
    /// Operator processes wrote so often at most to the API server, in all, renewals of the Lease aside.
    MaxApiWrites(u64),
}

impl Check {
    /// Whether it can be looked up at every moment: it does not depend on the size of the fleet.
    #[must_use]
    pub const fn is_cheap(&self) -> bool {
        match self {
            Self::MaxHarmed(_)
            | Self::MaxAtWork(_)
            | Self::NothingRemoved
            | Self::MaxOperations(_)
            | Self::MaxOperationsPerMachine(_)
            | Self::MaxApiWrites(_) => true,
            Self::Converged
            | Self::Installed(_)
            | Self::InstalledOn(_)
            | Self::Unschedulable(_)
            | Self::MinHarmed(_)
            | Self::Stopped(_)
            | Self::Gone(_)
            | Self::Condition(_) => false,
        }
    }
}

/// A condition of an object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedCondition {
    /// The kind of the object: `Machine` or `ClusterPackageVersion`.
    pub kind: KindName,
    /// Its name.
    pub name: String,
    /// The type of the condition.
    pub r#type: String,
    /// Its status: `True`, `False` or `Unknown`.
    pub status: String,
    /// Its reason; any when left out.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What is installed on some machines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledOn {
    /// Which machines, by number.
    pub machines: Vec<u32>,
    /// Version by component.
    pub components: BTreeMap<String, String>,
}
