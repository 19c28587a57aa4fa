//! Objects into observations: for every object that a list or a watch delivers.

use seaworthy_model::event::Observation;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use super::certificate_request::{ReadRequest, certificate_request};
use super::metadata::MetadataError;
use super::{lease, machine, node, package_version, version};
use crate::names::Names;
use crate::object::Resource;

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
        Resource::Node(object) => {
            let (id, read) = node(object, names)?;
            Observation::Node(id, Some(read))
        }
        Resource::Lease(object) => Observation::Lease(Some(Box::new(lease(object)?))),
        Resource::CertificateSigningRequest(object) => {
            let Some((id, read)) = certificate_request(object, names, read)? else { return Ok(None) };
            Observation::CertificateRequest(id, Some(Box::new(read)))
        }
        Resource::Event(_) => return Ok(None),
    }))
}

/// The observation that the object `name` of `kind` is deleted. `None` when nothing depended on it: a
/// `ClusterPackageVersion` of another name was never observed, nor was a certificate request of another signer. Deliver
/// [`Names::announce`] first.
#[must_use]
pub fn gone(kind: Kind, name: &str, names: &mut Names) -> Option<Observation> {
    Some(match kind {
        Kind::Machine => Observation::Machine(names.machine(name), None),
        Kind::MachineComponent => Observation::Version(names.version_object(name), None),
        Kind::ClusterPackageVersion if name == SINGLETON => Observation::PackageVersion(None),
        Kind::ClusterPackageVersion => return None,
        Kind::Node => Observation::Node(names.machine(name), None),
        Kind::Lease => Observation::Lease(None),
        Kind::CertificateSigningRequest => {
            Observation::CertificateRequest(names.find_certificate_request(name)?, None)
        }
        Kind::Event => return None,
    })
}
