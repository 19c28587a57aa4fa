//! The result of one `reconcile`: its actions, and why it did not decide more.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::cause::CauseKind;
use crate::certificate::Refusal;
use crate::component::Disruption;
use crate::effect::Action;
use crate::id::{ComponentId, Kind, PolicyId, SetId, VersionId};
use crate::lease::Epoch;
use crate::requirement::VersionNumber;
use crate::time::Timestamp;

pub use crate::id::Subject;

/// The result of one `reconcile`.
#[must_use = "a dropped turn loses its actions"]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The actions to carry out, in this order.
    pub actions: Vec<Action>,
    /// The subjects without an action, and why.
    pub report: Report,
    /// When to call again, if nothing happens before.
    pub wake: Option<Wake>,
}

/// Why nothing (more) was done for the subjects of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How many subjects were reconciled.
    pub reconciled: u32,
    /// The subjects that wait, each with its blocker.
    pub blocked: Vec<Blocked>,
}

/// A subject that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// The subject.
    pub subject: Subject,
    /// What it waits for.
    pub blocker: Blocker,
}

/// Why the engine does not act on a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Blocker {
    /// The Lease is not ours yet, and no other process holds it as far as we know.
    NotLeading,
    /// Another process holds the Lease: we watch it and do nothing else. The Lease names the holder.
    Standby {
        /// The epoch of the holder.
        of: Epoch,
    },
    /// The Lease is ours, but no renewal has succeeded for so long that another process may take it soon: nothing is
    /// started until one succeeds.
    RenewalOverdue {
        /// When the last renewal that is known to have succeeded was ordered.
        since: Timestamp,
    },
    /// Another operator has taken the Lease from us. This is final: the process should exit.
    SteppedDown {
        /// The other operator's epoch.
        by: Epoch,
    },
    /// The process was asked to stop.
    Stopping,
    /// A kind is not listed completely yet.
    NotSynced(Kind),
    /// Hosts, or the statuses of Machines, show an operator that the store has lost. A person has to annotate the Lease
    /// with the epoch up to which hosts may be taken over.
    StoreRegressed {
        /// The epoch that enough hosts have seen, or our own lost one; 0 when it is not known.
        seen: Epoch,
    },
    /// A person has recorded an adoption of an epoch that leaves no room for later operators.
    AdoptionRefused {
        /// The epoch of the adoption.
        asked: Epoch,
    },
    /// There is no epoch after this one: nobody can take the Lease any more.
    EpochsExhausted {
        /// The last epoch that was taken.
        last: Epoch,
    },
    /// The echo of our own write has not arrived yet.
    AwaitingOwnWrite,
    /// An action on it is in flight.
    InFlight,
    /// It waits out a back-off after a failure.
    BackOff {
        /// When it is tried again.
        until: Timestamp,
    },
    /// The limit of sessions to hosts is reached.
    SessionLimit,
    /// A start would exceed `maxUnavailable`.
    MaxUnavailable {
        /// Slots that are occupied.
        occupied: u32,
        /// The number of slots.
        limit: u32,
    },
    /// A start could exceed `maxFailures`, since all machines at work may fail. Each success allows one more.
    MaxFailures {
        /// Machines that are at work, or whose outcome is not known.
        at_work: u32,
        /// How many are allowed.
        limit: u32,
    },
    /// The failures of the rollout have reached `maxFailures`, or failed machines hold every unit of `maxUnavailable`.
    TooManyFailures {
        /// Machines that failed.
        failed: u32,
        /// The limit.
        limit: u32,
    },
    /// It is permitted to change and waits for its turn. What the turn waits for is the blocker of the fleet's defaults.
    AwaitingGrant,
    /// More machines are unavailable, for reasons of their own, than `pauseWhenUnavailable` allows: nothing that disrupts
    /// is started.
    TooManyUnavailable {
        /// Machines that are unavailable.
        unavailable: u32,
        /// The limit.
        limit: u32,
    },
    /// The machines of a batch are being watched; its gate decides then.
    Baking {
        /// Until when.
        until: Timestamp,
    },
    /// The gate after a batch knows too little, or finds more machines unavailable than usual.
    GateInconclusive,
    /// A rollout waits until some of its machines have fetched the artefact of its version.
    AwaitingArtefact,
    /// Most of the machines that were asked could not fetch the artefact.
    ArtefactUnavailable,
    /// The gate after a batch has failed.
    GateFailed {
        /// The number of the batch.
        batch: u32,
    },
    /// Every change that is left would do more to the workloads of its machine than the rollout may.
    TooDisruptive {
        /// The most that it may do.
        limit: Disruption,
    },
    /// The change would go back from a version whose `rollback` is `Unsafe`, and nobody has confirmed it.
    RollbackUnsafe {
        /// The version that would go.
        version: VersionId,
    },
    /// What the machine has was brought by a set that an edit has left without machines.
    SetEmptied {
        /// That set.
        set: SetId,
    },
    /// A batch waits for machines whose pods cannot leave.
    TooManyUndrained {
        /// How many.
        machines: u32,
        /// So many are left out.
        limit: u32,
    },
    /// The fleet's default was changed while machines were at work on the previous one; they finish first.
    Superseding,
    /// Paused by a person: on the machine, or on the fleet.
    Paused,
    /// A `DisruptionPolicy` is paused: nothing is started on the machines that it selects.
    PolicyPaused {
        /// The policy.
        policy: PolicyId,
    },
    /// The spec of a `DisruptionPolicy` is invalid and no valid one is known: nothing is disrupted.
    PolicyInvalid {
        /// The policy.
        policy: PolicyId,
    },
    /// A freeze of a `DisruptionPolicy`.
    Frozen {
        /// The policy.
        policy: PolicyId,
        /// When it ends.
        until: Timestamp,
    },
    /// No window of a `DisruptionPolicy` is open for long enough.
    OutsideWindow {
        /// The policy.
        policy: PolicyId,
        /// When the next one opens.
        until: Timestamp,
    },
    /// A `DisruptionPolicy` allows no more machines of this failure domain to be at work at once.
    InFlightLimit {
        /// The policy.
        policy: PolicyId,
    },
    /// A `DisruptionPolicy` allows no more machines of this failure domain to begin work within an hour or a day.
    RateLimit {
        /// The policy.
        policy: PolicyId,
        /// When the next one may.
        until: Timestamp,
    },
    /// The spec is invalid.
    InvalidSpec,
    /// There is no usable `MachineComponent` for this version.
    UnknownVersion(VersionId),
    /// The version has no artefact for the host's architecture.
    NoArtefact(VersionId),
    /// The version needs a parameter or a fact that the machine does not have.
    MissingParameter(VersionId),
    /// The component to change depends on this other component, which is not installed as wanted; or the component to
    /// remove is one that this other component depends on.
    Dependency {
        /// The other component.
        component: ComponentId,
    },
    /// The component to change depends on itself, directly or not.
    DependencyCycle {
        /// A component of the cycle.
        component: ComponentId,
    },
    /// A change would bring two versions together on a machine that a rule excludes.
    VersionSkew {
        /// The version whose rule it is.
        version: VersionId,
        /// Which of its rules, from 0.
        rule: u8,
        /// The version that the rule does not admit.
        other: VersionId,
    },
    /// A change would install a version that must not run with one of the API servers.
    ApiServerSkew {
        /// The version whose rule it is.
        version: VersionId,
        /// Which of its rules, from 0.
        rule: u8,
        /// The version of the API server, which the rule does not admit.
        found: VersionNumber,
    },
    /// A version has a rule about the API servers, whose versions are not known at present.
    ApiServerUnknown {
        /// The version whose rule it is.
        version: VersionId,
    },
    /// The host is unreachable; the next try is at this time.
    Unreachable {
        /// When it is tried again.
        until: Timestamp,
    },
    /// The host reports a higher epoch than ours, and too few others do: nothing but its facts is asked of it.
    HostAhead {
        /// The epoch that it reports.
        seen: Epoch,
    },
    /// The host has another machine-id than the recorded one.
    IdentityMismatch,
    /// Another Machine manages the host.
    DuplicateHost,
    /// This release failed here before; it is not retried until a spec changes.
    ReleaseFailed {
        /// The version.
        version: VersionId,
        /// Why it failed.
        cause: CauseKind,
    },
    /// It is still in use by this many machines and defaults.
    InUse(u32),
    /// The node's certificate was requested and is not issued yet.
    AwaitingCertificate,
    /// The request for the node's certificate was denied, or the signer could not sign it. It is created again once it
    /// is deleted.
    CertificateDenied,
    /// The host has the identity of another node, or one of another cluster.
    ForeignIdentity,
    /// The host of the certificate was not read yet.
    HostNotRead,
    /// The certificate request is not approved.
    NotApproved(Refusal),
    /// The Node of the machine is being drained; some pods have not left it yet.
    Draining {
        /// How many.
        pods: u32,
    },
    /// A pod cannot be evicted from the machine's Node now: a disruption budget refuses it.
    DisruptionBudget {
        /// [`word`](crate::draw::word) of `namespace/name` of the first such pod.
        pod: u64,
    },
    /// The machine's Node is not drained: a pod would be lost, which the drain policy does not allow.
    DrainForbidden {
        /// [`word`](crate::draw::word) of `namespace/name` of the first such pod.
        pod: u64,
    },
    /// The drain of the machine's Node exceeded its timeout and was given up; it is retried at this time.
    DrainOverdue {
        /// When it is tried again.
        until: Timestamp,
    },
    /// The host runs a kubelet, and no watch has shown its Node: it may be registered until this time.
    AwaitingNode {
        /// When its pods are listed without a Node.
        until: Timestamp,
    },
    /// Labels or taints of the machine's Node are not as wanted: another agent has set the same key.
    NodeConflict {
        /// [`word`](crate::draw::word) of the first such key.
        key: u64,
    },
    /// The machine's Node is not drained: others are being drained, and no other Node takes their pods.
    LastSchedulableNode {
        /// How many others are being drained.
        emptied: u32,
    },
}

impl Blocker {
    /// Whether the cause is the operator's leadership, not the state of the subject: see `gate` of the engine.
    #[must_use]
    pub const fn is_of_operator(self) -> bool {
        matches!(
            self,
            Self::NotLeading
                | Self::Standby { .. }
                | Self::RenewalOverdue { .. }
                | Self::SteppedDown { .. }
                | Self::Stopping
                | Self::NotSynced(_)
                | Self::StoreRegressed { .. }
                | Self::AdoptionRefused { .. }
                | Self::EpochsExhausted { .. }
        )
    }

    /// Whether what blocks one machine is likely to block the next one as well, and lasts.
    #[must_use]
    pub const fn may_hinder_others(self) -> bool {
        !matches!(self, Self::AwaitingCertificate | Self::LastSchedulableNode { .. } | Self::Paused)
    }

    /// The `DisruptionPolicy` that is the cause, if one is.
    #[must_use]
    pub const fn policy(self) -> Option<PolicyId> {
        if let Self::PolicyPaused { policy }
        | Self::PolicyInvalid { policy }
        | Self::Frozen { policy, .. }
        | Self::OutsideWindow { policy, .. }
        | Self::InFlightLimit { policy }
        | Self::RateLimit { policy, .. } = self
        {
            Some(policy)
        } else {
            None
        }
    }

    /// Whether the drain of a Node cannot go on, or may not begin.
    #[must_use]
    pub const fn is_of_drain(self) -> bool {
        matches!(
            self,
            Self::LastSchedulableNode { .. } | Self::DrainForbidden { .. } | Self::DrainOverdue { .. }
        )
    }

    /// Whether the drain of a Node cannot be finished, because of the pods there.
    #[must_use]
    pub const fn keeps_pods(self) -> bool {
        matches!(self, Self::DrainForbidden { .. } | Self::DrainOverdue { .. })
    }

    /// Its name in metrics, logs and explanations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotLeading => "NotLeading",
            Self::Standby { .. } => "Standby",
            Self::RenewalOverdue { .. } => "RenewalOverdue",
            Self::SteppedDown { .. } => "SteppedDown",
            Self::Stopping => "Stopping",
            Self::NotSynced(_) => "NotSynced",
            Self::StoreRegressed { .. } => "StoreRegressed",
            Self::AdoptionRefused { .. } => "AdoptionRefused",
            Self::EpochsExhausted { .. } => "EpochsExhausted",
            Self::HostAhead { .. } => "HostAhead",
            Self::AwaitingOwnWrite => "AwaitingOwnWrite",
            Self::InFlight => "InFlight",
            Self::BackOff { .. } => "BackOff",
            Self::SessionLimit => "SessionLimit",
            Self::MaxUnavailable { .. } => "MaxUnavailable",
            Self::MaxFailures { .. } => "MaxFailures",
            Self::TooManyFailures { .. } => "TooManyFailures",
            Self::AwaitingGrant => "AwaitingGrant",
            Self::TooManyUnavailable { .. } => "TooManyUnavailable",
            Self::Baking { .. } => "Baking",
            Self::GateInconclusive => "GateInconclusive",
            Self::AwaitingArtefact => "AwaitingArtefact",
            Self::ArtefactUnavailable => "ArtefactUnavailable",
            Self::GateFailed { .. } => "GateFailed",
            Self::TooDisruptive { .. } => "TooDisruptive",
            Self::RollbackUnsafe { .. } => "RollbackUnsafe",
            Self::SetEmptied { .. } => "SetEmptied",
            Self::TooManyUndrained { .. } => "TooManyUndrained",
            Self::Superseding => "Superseding",
            Self::Paused => "Paused",
            Self::PolicyPaused { .. } => "PolicyPaused",
            Self::PolicyInvalid { .. } => "PolicyInvalid",
            Self::Frozen { .. } => "Frozen",
            Self::OutsideWindow { .. } => "OutsideWindow",
            Self::InFlightLimit { .. } => "InFlightLimit",
            Self::RateLimit { .. } => "RateLimit",
            Self::InvalidSpec => "InvalidSpec",
            Self::UnknownVersion(_) => "UnknownVersion",
            Self::NoArtefact(_) => "NoArtefact",
            Self::MissingParameter(_) => "MissingParameter",
            Self::Dependency { .. } => "Dependency",
            Self::DependencyCycle { .. } => "DependencyCycle",
            Self::VersionSkew { .. } => "VersionSkew",
            Self::ApiServerSkew { .. } => "ApiServerSkew",
            Self::ApiServerUnknown { .. } => "ApiServerUnknown",
            Self::Unreachable { .. } => "Unreachable",
            Self::IdentityMismatch => "IdentityMismatch",
            Self::DuplicateHost => "DuplicateHost",
            Self::ReleaseFailed { .. } => "ReleaseFailed",
            Self::InUse(_) => "InUse",
            Self::AwaitingCertificate => "AwaitingCertificate",
            Self::CertificateDenied => "CertificateDenied",
            Self::ForeignIdentity => "ForeignIdentity",
            Self::HostNotRead => "HostNotRead",
            Self::NotApproved(refusal) => refusal.name(),
            Self::Draining { .. } => "Draining",
            Self::DisruptionBudget { .. } => "DisruptionBudget",
            Self::DrainForbidden { .. } => "DrainForbidden",
            Self::DrainOverdue { .. } => "DrainOverdue",
            Self::AwaitingNode { .. } => "AwaitingNode",
            Self::NodeConflict { .. } => "NodeConflict",
            Self::LastSchedulableNode { .. } => "LastSchedulableNode",
        }
    }
}

/// When to call `reconcile` again, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wake {
    /// When.
    pub at: Timestamp,
    /// The reason.
    pub reason: WakeReason,
}

/// What a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WakeReason {
    /// The turn was full: more subjects are queued.
    MoreWork,
    /// A back-off ends.
    BackOff,
    /// The Lease is due for renewal, or another process's Lease may have expired.
    Lease,
    /// A host is due for an audit.
    Audit,
    /// An action passes its deadline.
    Deadline,
    /// A small batch has waited long enough to be admitted.
    Admission,
    /// The gate after a batch of a rollout looks at the machines.
    Gate,
}
