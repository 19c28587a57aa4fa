//! What leaves the core.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attributes::AttributesChange;
use crate::certificate::{EventNote, NewCertificateRequest};
use crate::component::VersionStatus;
use crate::gate_check::{ProbeRound, ProbeStart, Query};
use crate::host::HostFence;
use crate::host_order::HostOrder;
use crate::id::{StoreId, Uid};
use crate::lease::LeaseRecord;
use crate::machine::{Identity, MachineStatus};
use crate::node::{NodeCordon, NodeUncordon};
use crate::package_version::PackageVersionStatus;
use crate::pod::PodName;
use crate::policy::PolicyStatus;
use crate::time::Timestamp;

pub use crate::id::Target;

/// The number of an action, unique within one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActionId(pub u64);

/// An order to the outside. Closed and complete: an executor has nothing left to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its number.
    pub id: ActionId,
    /// The API server that its target is an object of.
    pub store: StoreId,
    /// What it acts on.
    pub target: Target,
    /// What must still be true when it takes effect; otherwise the outcome is `Stale`.
    pub fence: Fence,
    /// When the driver must answer at the latest; with `Unknown`, if nothing better is known.
    pub deadline: Timestamp,
    /// What to do.
    pub effect: Effect,
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

/// A Machine begins to use a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The whole new list of finalizers.
    pub finalizers: Vec<String>,
    /// Which host that is.
    pub identity: Identity,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// List and then watch every kind of [`Kind::WATCHED`](crate::id::Kind::WATCHED) of an API server anew, and of home
    /// also the Lease, from the store itself and not from a cache. Ends with `Done` at once; the lists follow as observations, each closed by `Synced`.
    Watch,
    /// Create or update the Lease: take it, renew it, or let it go. It holds this afterwards.
    WriteLease(LeaseRecord),
    /// Replace the list of finalizers.
    WriteFinalizers(Vec<String>),
    /// Replace the list of finalizers of a Machine, and record on it which host it is used for.
    Import(Box<Import>),
    /// Replace the status of a Machine.
    WriteMachineStatus(Box<MachineStatus>),
    /// Replace the status of the `ClusterPackageVersion`.
    WritePackageVersionStatus(Box<PackageVersionStatus>),
    /// Replace the status of a `MachineComponentSet`.
    WriteSetStatus(Box<PackageVersionStatus>),
    /// Replace the status of a `MachineComponent`.
    WriteVersionStatus(Box<VersionStatus>),
    /// Replace the status of a `DisruptionPolicy`.
    WritePolicyStatus(Box<PolicyStatus>),
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
    /// Delete a pod, whatever its disruption budget says. `Done` means that it was accepted, not that the pod is gone. The fence
    /// is the pod's.
    DeletePod(Box<PodName>),
    /// Ask the metrics of the cluster for a gate. Ends with [`Receipt::Series`](crate::event::Receipt::Series).
    Query(Arc<Query>),
    /// Start a probe pod on a Node. It ends and is deleted by itself.
    StartProbe(Box<ProbeStart>),
    /// Look which probe pods of a round have started. Ends with [`Receipt::Probes`](crate::event::Receipt::Probes).
    ListProbes(ProbeRound),
}

impl Effect {
    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::WriteLease(_) if self.is_renewal() => "renew_lease",
            Self::WriteLease(_) => "write_lease",
            Self::WriteFinalizers(_) => "write_finalizers",
            Self::Import(_) => "import_machine",
            Self::WriteMachineStatus(_) => "write_machine_status",
            Self::WritePackageVersionStatus(_) => "write_package_version_status",
            Self::WriteSetStatus(_) => "write_set_status",
            Self::WriteVersionStatus(_) => "write_version_status",
            Self::WritePolicyStatus(_) => "write_policy_status",
            Self::Host(order) => order.command.kind().name(),
            Self::CreateCertificateRequest(_) => "create_certificate_request",
            Self::ApproveCertificateRequest => "approve_certificate_request",
            Self::WriteEvent(_) => "write_event",
            Self::Cordon(_) => "cordon_node",
            Self::Uncordon(_) => "uncordon_node",
            Self::WriteNodeAttributes(change) if change.is_repair => "repair_node_attributes",
            Self::WriteNodeAttributes(_) => "write_node_attributes",
            Self::DeleteNode => "delete_node",
            Self::ListPods => "list_pods",
            Self::Evict(_) => "evict_pod",
            Self::DeletePod(_) => "delete_pod",
            Self::Query(_) => "query_metrics",
            Self::StartProbe(_) => "start_probe_pod",
            Self::ListProbes(_) => "list_probe_pods",
        }
    }

    /// Whether it renews the Lease.
    #[must_use]
    pub fn is_renewal(&self) -> bool {
        matches!(self, Self::WriteLease(record) if record.is_renewal())
    }

    /// Whether it is a write to an API server: not work for the driver or a host, and not a mere read.
    #[must_use]
    pub const fn is_api_write(&self) -> bool {
        !matches!(self, Self::Watch | Self::Host(_) | Self::ListPods | Self::Query(_) | Self::ListProbes(_))
    }
}
