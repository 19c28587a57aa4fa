//! Points of a run at which a fault may strike. They are named by what happens there and not by engine ids, so that
//! they keep their meaning when the engine is rewritten.

use seaworthy_api::request::{NodeChange, Request};
use seaworthy_model::host_order::{HostCommand, HostCommandKind};
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

/// A point at which a fault may strike. A run may reach the same point many times; the first time is number 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Place {
    /// An operator sends a write to the API server.
    Request {
        /// The operator's seat.
        seat: u32,
        /// The kind of the write.
        writes: Writes,
        /// The name of the object.
        object: String,
    },
    /// An operator sends an order to a host.
    Order {
        /// The operator's seat.
        seat: u32,
        /// The order.
        orders: HostCommandKind,
        /// The host.
        host: u32,
    },
    /// A host begins an operation.
    Operation {
        /// The host.
        host: u32,
        /// The component that changes.
        component: String,
        /// The version that is installed. Omitted if the component is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A watch of an operator is about to show a change.
    Event {
        /// The operator's seat.
        seat: u32,
        /// The kind of the object.
        kind: Kind,
        /// The name of the object.
        object: String,
    },
}

/// The kind of a request of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// The request creates the Lease.
    NewLease,
    /// The request sets the holder and the epoch of the Lease.
    Lease,
    /// The holder of the Lease renews it.
    Renewal,
    /// The request writes the status of a Machine.
    MachineStatus,
    /// The request writes the status of the `ClusterPackageVersion`, or of another object that is not a Machine.
    PackageVersionStatus,
    /// The request writes the finalizers of an object.
    Finalizers,
    /// The request creates a certificate request.
    CertificateRequest,
    /// The request approves a certificate request.
    Approval,
    /// The request creates an Event.
    Event,
    /// The operator cordons a Node.
    Cordon,
    /// The operator uncordons a Node.
    Uncordon,
    /// The request writes labels and taints of a Node.
    NodeAttributes,
    /// The request deletes a Node.
    NodeDeletion,
    /// The request evicts a pod.
    Eviction,
    /// The deletion of a pod.
    PodDeletion,
    /// The request lists pods and writes nothing.
    PodList,
    /// The request asks something for a gate and writes nothing.
    GateQuestion,
    /// The request starts a probe pod.
    Probe,
}

impl Place {
    /// The point at which a request is sent.
    pub(crate) fn request(seat: u32, request: &Request, is_renewal: bool) -> Self {
        let writes = match request {
            Request::CreateLease(_) => Writes::NewLease,
            Request::PatchLease(_) if is_renewal => Writes::Renewal,
            Request::PatchLease(_) => Writes::Lease,
            Request::PutStatus(update) if update.kind == Kind::Machine => Writes::MachineStatus,
            Request::PutStatus(_) => Writes::PackageVersionStatus,
            Request::PatchFinalizers(_) => Writes::Finalizers,
            Request::CreateCertificateRequest(_) => Writes::CertificateRequest,
            Request::PatchApproval(_) => Writes::Approval,
            Request::CreateEvent(_) => Writes::Event,
            Request::PatchNode(patch) => match patch.change {
                NodeChange::Cordon(_) => Writes::Cordon,
                NodeChange::Uncordon(_) => Writes::Uncordon,
                NodeChange::Attributes(_) => Writes::NodeAttributes,
            },
            Request::DeleteNode(_) => Writes::NodeDeletion,
            Request::Evict(_) => Writes::Eviction,
            Request::DeletePod(_) => Writes::PodDeletion,
            Request::ListPods(_) => Writes::PodList,
            Request::Query(_) | Request::ListProbes(_) => Writes::GateQuestion,
            Request::StartProbe(_) => Writes::Probe,
        };
        Self::Request { seat, writes, object: request.object().1.to_owned() }
    }

    /// The point at which an order is sent.
    pub(crate) const fn order(seat: u32, host: u32, command: &HostCommand) -> Self {
        let orders = command.kind();
        Self::Order { seat, orders, host }
    }

    /// Whether the operator changes something at this point: a mutation of the API server that is not a renewal of the
    /// Lease, the start of an operation, an order about a certificate, or the disowning of a host.
    #[must_use]
    pub const fn is_write(&self) -> bool {
        match self {
            Self::Request { writes, .. } => {
                !matches!(writes, Writes::Renewal | Writes::PodList | Writes::GateQuestion)
            }
            Self::Order { orders, .. } => !orders.is_read(),
            Self::Operation { .. } | Self::Event { .. } => false,
        }
    }

    /// Whether no other write can undo what happens at this point: software is replaced or removed, a host is disowned,
    /// or an object is released.
    #[must_use]
    pub const fn is_destructive(&self) -> bool {
        match self {
            Self::Request { writes, .. } => matches!(writes, Writes::Finalizers),
            Self::Order { orders, .. } => orders.is_destructive(),
            Self::Operation { .. } | Self::Event { .. } => false,
        }
    }

    /// The number of the host of the point, if it has one.
    #[must_use]
    pub fn host(&self) -> Option<u32> {
        match self {
            Self::Request { object, .. } | Self::Event { object, .. } => {
                object.strip_prefix("m-")?.parse().ok()
            }
            Self::Order { host, .. } | Self::Operation { host, .. } => Some(*host),
        }
    }

    /// The point, for display.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Request { writes, object, .. } => match writes {
                Writes::NewLease | Writes::Lease => "the operator takes the Lease".into(),
                Writes::Renewal => "the operator renews the Lease".into(),
                Writes::MachineStatus => format!("the operator writes the status of {object}"),
                Writes::PackageVersionStatus => {
                    "the operator writes the status of the ClusterPackageVersion".into()
                }
                Writes::Finalizers => format!("the operator writes the finalizers of {object}"),
                Writes::CertificateRequest => format!("the operator creates certificate request {object}"),
                Writes::Approval => format!("the operator approves certificate request {object}"),
                Writes::Event => format!("the operator writes Event {object}"),
                Writes::Cordon => format!("the operator cordons the Node {object}"),
                Writes::Uncordon => format!("the operator uncordons the Node {object}"),
                Writes::NodeAttributes => format!("the operator labels or taints the Node {object}"),
                Writes::NodeDeletion => format!("the operator deletes the Node {object}"),
                Writes::Eviction => format!("the operator evicts a pod from the Node {object}"),
                Writes::PodDeletion => format!("the operator deletes a pod of the Node {object}"),
                Writes::PodList => format!("the operator lists the pods of the Node {object}"),
                Writes::GateQuestion => "the operator asks something for a gate".into(),
                Writes::Probe => format!("the operator starts a probe pod on the Node {object}"),
            },
            Self::Order { orders, host, .. } => {
                format!("the operator sends {} to host {host}", orders.name())
            }
            Self::Operation { host, component, version: Some(version) } => {
                format!("host {host} begins to install {version} of {component}")
            }
            Self::Operation { host, component, version: None } => {
                format!("host {host} begins to remove {component}")
            }
            Self::Event { kind, object, .. } => {
                format!("a watch is about to show a change of {} {object}", kind.name())
            }
        }
    }

    /// The same point on another host: for plans that are moved to a smaller fleet.
    #[must_use]
    pub fn on_host(mut self, number: u32) -> Self {
        match &mut self {
            Self::Request { object, .. } | Self::Event { object, .. } => {
                *object = super::machine_name(number)
            }
            Self::Order { host, .. } | Self::Operation { host, .. } => *host = number,
        }
        self
    }
}
