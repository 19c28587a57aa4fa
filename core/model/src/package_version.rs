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
    /// What people want.
    pub spec: Parsed<PackageVersionSpec>,
    /// What we recorded.
    pub status: PackageVersionStatus,
}

/// What people want of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionSpec {
    /// The default of each component. That one is not mentioned removes nothing.
    pub components: Vec<ComponentSetting>,
    /// How many machines may be unavailable at once while we work.
    pub max_unavailable: CountOrPercent,
    /// How many machines may fail before a rollout stops.
    pub max_failures: CountOrPercent,
    /// How long a host may go without an audit of its digests.
    pub audit_interval: Duration,
    /// No machine is admitted and no operation is started while it is set.
    pub paused: bool,
    /// How pods are treated when a Node is drained.
    pub drain: DrainPolicy,
}

/// What is recorded about the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionStatus {
    /// The generation of the spec that was last taken up.
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

/// A rollout admits machines by a threshold: a machine belongs to it if its rank is below `admitted_below`. Ranks
/// are stable, so raising the number is the only write that a whole batch needs, and it is its durable reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The component that changes.
    pub component: ComponentId,
    /// The generation of the spec at which this change was first seen. Part of every machine's rank.
    pub generation: u64,
    /// What joiners get that are not admitted: the last default that was completed and works. `None`: nothing.
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
    /// The threshold that admits every machine: ranks are lower than it.
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
    /// What there is to say besides the reason.
    pub detail: Option<FleetDetail>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the spec that this speaks of.
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

/// Why a condition of the `ClusterPackageVersion` is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FleetReason {
    /// All machines that can be reached have the default versions.
    AllUpdated,
    /// All machines that can be worked on have the default versions; some cannot be: unreachable, paused, blocked, or
    /// only just back.
    MachinesLeftOut,
    /// Machines are being changed.
    RollingOut,
    /// As many machines failed as may.
    TooManyFailures,
    /// The default was changed; operations of the previous one are still ending.
    Superseding,
    /// Paused by a person.
    Paused,
    /// The spec is not acceptable.
    InvalidSpec,
    /// A version is wanted for which there is no usable `MachineComponent`.
    UnknownVersion,
    /// A default must not be with another one, or with the API servers that there are; or their version is not known.
    VersionSkew,
    /// The store was set back: hosts have seen a newer operator than it knows of.
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
