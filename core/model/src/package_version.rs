//! `ClusterPackageVersion`: the fleet's default versions, and the rollouts that move the fleet to them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::component_set::Picked;
use crate::detail::FleetDetail;
use crate::id::ComponentId;
use crate::lease::Epoch;
use crate::machine::{ComponentSetting, Truth, Want};
use crate::meta::{Meta, Parsed};
use crate::pod::DrainPolicy;
use crate::quantity::CountOrPercent;
use crate::strategy::{Course, GateFailure, Strategy};
use crate::time::Timestamp;

/// The only name that a `ClusterPackageVersion` may have.
pub const SINGLETON: &str = "default";

/// An object that owns rollouts, as the API server holds it: the `ClusterPackageVersion`, or a set. They differ in their spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerObject<S> {
    /// Its metadata.
    pub meta: Meta,
    /// The desired state.
    pub spec: Parsed<S>,
    /// What we recorded.
    pub status: PackageVersionStatus,
    /// A gate that failed, and that a person overrides.
    pub resume: Option<Resume>,
    /// Why people made the last change, in their words.
    pub cause: Option<Arc<str>>,
    /// Who wrote the spec last: the name under which that client writes.
    pub by: Option<Arc<str>>,
    /// The generation whose changes a person has confirmed, however many machines they reach.
    pub confirmed: Option<u64>,
}

/// The `ClusterPackageVersion` as the API server holds it.
pub type PackageVersionObject = OwnerObject<PackageVersionSpec>;

/// The gate of one batch, named by a person who lets the rollout go on in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The component.
    pub component: ComponentId,
    /// The generation of the rollout.
    pub generation: u64,
    /// The number of the batch.
    pub batch: u32,
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
    /// When so many machines are unavailable for reasons of their own, nothing that disrupts is started: a number, or
    /// a percentage of the machines that were set up once.
    pub pause_when_unavailable: CountOrPercent,
    /// While it is set, no machine is admitted and no operation is started.
    pub paused: bool,
    /// The policy for pods when a Node is drained.
    pub drain: DrainPolicy,
    /// How rollouts go through their batches. `None`: all machines are permitted at once, and nothing is judged but what
    /// `maxFailures` counts.
    pub strategy: Option<Strategy>,
}

/// What is recorded about the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersionStatus {
    /// The generation of the spec that was last applied.
    pub observed_generation: u64,
    /// The operator that last wrote this. Nothing is started under a grant before the operator has written its own
    /// epoch here: a late write of its predecessor then finds another version of the object.
    pub epoch: Epoch,
    /// One per component that ever had a default, sorted by component.
    pub rollouts: Vec<Rollout>,
    /// The conditions.
    pub conditions: Vec<FleetCondition>,
    /// On how many machines work began lately, in the failure domains that have a limit for that.
    pub begun: Vec<Begun>,
    /// The rollouts before those in `rollouts`, the last ones of each component, oldest first.
    pub history: Vec<Past>,
    /// The machines that a `CanaryRelease` has picked, by their names. None of other objects.
    pub picked: Vec<Picked>,
}

/// A rollout that another one has replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The component.
    pub component: ComponentId,
    /// The generation of the spec in which it was first observed.
    pub generation: u64,
    /// What it was to bring.
    pub to: Want,
    /// How it ended.
    pub end: End,
    /// The machines that took part, and those that had it, when it was replaced.
    pub progress: (u32, u32),
    /// Why people made the change, in their words.
    pub cause: Option<Arc<str>>,
    /// Who made the change: the name under which that client writes.
    pub by: Option<Arc<str>>,
    /// When it started, in whole seconds.
    pub started_at: Timestamp,
    /// When it was replaced, in whole seconds.
    pub replaced_at: Timestamp,
}

impl Past {
    /// So many are kept of each component.
    pub const KEPT: usize = 10;
    /// The longest cause that is kept, in bytes.
    pub const CAUSE_MAX: usize = 256;
    /// The most bytes of the name of a client that are kept: as many as the API server accepts.
    pub const BY_MAX: usize = 128;
}

/// How a rollout ended that another one has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum End {
    /// Every machine that could be worked on had it.
    Completed,
    /// It was replaced before.
    Superseded,
    /// A gate had failed.
    GateFailed,
    /// A gate had failed, and machines got back what they had before.
    RolledBack,
}

impl End {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Completed, Self::Superseded, Self::GateFailed, Self::RolledBack];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Superseded => "Superseded",
            Self::GateFailed => "GateFailed",
            Self::RolledBack => "RolledBack",
        }
    }

    /// How a rollout ends that is replaced now.
    #[must_use]
    pub fn of(record: &Rollout) -> Self {
        if record.is_reverted() {
            Self::RolledBack
        } else if record.failed_gate().is_some() {
            Self::GateFailed
        } else if record.was_complete() {
            Self::Completed
        } else {
            Self::Superseded
        }
    }
}

/// On how many machines of a failure domain work began within some time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Begun {
    /// The `DisruptionPolicy` whose limit it is, with `/hour` or `/day`.
    pub domain: Arc<str>,
    /// The value of its failure domain.
    pub value: Arc<str>,
    /// When that time began.
    pub since: Timestamp,
    /// The number of machines.
    pub machines: u32,
}

impl Begun {
    /// The most entries that a record is read with.
    pub const MAX: usize = 4_096;
}

impl PackageVersionStatus {
    /// The rollout of `component`.
    #[must_use]
    pub fn rollout(&self, component: ComponentId) -> Option<&Rollout> {
        self.rollouts.iter().find(|rollout| rollout.component == component)
    }
}

/// A rollout permits machines by a threshold, and grants them their turn by rank.
///
/// A machine is permitted if its rank is below `admitted_below`. The threshold is raised once per batch, and never falls.
/// A machine is changed only while its rank is in `granted`. The grants are the durable record of who may be at work: a
/// new operator holds a unit of the budget for each of them, until it has read the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The component that changes.
    pub component: ComponentId,
    /// The generation of the spec in which this change was first observed. It is part of every machine's rank.
    pub generation: u64,
    /// What new machines get before they are permitted: the last default that was completed and works. `None`: nothing.
    pub from: Option<Want>,
    /// What permitted machines get.
    pub to: Want,
    /// Machines whose rank is lower are permitted. [`Rollout::EVERYBODY`] permits all.
    pub admitted_below: u32,
    /// The ranks of the machines that may be at work, in ascending order. `None` in the record of an operator that knew
    /// no grants: then every permitted machine that is not finished may be at work.
    pub granted: Option<Vec<u32>>,
    /// Earlier rollouts of this component, while machines may still be at work for them.
    pub superseded: Vec<Superseded>,
    /// Its batches and gates, if it has a strategy.
    pub course: Option<Course>,
    /// Why people made this change, in their words.
    pub cause: Option<Arc<str>>,
    /// Who made this change: the name under which that client writes.
    pub by: Option<Arc<str>>,
    /// How far it was when this was written.
    pub progress: Progress,
    /// When it started, in whole seconds.
    pub started_at: Timestamp,
    /// When every machine that could be worked on had it, in whole seconds.
    pub completed_at: Option<Timestamp>,
}

/// What remains of a rollout whose default was replaced: the machines that may still be at work for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// The generation of the spec in which it was first observed. It is part of every machine's rank.
    pub generation: u64,
    /// What it was to bring.
    pub to: Want,
    /// The ranks of the machines that may be at work for it, in ascending order.
    pub granted: Vec<u32>,
}

/// How far a rollout is: the number of machines in each state. It is written with each wave of grants, and decides
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Machines that take part.
    pub total: u32,
    /// Machines that have what is wanted.
    pub updated: u32,
    /// Machines that are at work, or about to be.
    pub at_work: u32,
    /// Machines on which the release failed.
    pub failed: u32,
    /// Machines whose host was lost at work and has not answered since.
    pub lost: u32,
    /// Machines that cannot be worked on, by the reason.
    pub deferred: Vec<Deferred>,
}

/// Machines that cannot be worked on for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deferred {
    /// Why.
    pub reason: DeferralReason,
    /// How many.
    pub machines: u32,
}

/// Why a machine that is permitted cannot be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeferralReason {
    /// Its host does not answer.
    Unreachable,
    /// A person has paused it.
    Paused,
    /// Its Node cannot be drained: pods must not be lost, or did not leave in time.
    Undrained,
    /// Something else has to change first: its conditions say what.
    Blocked,
}

impl DeferralReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Unreachable, Self::Paused, Self::Undrained, Self::Blocked];
}

impl Rollout {
    /// What permitted machines get now: what they had before if the rollout is being reverted.
    #[must_use]
    pub fn target(&self) -> &Want {
        match (&self.from, self.is_reverted()) {
            (Some(from), true) => from,
            (Some(_) | None, _) => &self.to,
        }
    }

    /// Whether machines get back what they had before.
    #[must_use]
    pub fn is_reverted(&self) -> bool {
        self.course.as_ref().is_some_and(|course| course.reverted_at.is_some())
    }

    /// Whether it is complete, or was, and lets machines catch up that came since. A gate that has failed casts doubt on it.
    #[must_use]
    pub fn was_complete(&self) -> bool {
        let catches_up = |course: &Course| course.catches_up && course.failure.is_none();
        self.completed_at.is_some() || self.course.as_ref().is_some_and(catches_up)
    }

    /// Whether machines go back to what is known to work: a gate has failed, or people want what was there before.
    #[must_use]
    pub fn goes_back(&self) -> bool {
        self.is_reverted() || self.from.as_ref() == Some(&self.to)
    }

    /// The gate that has failed, if the rollout stands still because of it.
    #[must_use]
    pub fn failed_gate(&self) -> Option<&GateFailure> {
        self.course.as_ref().filter(|course| course.reverted_at.is_none())?.failure.as_ref()
    }

    /// The threshold that permits every machine: all ranks are lower.
    pub const EVERYBODY: u32 = u32::MAX;
    /// At most this many machines may be at work for one rollout, so that its record stays small. Hosts that were lost
    /// at work may come on top.
    pub const GRANTS_MAX: usize = 1_024;
    /// The most ranks that a record is read with.
    pub const RANKS_MAX: usize = 16_384;
    /// At most this many earlier rollouts are kept. The next one waits until fewer are left.
    pub const SUPERSEDED_MAX: usize = 16;
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
    /// Another set has a say on the same machines. Only sets have it, and only while it is true.
    Overlapping,
}

impl FleetConditionKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Complete, Self::Progressing, Self::Overlapping];
}

/// The reason of a condition of the `ClusterPackageVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FleetReason {
    /// All machines that can be reached have the default versions.
    AllUpdated,
    /// All machines that can be worked on have the default versions; some cannot be, or failed to get them: unreachable,
    /// paused, blocked, failed, or only just back.
    MachinesLeftOut,
    /// Machines are being changed.
    RollingOut,
    /// The machines of a batch are being watched before the next batch starts, or the rollout is complete.
    Baking,
    /// Most of the machines that were asked before the first batch could not fetch the artefact.
    ArtefactUnavailable,
    /// The gate after a batch waits for evidence.
    GateInconclusive,
    /// The gate after a batch has failed.
    GateFailed,
    /// The gate after a batch has failed, and machines get back what they had before, or have it.
    RolledBack,
    /// The number of failed machines has reached its limit, or they hold every unit of `maxUnavailable`.
    TooManyFailures,
    /// So many machines were lost at work, and may have failed, that no other may start.
    TooManyLost,
    /// More machines are unavailable, for reasons of their own, than `pauseWhenUnavailable` allows.
    TooManyUnavailable,
    /// Every change that is left would do more to the workloads of its machine than the strategy allows.
    TooDisruptive,
    /// Every change that is left would go back from a version whose `rollback` is `Unsafe`.
    RollbackUnsafe,
    /// An edit has left a set without machines that had some before.
    SetEmptied,
    /// More machines cannot be drained than a batch ends without.
    TooManyUndrained,
    /// The default was changed; operations of the previous one have not finished yet.
    Superseding,
    /// Paused by a person.
    Paused,
    /// Paused by a `DisruptionPolicy`.
    PolicyPaused,
    /// The spec of a `DisruptionPolicy` is invalid, and no valid one is known.
    PolicyInvalid,
    /// A freeze of a `DisruptionPolicy` keeps back every machine that could be changed.
    Frozen,
    /// The windows of a `DisruptionPolicy` keep back every machine that could be changed.
    OutsideWindow,
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
    /// A change reaches more machines than people allow without a confirmation.
    ConfirmationNeeded,
    /// Another set selects some of the same machines, and both mention a component.
    Overlap,
    /// No machine can be picked for a `CanaryRelease`.
    NoMachines,
    /// What a `CanaryRelease` has tried is what its machines get without it. It does nothing more.
    Promoted,
    /// A person has aborted a `CanaryRelease`. Its machines get what they get without it.
    Aborted,
}

impl FleetReason {
    /// Every reason.
    pub const ALL: [Self; 31] = [
        Self::AllUpdated,
        Self::MachinesLeftOut,
        Self::RollingOut,
        Self::Baking,
        Self::ArtefactUnavailable,
        Self::GateInconclusive,
        Self::GateFailed,
        Self::RolledBack,
        Self::TooManyFailures,
        Self::TooManyLost,
        Self::TooManyUnavailable,
        Self::TooDisruptive,
        Self::RollbackUnsafe,
        Self::SetEmptied,
        Self::TooManyUndrained,
        Self::Superseding,
        Self::Paused,
        Self::PolicyPaused,
        Self::PolicyInvalid,
        Self::Frozen,
        Self::OutsideWindow,
        Self::InvalidSpec,
        Self::UnknownVersion,
        Self::VersionSkew,
        Self::StoreRegressed,
        Self::Terminating,
        Self::ConfirmationNeeded,
        Self::Overlap,
        Self::NoMachines,
        Self::Promoted,
        Self::Aborted,
    ];
}
