//! Kubernetes objects as JSON: tolerant of fields that are not known here, since a newer server may send them.
//! For what people write, [`manifest::read`](crate::manifest::read) is strict.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::id::{Kind, Uid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::scalar::{Scalar, Time};
use crate::v1alpha1;

pub use crate::kubernetes::{
    CertificateRequestCondition, CertificateRequestSpec, CertificateRequestStatus, Event, LeaseSpec,
    NoStatus, NodeCondition, NodeInfo, NodeSpec, NodeStatus, Reference, Taint,
};

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
    /// The field manager that wrote the spec last. It is read by itself, where it is wanted: [`managed`](crate::managed).
    #[serde(skip)]
    pub spec_manager: Option<Arc<str>>,
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
/// One version of one component.
pub type MachineComponent = Object<v1alpha1::MachineComponentSpec, v1alpha1::MachineComponentStatus>;
/// The fleet's default versions.
pub type ClusterPackageVersion =
    Object<v1alpha1::ClusterPackageVersionSpec, v1alpha1::ClusterPackageVersionStatus>;
/// The versions of the machines of a set.
pub type MachineComponentSet =
    Object<v1alpha1::MachineComponentSetSpec, v1alpha1::ClusterPackageVersionStatus>;
/// The versions that a few machines try before all others.
pub type CanaryRelease = Object<v1alpha1::CanaryReleaseSpec, v1alpha1::CanaryReleaseStatus>;
/// Limits, windows and freezes for machines.
pub type DisruptionPolicy = Object<v1alpha1::DisruptionPolicySpec, v1alpha1::DisruptionPolicyStatus>;
/// `coordination.k8s.io/v1` Lease, as far as it is used here.
pub type Lease = Object<LeaseSpec, NoStatus>;
/// `v1` Node, as far as it is used here.
pub type Node = Object<NodeSpec, NodeStatus>;

/// `certificates.k8s.io/v1` `CertificateSigningRequest`, as far as it is used here.
pub type CertificateSigningRequest = Object<CertificateRequestSpec, CertificateRequestStatus>;

/// Reads an object from JSON, in one way or another.
pub trait Read {
    /// Why it cannot be read.
    type Error;

    /// Reads it.
    ///
    /// # Errors
    /// When it is no such object.
    fn read<T: DeserializeOwned>(self) -> Result<T, Self::Error>;
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

/// The table of kinds: [`Resource`], and what is the same for all of its kinds.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $api_version:expr, $plural:literal, $namespace:expr;)*) => {
        /// An object of any kind that is used here.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Resource {
            $(
                $(#[$doc])*
                $kind(Box<$kind>),
            )*
        }

        impl Endpoint {
            /// The endpoint of `kind`.
            #[must_use]
            pub const fn of(kind: Kind) -> Self {
                let (api_version, plural, namespace) = match kind {
                    $(Kind::$kind => ($api_version, $plural, $namespace),)*
                };
                Self { kind, api_version, plural, namespace }
            }
        }

        impl Resource {
            /// Reads an object of a kind.
            ///
            /// # Errors
            /// When it is no such object.
            pub fn read<R: Read>(kind: Kind, json: R) -> Result<Self, R::Error> {
                Ok(match kind {
                    $(Kind::$kind => Self::$kind(json.read()?),)*
                })
            }

            /// Its kind.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// Its metadata.
            #[must_use]
            pub const fn metadata(&self) -> &Metadata {
                match self {
                    $(Self::$kind(object) => &object.metadata,)*
                }
            }

            /// Its metadata, to be changed.
            #[must_use]
            pub const fn metadata_mut(&mut self) -> &mut Metadata {
                match self {
                    $(Self::$kind(object) => &mut object.metadata,)*
                }
            }

            /// Whether both have the same spec.
            #[must_use]
            pub fn has_spec_of(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$kind(one), Self::$kind(other)) => one.has_spec_of(other),)*
                    (_, _) => true,
                }
            }

            /// Whether both have the same status.
            #[must_use]
            pub fn has_status_of(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$kind(one), Self::$kind(other)) => one.has_status_of(other),)*
                    (_, _) => true,
                }
            }

            /// Gives it the spec of another object of its kind.
            pub fn take_spec(&mut self, other: Self) {
                match (self, other) {
                    $((Self::$kind(one), Self::$kind(other)) => one.take_spec(*other),)*
                    (_, _) => {}
                }
            }

            /// Gives it the status of another object of its kind.
            pub fn copy_status(&mut self, other: &Self) {
                match (self, other) {
                    $((Self::$kind(one), Self::$kind(other)) => one.copy_status(other),)*
                    (_, _) => {}
                }
            }

            /// Takes its status away.
            pub fn drop_status(&mut self) {
                match self {
                    $(Self::$kind(object) => object.drop_status(),)*
                }
            }
        }
    };
}

kinds! {
    /// A Machine.
    Machine: v1alpha1::API_VERSION, "machines", None;
    /// A `MachineComponent`.
    MachineComponent: v1alpha1::API_VERSION, "machinecomponents", None;
    /// A `ClusterPackageVersion`.
    ClusterPackageVersion: v1alpha1::API_VERSION, "clusterpackageversions", None;
    /// A `MachineComponentSet`.
    MachineComponentSet: v1alpha1::API_VERSION, "machinecomponentsets", None;
    /// A Node.
    Node: "v1", "nodes", None;
    /// A Lease.
    Lease: "coordination.k8s.io/v1", "leases", Some(v1alpha1::NAMESPACE);
    /// A `CertificateSigningRequest`.
    CertificateSigningRequest: "certificates.k8s.io/v1", "certificatesigningrequests", None;
    /// An Event. Its namespace is where the Events of objects without a namespace belong.
    Event: "events.k8s.io/v1", "events", Some("default");
    /// A `DisruptionPolicy`.
    DisruptionPolicy: v1alpha1::API_VERSION, "disruptionpolicies", None;
    /// A `CanaryRelease`.
    CanaryRelease: v1alpha1::API_VERSION, "canaryreleases", None;
}

/// The kinds that have a status: [`Status`], and what is the same for all of them.
macro_rules! statuses {
    ($($(#[$doc:meta])* $kind:ident($status:ty),)*) => {
        /// The status of an object.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Status {
            $(
                $(#[$doc])*
                $kind($status),
            )*
        }

        impl Status {
            /// The kind of its object.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// Whether objects of a kind have one.
            #[must_use]
            pub const fn is_of(kind: Kind) -> bool {
                matches!(kind, $(Kind::$kind)|*)
            }
        }

        impl Resource {
            /// The object with another status; `None` when it is the status of another kind. The old status is not
            /// copied for nothing.
            #[must_use]
            pub fn with_status(&self, status: Status) -> Option<Self> {
                match (self, status) {
                    $((Self::$kind(object), Status::$kind(status)) => {
                        Some(Self::$kind(Box::new(object.with_status(status))))
                    })*
                    (_, _) => None,
                }
            }

            /// Its status, if it has one.
            #[must_use]
            pub fn into_status(self) -> Option<Status> {
                let (kind, this) = (self.kind(), self);
                match (kind, this) {
                    $((Kind::$kind, Self::$kind(object)) => object.status.map(Status::$kind),)*
                    (_, _) => None,
                }
            }
        }
    };
}

statuses! {
    /// Of a Machine.
    Machine(v1alpha1::MachineStatus),
    /// Of a `MachineComponent`.
    MachineComponent(v1alpha1::MachineComponentStatus),
    /// Of the `ClusterPackageVersion`.
    ClusterPackageVersion(v1alpha1::ClusterPackageVersionStatus),
    /// Of a `MachineComponentSet`.
    MachineComponentSet(v1alpha1::ClusterPackageVersionStatus),
    /// Of a Node.
    Node(NodeStatus),
    /// Of a `CertificateSigningRequest`.
    CertificateSigningRequest(CertificateRequestStatus),
    /// Of a `DisruptionPolicy`.
    DisruptionPolicy(v1alpha1::DisruptionPolicyStatus),
    /// Of a `CanaryRelease`.
    CanaryRelease(v1alpha1::CanaryReleaseStatus),
}

/// The parts of an object that are written apart from each other.
trait Parts: Sized {
    fn has_spec_of(&self, other: &Self) -> bool;
    fn has_status_of(&self, other: &Self) -> bool;
    fn take_spec(&mut self, other: Self);
    fn copy_status(&mut self, other: &Self);
    fn drop_status(&mut self);
}

impl<S: PartialEq, T: Clone + PartialEq> Parts for Object<S, T> {
    fn has_spec_of(&self, other: &Self) -> bool {
        self.spec == other.spec
    }

    fn has_status_of(&self, other: &Self) -> bool {
        self.status == other.status
    }

    fn take_spec(&mut self, other: Self) {
        self.spec = other.spec;
    }

    fn copy_status(&mut self, other: &Self) {
        self.status.clone_from(&other.status);
    }

    fn drop_status(&mut self) {
        self.status = None;
    }
}

impl Parts for Event {
    fn has_spec_of(&self, _: &Self) -> bool {
        true
    }

    fn has_status_of(&self, _: &Self) -> bool {
        true
    }

    fn take_spec(&mut self, _: Self) {}

    fn copy_status(&mut self, _: &Self) {}

    fn drop_status(&mut self) {}
}

impl<S: Clone, T> Object<S, T> {
    fn with_status(&self, status: T) -> Self {
        Self {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            metadata: self.metadata.clone(),
            spec: self.spec.clone(),
            status: Some(status),
        }
    }
}

impl Endpoint {
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
