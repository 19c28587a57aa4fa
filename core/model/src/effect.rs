//! What leaves the core.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attributes::AttributesChange;
use crate::certificate::{EventNote, NewCertificateRequest};
use crate::host::{HostFence, HostOrder};
use crate::id::{CertificateRequestId, MachineId, Uid, VersionId};
use crate::lease::LeaseRecord;
use crate::machine::MachineStatus;
use crate::node::{NodeCordon, NodeUncordon};
use crate::package_version::PackageVersionStatus;
use crate::pod::PodName;
use crate::time::Timestamp;

/// The number of an action, unique within one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActionId(pub u64);

/// An order to the outside. Closed and complete: an executor has nothing left to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its number.
    pub id: ActionId,
    /// What it acts on.
    pub target: Target,
    /// What must still be true when it takes effect; otherwise the outcome is `Stale`.
    pub fence: Fence,
    /// When the driver must answer at the latest; with `Unknown`, if nothing better is known.
    pub deadline: Timestamp,
    /// What to do.
    pub effect: Effect,
}

/// What an action acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// The driver itself.
    Driver,
    /// The operator's Lease.
    Lease,
    /// A Machine object.
    Machine(MachineId),
    /// A `MachineComponent` object.
    Version(VersionId),
    /// The `ClusterPackageVersion`.
    PackageVersion,
    /// The host of a machine.
    Host(MachineId),
    /// The certificate request that a machine's host has made, which is no object yet.
    NewCertificateRequest(MachineId),
    /// A `CertificateSigningRequest` object.
    CertificateRequest(CertificateRequestId),
    /// The Node of a machine, or what runs there.
    Node(MachineId),
}

impl Target {
    /// The machine that it is, or whose host or Node it is.
    #[must_use]
    pub const fn machine(self) -> Option<MachineId> {
        match self {
            Self::Machine(id) | Self::Host(id) | Self::Node(id) | Self::NewCertificateRequest(id) => Some(id),
            Self::Driver
            | Self::Lease
            | Self::Version(_)
            | Self::PackageVersion
            | Self::CertificateRequest(_) => None,
        }
    }
}

/// What must still be true when an action takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fence {
    /// Nothing.
    None,
    /// The object must not exist.
    Absent,
    /// The object must be this incarnation, unchanged since this version.
    Unchanged {
        /// Its uid.
        uid: Uid,
        /// Its `resourceVersion`.
        resource_version: u64,
    },
    /// The object must be this incarnation. It may have changed otherwise.
    Incarnation(Uid),
    /// The host must not have seen anything newer.
    Host(HostFence),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// List and then watch every kind of [`Kind::WATCHED`](crate::id::Kind::WATCHED) and the Lease anew, from the store
    /// itself and not from a cache. Ends with `Done` at once; the lists follow as observations, each closed by `Synced`.
    Watch,
    /// Create or update the Lease: take it, renew it, or let it go. It holds this afterwards.
    WriteLease(LeaseRecord),
    /// Replace the list of finalizers.
    WriteFinalizers(Vec<String>),
    /// Replace the status of a Machine.
    WriteMachineStatus(Box<MachineStatus>),
    /// Replace the status of the `ClusterPackageVersion`.
    WritePackageVersionStatus(Box<PackageVersionStatus>),
    /// Work on a host.
    Host(HostOrder),
    /// Create a `CertificateSigningRequest`.
    CreateCertificateRequest(Box<NewCertificateRequest>),
    /// Approve a certificate request: nothing of it changes but that.
    ApproveCertificateRequest,
    /// Tell people about an object; it is said once under each name.
    WriteEvent(Box<EventNote>),
    /// Keep new pods off a Node, and put our mark on it, if it still looks as it did.
    Cordon(Box<NodeCordon>),
    /// Take our mark off a Node, if it still looks as it did.
    Uncordon(Box<NodeUncordon>),
    /// Change what is ours among the labels and taints of a Node, if it still looks as it did.
    WriteNodeAttributes(Box<AttributesChange>),
    /// Delete a Node.
    DeleteNode,
    /// List the pods of a Node, from the store itself. Ends with [`Receipt::Pods`](crate::event::Receipt::Pods).
    ListPods,
    /// Ask a pod to leave its Node, through the eviction API: never against a disruption budget. `Done` means that it was
    /// accepted, not that the pod is gone; a budget that does not allow it now is `Retryable` with
    /// [`CauseKind::DisruptionBudget`](crate::cause::CauseKind::DisruptionBudget). The fence is the pod's.
    Evict(Box<PodName>),
}
