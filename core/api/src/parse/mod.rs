//! Objects into the model: every fault of a spec, each with the path of its field.
//!
//! The schemas and CEL rules in the API server refuse nearly all of these faults before they are stored. Nothing here
//! depends on that: every object is validated again, and no input can cause a panic.
//!
//! A spec with faults is not an error of the function: the object exists and has a uid, so it is observed with its
//! faults, and they become the condition `InvalidSpec`. Only an object with invalid metadata is refused.

mod canary_release;
mod certificate_request;
mod component_setting;
mod detail;
mod disruption_policy;
mod faults;
mod host_path;
mod label_selector;
mod lease;
mod machine;
mod machine_component;
mod machine_component_set;
mod metadata;
mod node;
mod node_attributes;
mod package_version;
mod probe;
mod removal;
mod requirement;
mod status;
mod strategy;
mod text;
mod zone;

use seaworthy_model::certificate::RequestContent;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{CanaryId, CertificateRequestId, Kind, PolicyId, SetId};
use seaworthy_model::package_version::SINGLETON;

use crate::names::Names;
use crate::object::{CertificateSigningRequest, Resource};

pub use canary_release::{canary_release, canary_status};
pub use certificate_request::{ReadRequest, is_of_interest, request_content};
pub use disruption_policy::{disruption_policy, policy_status};
pub use lease::lease;
pub use machine::{machine, machine_again};
pub use machine_component::version;
pub use machine_component_set::machine_component_set;
pub use metadata::MetadataError;
pub use node::node;
pub use package_version::package_version;
pub(crate) use status::identity;
pub use status::{machine_status, package_version_status, version_status};
pub use text::duration;

/// The observation of `object`; `None` when nothing depends on it. Deliver [`Names::announce`] first. `read` decodes
/// certificate requests.
///
/// # Errors
/// When the metadata of the object is invalid.
pub fn observed(
    object: &Resource,
    names: &mut Names,
    read: ReadRequest,
) -> Result<Option<Observation>, MetadataError> {
    Ok(Some(match object {
        Resource::Machine(object) => {
            let (id, read) = machine(object, names)?;
            Observation::Machine(id, Some(Box::new(read)))
        }
        Resource::MachineComponent(object) => {
            let (id, read) = version(object, names)?;
            Observation::Version(id, Some(Box::new(read)))
        }
        Resource::ClusterPackageVersion(object) => {
            Observation::PackageVersion(Some(Box::new(package_version(object, names)?)))
        }
        Resource::MachineComponentSet(object) => {
            let (id, read) = machine_component_set(object, names)?;
            Observation::Set(id, Some(Box::new(read)))
        }
        Resource::Node(object) => {
            let (id, read) = node(object, names)?;
            Observation::Node(id, Some(read))
        }
        Resource::Lease(object) => Observation::Lease(Some(Box::new(lease(object)?))),
        Resource::CertificateSigningRequest(object) => {
            return requested(object, |request| request_content(request, read), names);
        }
        Resource::DisruptionPolicy(object) => {
            let (id, read) = disruption_policy(object, names)?;
            Observation::Policy(id, Some(Box::new(read)))
        }
        Resource::CanaryRelease(object) => {
            let (id, read) = canary_release(object, names)?;
            Observation::Canary(id, Some(Box::new(read)))
        }
        Resource::Event(_) => return Ok(None),
    }))
}

/// The observation of a certificate request; `None` when it is for a signer that nothing depends on. `content` says what it
/// asks for, given `spec.request`: whoever has [decoded](request_content) it elsewhere gives that. Deliver
/// [`Names::announce`] first.
///
/// # Errors
/// When the metadata of the object is invalid.
pub fn requested(
    object: &CertificateSigningRequest,
    content: impl FnOnce(&str) -> Result<RequestContent, String>,
    names: &mut Names,
) -> Result<Option<Observation>, MetadataError> {
    let read = certificate_request::certificate_request(object, content, names)?;
    Ok(read.map(|(id, read)| Observation::CertificateRequest(id, Some(Box::new(read)))))
}

/// The observation that the object `name` of `kind` is deleted. `None` when nothing depended on it: a
/// `ClusterPackageVersion` of another name was never observed, nor was a certificate request of another signer. Deliver
/// [`Names::announce`] first.
#[must_use]
pub fn gone(kind: Kind, name: &str, names: &mut Names) -> Option<Observation> {
    Observation::gone(kind, number(kind, name, names)?)
}

/// The number of the name of an object, which is interned if it is new; 0 for the only object of a kind. `None` when
/// nothing depends on the object, as far as is known.
#[must_use]
pub fn number(kind: Kind, name: &str, names: &mut Names) -> Option<u32> {
    Some(match kind {
        Kind::Machine | Kind::Node => names.machine(name).0,
        Kind::MachineComponent => names.version_object(name).0,
        // Those of other signers have no id.
        Kind::CertificateSigningRequest => names.find::<CertificateRequestId>(name)?.0,
        Kind::MachineComponentSet => names.id::<SetId>(name).0,
        Kind::DisruptionPolicy => names.id::<PolicyId>(name).0,
        Kind::CanaryRelease => names.id::<CanaryId>(name).0,
        Kind::ClusterPackageVersion if name != SINGLETON => return None,
        Kind::ClusterPackageVersion | Kind::Lease => 0,
        Kind::Event => return None,
    })
}
