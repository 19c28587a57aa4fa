//! What one `reconcile` decided, and why it did not decide more.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::cause::CauseKind;
use crate::certificate::Refusal;
use crate::effect::Action;
use crate::id::{CertificateRequestId, ComponentId, Kind, MachineId, VersionId};
use crate::lease::Epoch;
use crate::requirement::VersionNumber;
use crate::time::Timestamp;

/// The result of one `reconcile`.
#[must_use = "a dropped turn loses its actions"]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What to do, in this order.
    pub actions: Vec<Action>,
    /// What was looked at and not acted on, and why.
    pub report: Report,
    /// When to call again, if nothing happens before.
    pub wake: Option<Wake>,
}

/// Why nothing (more) was done, for each subject that was looked at in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How many subjects were looked at.
    pub reconciled: u32,
    /// Those that wait, with what they wait for.
    pub blocked: Vec<Blocked>,
}

/// A subject that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Who.
    pub subject: Subject,
    /// For what.
    pub blocker: Blocker,
}

/// What a reconcile is about: the key of the work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// The operator's own standing: Lease, epoch, watches.
    Leadership,
    /// The fleet's default versions and their rollouts.
    PackageVersion,
    /// One version of a component.
    Version(VersionId),
    /// One machine.
    Machine(MachineId),
    /// One certificate request.
    CertificateRequest(CertificateRequestId),
}

/// Why a subject is not acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Blocker {
    /// The Lease is not ours yet, and nobody else's either as far as we know.
    NotLeading,
    /// Another process holds the Lease: we watch it and do nothing else. Who it is, is in the Lease.
    Standby {
        /// The epoch of the holder.
        of: Epoch,
    },
    /// The Lease is ours and could not be renewed for so long that another process may take it soon: nothing is
    /// started until a renewal succeeds.
    RenewalOverdue {
        /// When the last renewal that is known to have succeeded was ordered.
        since: Timestamp,
    },
    /// Another operator has taken the Lease from us. For good: this process is to end.
    SteppedDown {
        /// The other operator's epoch.
        by: Epoch,
    },
    /// The process was asked to stop.
    Stopping,
    /// A kind was not seen completely yet.
    NotSynced(Kind),
    /// Hosts, or the machines' own records, know of an operator that the store has forgotten. A person has to annotate
    /// the Lease with the epoch up to which hosts may be taken over.
    StoreRegressed {
        /// The highest epoch seen on a host, or our own that was lost; 0 when nobody knows.
        seen: Epoch,
    },
    /// Our own write was not seen back yet.
    AwaitingOwnWrite,
    /// An action on it is under way.
    InFlight,
    /// After a failure, not before this time.
    BackOff {
        /// When it is tried again.
        until: Timestamp,
    },
    /// As many sessions to hosts are open as may be.
    SessionLimit,
    /// Starting it would exceed `maxUnavailable`.
    MaxUnavailable {
        /// Slots that are occupied.
        occupied: u32,
        /// Slots that there are.
        limit: u32,
    },
    /// Starting it could exceed `maxFailures`: all that are at work may fail. More may be for each one that succeeds.
    MaxFailures {
        /// Machines that are at work, or whose end is not known.
        at_work: u32,
        /// How many may be.
        limit: u32,
    },
    /// The rollout has had as many failures as it may.
    TooManyFailures {
        /// Machines that failed.
        failed: u32,
        /// How many may.
        limit: u32,
    },
    /// The fleet's default was changed while machines were at work on the previous one; they end first.
    Superseding,
    /// Paused by a person: on the machine, or on the fleet.
    Paused,
    /// The spec is not acceptable.
    InvalidSpec,
    /// There is no usable `MachineComponent` for this version.
    UnknownVersion(VersionId),
    /// The version has no artefact for the host's architecture.
    NoArtefact(VersionId),
    /// The version needs a parameter or a fact that the machine does not have.
    MissingParameter(VersionId),
    /// What is to be changed depends on this component of the machine, which is not there as it is wanted; or what is to be
    /// removed is what this one depends on.
    Dependency {
        /// The other component.
        component: ComponentId,
    },
    /// What is to be changed depends, in the end, on itself.
    DependencyCycle {
        /// One of those that depend on each other.
        component: ComponentId,
    },
    /// Two versions that must not be on one machine together would be.
    VersionSkew {
        /// The version whose rule it is.
        version: VersionId,
        /// Which of its rules, from 0.
        rule: u8,
        /// The version that the rule does not admit.
        other: VersionId,
    },
    /// A version that must not be with an API server that there is would be.
    ApiServerSkew {
        /// The version whose rule it is.
        version: VersionId,
        /// Which of its rules, from 0.
        rule: u8,
        /// The version of the API server, which the rule does not admit.
        found: VersionNumber,
    },
    /// A version has a rule about the API servers, and no API server has told its version lately.
    ApiServerUnknown {
        /// The version whose rule it is.
        version: VersionId,
    },
    /// The host cannot be reached; it is tried again at this time.
    Unreachable {
        /// When it is tried again.
        until: Timestamp,
    },
    /// The host has another machine-id than the recorded one.
    IdentityMismatch,
    /// Another Machine manages the host.
    DuplicateHost,
    /// This release failed here before; it is not tried again until a spec changes.
    ReleaseFailed {
        /// The version.
        version: VersionId,
        /// Why it failed.
        cause: CauseKind,
    },
    /// Still in use by this many.
    InUse(u32),
    /// The node's certificate was asked for and is not issued yet.
    AwaitingCertificate,
    /// The node's certificate was asked for, and somebody has denied it or the signer could not sign it. It is asked for
    /// again once the request is gone.
    CertificateDenied,
    /// The host has the identity of another node, or one of another cluster.
    ForeignIdentity,
    /// The host whose certificate it is about was not read yet.
    HostNotRead,
    /// It is not approved.
    NotApproved(Refusal),
    /// The Node of the machine is being emptied; so many pods have not left it yet.
    Draining {
        /// How many.
        pods: u32,
    },
    /// A pod cannot be evicted from the machine's Node now: a disruption budget does not allow it.
    DisruptionBudget {
        /// [`word`](crate::draw::word) of `namespace/name` of the first such pod.
        pod: u64,
    },
    /// The machine's Node is not drained: a pod would be lost with it, and nobody has allowed that.
    DrainForbidden {
        /// [`word`](crate::draw::word) of `namespace/name` of the first such pod.
        pod: u64,
    },
    /// The drain of the machine's Node took longer than it may and was given up; it is tried again at this time.
    DrainOverdue {
        /// When it is tried again.
        until: Timestamp,
    },
    /// Labels or taints of the machine's Node are not as they are wanted: somebody else has set the same key.
    NodeConflict {
        /// [`word`](crate::draw::word) of the first such key.
        key: u64,
    },
    /// The machine's Node is not drained: others are being emptied, and no other Node takes their pods.
    LastSchedulableNode {
        /// How many others are being emptied.
        emptied: u32,
    },
}

impl Blocker {
    /// Whether it is the operator's own standing that keeps it from deciding, and not what is known of a subject: see `gate`
    /// of the engine.
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
        )
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
            Self::AwaitingOwnWrite => "AwaitingOwnWrite",
            Self::InFlight => "InFlight",
            Self::BackOff { .. } => "BackOff",
            Self::SessionLimit => "SessionLimit",
            Self::MaxUnavailable { .. } => "MaxUnavailable",
            Self::MaxFailures { .. } => "MaxFailures",
            Self::TooManyFailures { .. } => "TooManyFailures",
            Self::Superseding => "Superseding",
            Self::Paused => "Paused",
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
    /// What for.
    pub reason: WakeReason,
}

/// What a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WakeReason {
    /// The turn was full: there is more to look at right away.
    MoreWork,
    /// A back-off ends.
    BackOff,
    /// The Lease is to be renewed, or another's may have run out.
    Lease,
    /// A host is due for an audit.
    Audit,
    /// An action passes its deadline.
    Deadline,
    /// A batch is to be admitted although it is small.
    Admission,
}
