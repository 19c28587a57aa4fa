//! The expectations of scenarios.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::vocabulary::{KindName, Reference};

/// An expectation: something that must hold at a moment of the timeline, at every moment, or at the end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Check {
    /// Every Machine whose host can be reached has exactly the components that its specs ask for, and its status says
    /// so.
    Converged,
    /// Exactly this version of each of these components is installed, undamaged, on every host that can be reached and
    /// has a Machine. The version is written as its author spells it; `none` means that the component must not be
    /// installed.
    Installed(BTreeMap<String, String>),
    /// Exactly this version of each of these components is installed on these machines, as in `installed`.
    InstalledOn(InstalledOn),
    /// The Nodes of these machines, by number in ascending order, are unschedulable, and no other Nodes of the fleet
    /// are.
    Unschedulable(Vec<u32>),
    /// The largest number of hosts that failing releases may have harmed during the run.
    MaxHarmed(u32),
    /// The least number of hosts that failing releases must have harmed during the run, to prove that the scenario
    /// exercises failures.
    MinHarmed(u32),
    /// The largest number of hosts that may have been at work on operations of the operator at the same time.
    MaxAtWork(u32),
    /// No component was ever removed from any host.
    NothingRemoved,
    /// The `Progressing` condition of the `ClusterPackageVersion` is `False` with this reason: its rollouts have
    /// stopped.
    Stopped(String),
    /// The object of this kind and name does not exist.
    Gone(Reference),
    /// The object has a condition of this type, status and reason.
    Condition(ExpectedCondition),
    /// The largest number of operations that may have begun on hosts during the run.
    MaxOperations(u64),
    /// The largest average number of operations per machine of the fleet: at most this number times the number of
    /// machines may have begun.
    MaxOperationsPerMachine(u32),
    /// The largest number of writes of operator processes that the API server may have committed, without renewals of
    /// the Lease.
    MaxApiWrites(u64),
    /// The largest number of times that operators may have cordoned a Node: each is the begin of a drain.
    MaxCordons(u64),
}

impl Check {
    /// Whether the check is cheap enough for every moment: its cost does not depend on the size of the fleet.
    #[must_use]
    pub const fn is_cheap(&self) -> bool {
        match self {
            Self::MaxHarmed(_)
            | Self::MaxAtWork(_)
            | Self::NothingRemoved
            | Self::MaxOperations(_)
            | Self::MaxOperationsPerMachine(_)
            | Self::MaxApiWrites(_)
            | Self::MaxCordons(_) => true,
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

/// A condition that an object is expected to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedCondition {
    /// The kind of the object: `Machine`, `ClusterPackageVersion` or `Node`.
    pub kind: KindName,
    /// The name of the object.
    pub name: String,
    /// The type of the condition.
    pub r#type: String,
    /// The status of the condition: `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason of the condition. Any reason if omitted. The conditions of Nodes have none.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The components that some machines are expected to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledOn {
    /// The machines, by number.
    pub machines: Vec<u32>,
    /// The expected version of each component, by name of the component; `none` means that it must not be installed.
    pub components: BTreeMap<String, String>,
}
