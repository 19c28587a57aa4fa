//! Kubernetes objects as JSON: tolerant of fields that are not known here, since a newer server may send them.
//! For what people write, [`manifest::read`](crate::manifest::read) is strict.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::machine::HostId;
use serde::{Deserialize, Serialize};

use crate::scalar::{Scalar, Time};
use crate::v1alpha1;

/// The part of `metadata` that is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The name, unique per kind (and namespace).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: Arc<str>,
    /// The namespace; `None` for kinds that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// A UUID, assigned by the API server; empty before.
    #[serde(skip_serializing_if = "Scalar::is_empty")]
    pub uid: Scalar<Uid>,
    /// A decimal number, assigned by the API server; empty before.
    #[serde(skip_serializing_if = "Scalar::is_empty")]
    pub resource_version: Scalar<u64>,
    /// Grows with every change of the spec; 0 for kinds that do not count it.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// RFC 3339; set while the object is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// What must be removed before the object goes.
    #[serde(skip_serializing_if = "no_finalizers")]
    pub finalizers: Arc<Vec<String>>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// Metadata that says only a name.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

fn no_finalizers(finalizers: &Arc<Vec<String>>) -> bool {
    finalizers.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A Kubernetes object with the spec `S` and the status `T`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>, T: Deserialize<'de>"))]
pub struct Object<S, T> {
    /// Group and version. Empty in the items of a list, where the API server leaves it out.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'static, str>,
    /// The kind. Empty in the items of a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub kind: Cow<'static, str>,
    /// Name, versions, finalizers.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: S,
    /// What is.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub status: Option<T>,
}

/// A machine of the fleet. Versions of it that differ only in the status share the spec.
pub type Machine = Object<Arc<v1alpha1::MachineSpec>, v1alpha1::MachineStatus>;
/// One version of one component. It has no status.
pub type MachineComponent = Object<v1alpha1::MachineComponentSpec, NoStatus>;
/// The fleet's default versions.
pub type ClusterPackageVersion =
    Object<v1alpha1::ClusterPackageVersionSpec, v1alpha1::ClusterPackageVersionStatus>;
/// `coordination.k8s.io/v1` Lease, as far as it is used here.
pub type Lease = Object<LeaseSpec, NoStatus>;
/// `v1` Node, as far as it is used here.
pub type Node = Object<NodeSpec, NodeStatus>;

/// `certificates.k8s.io/v1` `CertificateSigningRequest`, as far as it is used here.
pub type CertificateSigningRequest = Object<CertificateRequestSpec, CertificateRequestStatus>;

/// The spec of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestSpec {
    /// The request: base64 of PEM of PKCS#10.
    pub request: String,
    /// Who is to sign.
    pub signer_name: String,
    /// What the certificate is to be used for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<String>,
    /// The user that created it; set by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// The groups of that user; set by the API server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// The status of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestStatus {
    /// `Approved`, `Denied`, `Failed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<CertificateRequestCondition>,
    /// The certificate: base64 of PEM; empty before it is issued.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub certificate: String,
}

/// A condition of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestCondition {
    /// `Approved`, `Denied`, `Failed`.
    pub r#type: String,
    /// Always `True`.
    pub status: String,
    /// One word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// `events.k8s.io/v1` Event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Group and version. Empty in the items of a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'static, str>,
    /// The kind. Empty in the items of a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub kind: Cow<'static, str>,
    /// Name and namespace.
    pub metadata: Metadata,
    /// When: a `MicroTime`.
    pub event_time: String,
    /// What says it.
    pub reporting_controller: String,
    /// Which process of it.
    pub reporting_instance: String,
    /// What was done, or not done.
    pub action: String,
    /// Why, as one word.
    pub reason: String,
    /// About what.
    pub regarding: Reference,
    /// In words.
    pub note: String,
    /// `Normal` or `Warning`.
    pub r#type: Cow<'static, str>,
}

/// Names an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reference {
    /// Group and version.
    pub api_version: Cow<'static, str>,
    /// The kind.
    pub kind: Cow<'static, str>,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: Scalar<Uid>,
}

/// The status of a kind that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoStatus {}

/// Who leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    /// The process that took it last; `None` when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// After so long without a renewal others may take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// When it was taken: a `MicroTime`, by the holder's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<String>,
    /// When the holder last renewed it: a `MicroTime`, by the holder's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// Our epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i64>,
}

/// What keeps pods off a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// No pod is placed there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    /// Pods that do not tolerate these are not placed there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A taint of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// Its key.
    pub key: Cow<'static, str>,
    /// Its value.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub value: Cow<'static, str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Cow<'static, str>,
    /// When it was set; only for `NoExecute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// What a Node says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its conditions.
    pub conditions: Vec<NodeCondition>,
    /// What its kubelet reports about the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeInfo>,
}

/// What a kubelet reports about its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// The machine-id.
    #[serde(rename = "machineID")]
    pub machine_id: Scalar<HostId>,
}

/// A condition of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeCondition {
    /// Only `Ready` is used.
    pub r#type: Cow<'static, str>,
    /// `True`, `False` or `Unknown`.
    pub status: Cow<'static, str>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// An object of any kind that is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A Machine.
    Machine(Box<Machine>),
    /// A `MachineComponent`.
    MachineComponent(Box<MachineComponent>),
    /// A `ClusterPackageVersion`.
    ClusterPackageVersion(Box<ClusterPackageVersion>),
    /// A Node.
    Node(Box<Node>),
    /// A Lease.
    Lease(Box<Lease>),
    /// A `CertificateSigningRequest`.
    CertificateSigningRequest(Box<CertificateSigningRequest>),
    /// An Event.
    Event(Box<Event>),
}

impl Resource {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Machine(_) => Kind::Machine,
            Self::MachineComponent(_) => Kind::MachineComponent,
            Self::ClusterPackageVersion(_) => Kind::ClusterPackageVersion,
            Self::Node(_) => Kind::Node,
            Self::Lease(_) => Kind::Lease,
            Self::CertificateSigningRequest(_) => Kind::CertificateSigningRequest,
            Self::Event(_) => Kind::Event,
        }
    }

    /// Its metadata.
    #[must_use]
    pub const fn metadata(&self) -> &Metadata {
        match self {
            Self::Machine(object) => &object.metadata,
            Self::MachineComponent(object) => &object.metadata,
            Self::ClusterPackageVersion(object) => &object.metadata,
            Self::Node(object) => &object.metadata,
            Self::Lease(object) => &object.metadata,
            Self::CertificateSigningRequest(object) => &object.metadata,
            Self::Event(object) => &object.metadata,
        }
    }

    /// Its metadata, to be changed.
    #[must_use]
    pub const fn metadata_mut(&mut self) -> &mut Metadata {
        match self {
            Self::Machine(object) => &mut object.metadata,
            Self::MachineComponent(object) => &mut object.metadata,
            Self::ClusterPackageVersion(object) => &mut object.metadata,
            Self::Node(object) => &mut object.metadata,
            Self::Lease(object) => &mut object.metadata,
            Self::CertificateSigningRequest(object) => &mut object.metadata,
            Self::Event(object) => &mut object.metadata,
        }
    }
}

/// Where the API server serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The kind.
    pub kind: Kind,
    /// Group and version as objects say it: `seaworthy.dev/v1alpha1`, or `v1` for the core group.
    pub api_version: &'static str,
    /// The kind in URLs.
    pub plural: &'static str,
    /// The only namespace that is used, for kinds that have one.
    pub namespace: Option<&'static str>,
}

impl Endpoint {
    /// The endpoint of `kind`.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        let (api_version, plural) = match kind {
            Kind::Machine => (v1alpha1::API_VERSION, "machines"),
            Kind::MachineComponent => (v1alpha1::API_VERSION, "machinecomponents"),
            Kind::ClusterPackageVersion => (v1alpha1::API_VERSION, "clusterpackageversions"),
            Kind::Node => ("v1", "nodes"),
            Kind::Lease => ("coordination.k8s.io/v1", "leases"),
            Kind::CertificateSigningRequest => ("certificates.k8s.io/v1", "certificatesigningrequests"),
            Kind::Event => ("events.k8s.io/v1", "events"),
        };
        let namespace = match kind {
            Kind::Lease => Some(v1alpha1::NAMESPACE),
            // Where the Events of objects without a namespace belong.
            Kind::Event => Some("default"),
            Kind::Machine
            | Kind::MachineComponent
            | Kind::ClusterPackageVersion
            | Kind::Node
            | Kind::CertificateSigningRequest => None,
        };
        Self { kind, api_version, plural, namespace }
    }

    /// The path of the collection, without a trailing slash.
    #[must_use]
    pub fn collection(&self) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        match self.namespace {
            Some(namespace) => format!("/{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural),
            None => format!("/{root}/{}/{}", self.api_version, self.plural),
        }
    }
}
