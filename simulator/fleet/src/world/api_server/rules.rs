//! The rules of the API server: which parts of an object a write may change, and which objects are valid.

use seaworthy_api::base64;
use seaworthy_api::object::{Metadata, Resource, Taint};
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

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
    kind.is_ours()
}

/// Drops the status of a new object: for custom resources it can only be written through its subresource.
pub(super) fn drop_status(object: &mut Resource) {
    if object.kind() != Kind::Node {
        object.drop_status();
    }
}

/// Gives `object` the status of `other`, an object of the same kind.
pub(super) fn restore_status(object: &mut Resource, other: &Resource) {
    object.copy_status(other);
    if object.kind() == Kind::CertificateSigningRequest {
        // What was asked for stays as well: an update of it is passed over.
        object.take_spec(other.clone());
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
    let invalid = |field, message| Err(Invalid { field, message });
    if let Resource::MachineComponent(version) = object {
        if before.is_some_and(|before| !before.has_spec_of(object)) {
            return invalid("spec", "spec is immutable: a version is an object");
        }
        if *metadata.name != *format!("{}-{}", version.spec.component, version.spec.version) {
            return invalid("metadata.name", "the name must be spec.component, a hyphen, and spec.version");
        }
    } else if let (Resource::CanaryRelease(canary), Some(Resource::CanaryRelease(before))) = (object, before)
    {
        if canary.spec.selector != before.spec.selector {
            return invalid("spec.selector", PICKS_ONCE);
        }
        if canary.spec.pick != before.spec.pick {
            return invalid("spec.pick", PICKS_ONCE);
        }
    } else if object.kind() == Kind::ClusterPackageVersion && *metadata.name != *SINGLETON {
        return invalid("metadata.name", "the only allowed name is default");
    } else if let Resource::CertificateSigningRequest(request) = object {
        let pem = base64::decode(&request.spec.request);
        if !pem.is_some_and(|pem| pem.starts_with(b"-----BEGIN CERTIFICATE REQUEST-----")) {
            return invalid("spec.request", "PEM block type must be CERTIFICATE REQUEST");
        }
        if request.spec.usages.is_empty() {
            return invalid("spec.usages", "Required value");
        }
    } else if let Resource::Node(node) = object
        && has_duplicates(&node.spec.taints)
    {
        return invalid("metadata.taints", "taints must be unique by key and effect pair");
    }
    Ok(())
}

/// Why it cannot be changed which machines a canary picks.
const PICKS_ONCE: &str = "cannot be changed: the machines are picked once; create another CanaryRelease";

fn has_duplicates(taints: &[Taint]) -> bool {
    let is_same = |one: &Taint, other: &Taint| one.key == other.key && one.effect == other.effect;
    taints.iter().enumerate().any(|(index, taint)| taints[..index].iter().any(|it| is_same(it, taint)))
}
