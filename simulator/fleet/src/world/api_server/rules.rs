//! The rules of the API server: which parts of an object a write may change, and which objects are valid.

use seaworthy_api::base64;
use seaworthy_api::object::{CertificateRequestStatus, Metadata, Object, Resource, Taint};
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use super::Status;

/// A write that is not acceptable: the field, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path of the field.
    pub field: &'static str,
    /// What is wrong, as the real API server words it.
    pub message: &'static str,
}

/// Whether the generation of this kind is counted. Kubernetes counts it for custom resources, not for Nodes and Leases.
pub(super) const fn counts_generations(kind: Kind) -> bool {
    matches!(kind, Kind::Machine | Kind::MachineComponent | Kind::ClusterPackageVersion)
}

/// Drops the status of a new object: for custom resources it can only be written through its subresource.
pub(super) fn drop_status(object: &mut Resource) {
    match object {
        Resource::Machine(machine) => machine.status = None,
        Resource::ClusterPackageVersion(version) => version.status = None,
        Resource::CertificateSigningRequest(request) => request.status = None,
        Resource::MachineComponent(_) | Resource::Node(_) | Resource::Lease(_) | Resource::Event(_) => {}
    }
}

/// The object with another status. `None` when its kind has no such status. The old status is not copied for nothing:
/// nearly all writes are of this sort.
pub(super) fn with_status(object: &Resource, status: Status) -> Option<Resource> {
    Some(match (object, status) {
        (Resource::Machine(object), Status::Machine(status)) => Resource::Machine(replaced(object, status)),
        (Resource::ClusterPackageVersion(object), Status::PackageVersion(status)) => {
            Resource::ClusterPackageVersion(replaced(object, status))
        }
        (Resource::Node(object), Status::Node(status)) => Resource::Node(replaced(object, status)),
        (Resource::CertificateSigningRequest(object), Status::CertificateRequest(status)) => {
            Resource::CertificateSigningRequest(replaced(object, status))
        }
        (Resource::CertificateSigningRequest(object), Status::Approval(conditions)) => {
            let certificate = object.status.as_ref().map(|status| status.certificate.clone());
            let certificate = certificate.unwrap_or_default();
            let status = CertificateRequestStatus { conditions, certificate };
            Resource::CertificateSigningRequest(replaced(object, status))
        }
        (_, _) => return None,
    })
}

fn replaced<S: Clone, T>(object: &Object<S, T>, status: T) -> Box<Object<S, T>> {
    Box::new(Object {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        metadata: object.metadata.clone(),
        spec: object.spec.clone(),
        status: Some(status),
    })
}

/// Gives `object` the status of `other`, an object of the same kind.
pub(super) fn restore_status(object: &mut Resource, other: &Resource) {
    match (object, other) {
        (Resource::Machine(object), Resource::Machine(other)) => object.status.clone_from(&other.status),
        (Resource::ClusterPackageVersion(object), Resource::ClusterPackageVersion(other)) => {
            object.status.clone_from(&other.status);
        }
        (Resource::Node(object), Resource::Node(other)) => object.status.clone_from(&other.status),
        (Resource::CertificateSigningRequest(object), Resource::CertificateSigningRequest(other)) => {
            // What was asked for stays as well: an update of it is passed over.
            object.spec.clone_from(&other.spec);
            object.status.clone_from(&other.status);
        }
        (_, _) => {}
    }
}

/// Sets back what only the API server writes.
pub(super) fn restore_system_metadata(metadata: &mut Metadata, before: &Metadata) {
    metadata.name.clone_from(&before.name);
    metadata.namespace.clone_from(&before.namespace);
    metadata.uid.clone_from(&before.uid);
    metadata.resource_version.clone_from(&before.resource_version);
    metadata.generation = before.generation;
    metadata.creation_timestamp.clone_from(&before.creation_timestamp);
    metadata.deletion_timestamp.clone_from(&before.deletion_timestamp);
}

/// Whether both have the same spec.
pub(super) fn same_spec(one: &Resource, other: &Resource) -> bool {
    match (one, other) {
        (Resource::Machine(one), Resource::Machine(other)) => one.spec == other.spec,
        (Resource::MachineComponent(one), Resource::MachineComponent(other)) => one.spec == other.spec,
        (Resource::ClusterPackageVersion(one), Resource::ClusterPackageVersion(other)) => {
            one.spec == other.spec
        }
        (Resource::Lease(one), Resource::Lease(other)) => one.spec == other.spec,
        (Resource::Node(one), Resource::Node(other)) => one.spec == other.spec,
        (_, _) => true,
    }
}

/// Whether both have the same status.
pub(super) fn same_status(one: &Resource, other: &Resource) -> bool {
    match (one, other) {
        (Resource::Machine(one), Resource::Machine(other)) => one.status == other.status,
        (Resource::ClusterPackageVersion(one), Resource::ClusterPackageVersion(other)) => {
            one.status == other.status
        }
        (Resource::Node(one), Resource::Node(other)) => one.status == other.status,
        (Resource::CertificateSigningRequest(one), Resource::CertificateSigningRequest(other)) => {
            one.status == other.status
        }
        (_, _) => true,
    }
}

/// Judges an object, and the way from what it was before.
pub(super) fn admit(before: Option<&Resource>, object: &Resource) -> Result<(), Invalid> {
    let metadata = object.metadata();
    if let Some(before) = before {
        let added = |finalizer| !before.metadata().finalizers.contains(finalizer);
        if before.metadata().deletion_timestamp.is_some() && metadata.finalizers.iter().any(added) {
            return Err(Invalid {
                field: "metadata.finalizers",
                message: "no new finalizers can be added if the object is being deleted",
            });
        }
    }
    match object {
        Resource::MachineComponent(version) => {
            if before.is_some_and(|before| !same_spec(before, object)) {
                return Err(Invalid { field: "spec", message: "spec is immutable: a version is an object" });
            }
            if *metadata.name != *format!("{}-{}", version.spec.component, version.spec.version) {
                return Err(Invalid {
                    field: "metadata.name",
                    message: "the name must be spec.component, a hyphen, and spec.version",
                });
            }
        }
        Resource::ClusterPackageVersion(_) if *metadata.name != *SINGLETON => {
            return Err(Invalid { field: "metadata.name", message: "the only allowed name is default" });
        }
        Resource::CertificateSigningRequest(request) => {
            let pem = base64::decode(&request.spec.request);
            let is_request = pem.is_some_and(|pem| pem.starts_with(b"-----BEGIN CERTIFICATE REQUEST-----"));
            if !is_request {
                return Err(Invalid {
                    field: "spec.request",
                    message: "PEM block type must be CERTIFICATE REQUEST",
                });
            }
            if request.spec.usages.is_empty() {
                return Err(Invalid { field: "spec.usages", message: "Required value" });
            }
        }
        Resource::Node(node) if has_duplicates(&node.spec.taints) => {
            return Err(Invalid {
                field: "metadata.taints",
                message: "taints must be unique by key and effect pair",
            });
        }
        Resource::ClusterPackageVersion(_)
        | Resource::Machine(_)
        | Resource::Node(_)
        | Resource::Lease(_)
        | Resource::Event(_) => {}
    }
    Ok(())
}

fn has_duplicates(taints: &[Taint]) -> bool {
    let is_same = |one: &Taint, other: &Taint| one.key == other.key && one.effect == other.effect;
    taints.iter().enumerate().any(|(index, taint)| taints[..index].iter().any(|it| is_same(it, taint)))
}
