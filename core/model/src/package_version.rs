//! `ClusterPackageVersion`: the fleet's default versions, and the rollouts that move the fleet to them.

use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::detail::FleetDetail;
use crate::id::ComponentId;
use crate::machine::{ComponentSetting, Truth, Want};
use crate::meta::{Meta, Parsed};
use crate::pod::DrainPolicy;
use crate::quantity::CountOrPercent;
use crate::time::Timestamp;

/// The only name that a `ClusterPackageVersion` may have.
pub const SINGLETON: &str = "default";

/// The `ClusterPackageVersion` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionObject {
    /// Its metadata.
    pub meta: Meta,
    /// The desired state.
    pub spec: Parsed<PackageVersionSpec>,
    /// What we recorded.
    pub status: PackageVersionStatus,
}

/// The desired state of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionSpec {
    /// The default of each component. A component that is not mentioned is not removed.
    pub components: Vec<ComponentSetting>,
    /// How many machines may be unavailable at once while we work.
    pub max_unavailable: CountOrPercent,
    /// How many machines may fail before a rollout stops.
    pub max_failures: CountOrPercent,
    /// How long a host may go without an audit of its digests.
    pub audit_interval: Duration,
    /// While it is set, no machine is admitted and no operation is started.
    pub paused: bool,
    /// The policy for pods when a Node is drained.
    pub drain: DrainPolicy,
}

/// What is recorded about the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionStatus {
    /// The generation of the spec that was last applied.
    pub observed_generation: u64,
    /// One per component that ever had a default, sorted by component.
    pub rollouts: Vec<Rollout>,
    /// The conditions.
    pub conditions: Vec<FleetCondition>,
}

impl PackageVersionStatus {
    /// The rollout of `component`.
    #[must_use]
    pub fn rollout(&self, component: ComponentId) -> Option<&Rollout> {
        self.rollouts.iter().find(|rollout| rollout.component == component)
    }
}

/// A rollout admits machines by a threshold: a machine is admitted if its rank is below `admitted_below`. Ranks are
/// stable, so a batch needs only one write, which raises the threshold. That write is also the durable reservation of
/// the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The component that changes.
    pub component: ComponentId,
    /// The generation of the spec in which this change was first observed. It is part of every machine's rank.
    pub generation: u64,
    /// What new machines get before they are admitted: the last default that was completed and works. `None`: nothing.
    pub from: Option<Want>,
    /// What admitted machines get.
    pub to: Want,
    /// Machines whose rank is lower are admitted. [`Rollout::EVERYBODY`] admits all.
    pub admitted_below: u32,
    /// When it started, in whole seconds. Machines that were unavailable before do not count against the budget.
    pub started_at: Timestamp,
    /// When every machine that could be reached had it, in whole seconds.
    pub completed_at: Option<Timestamp>,
}

impl Rollout {
    /// The threshold that admits every machine: all ranks are lower.
    pub const EVERYBODY: u32 = u32::MAX;
}

/// A condition of the `ClusterPackageVersion`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetCondition {
    /// Which.
    pub kind: FleetConditionKind,
    /// Whether it holds.
    pub truth: Truth,
    /// Why.
    pub reason: FleetReason,
    /// Detail beyond the reason.
    pub detail: Option<FleetDetail>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the spec that this condition is about.
    pub observed_generation: u64,
}

/// The kind of a condition of the `ClusterPackageVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FleetConditionKind {
    /// Every rollout was completed.
    Complete,
    /// Rollouts may go on: nothing stops them.
    Progressing,
}

/// The reason of a condition of the `ClusterPackageVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FleetReason {
    /// All machines that can be reached have the default versions.
    AllUpdated,
    /// All machines that can be worked on have the default versions; some cannot be: unreachable, paused, blocked, or
    /// only just back.
    MachinesLeftOut,
    /// Machines are being changed.
    RollingOut,
    /// The number of failed machines has reached its limit.
    TooManyFailures,
    /// The default was changed; operations of the previous one have not finished yet.
    Superseding,
    /// Paused by a person.
    Paused,
    /// The spec is invalid.
    InvalidSpec,
    /// A version is wanted for which there is no usable `MachineComponent`.
    UnknownVersion,
    /// A default must not run with another one, or with the present API servers; or their versions are not known.
    VersionSkew,
    /// The store has regressed: hosts have seen a newer operator than it knows of.
    StoreRegressed,
    /// The object is being deleted; nothing is removed from any host.
    Terminating,
}

impl FleetReason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::AllUpdated,
        Self::MachinesLeftOut,
        Self::RollingOut,
        Self::TooManyFailures,
        Self::Superseding,
        Self::Paused,
        Self::InvalidSpec,
        Self::UnknownVersion,
        Self::VersionSkew,
        Self::StoreRegressed,
        Self::Terminating,
    ];
}
