//! Objects into observations: what a driver does with every object that a list or a watch delivers.

use seaworthy_model::event::Observation;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use super::metadata::MetadataError;
use super::{lease, machine, node, package_version, version};
use crate::names::Names;
use crate::object::Resource;

/// What it means that `object` was seen. Deliver [`Names::announce`] first.
///
/// # Errors
/// When the metadata of the object makes no sense: nothing is known about it then.
pub fn observed(object: &Resource, names: &mut Names) -> Result<Observation, MetadataError> {
    Ok(match object {
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
    })
}

/// What it means that the object `name` of `kind` is gone. `None` when nothing depended on it: a
/// `ClusterPackageVersion` of another name was never observed. Deliver [`Names::announce`] first.
#[must_use]
pub fn gone(kind: Kind, name: &str, names: &mut Names) -> Option<Observation> {
    Some(match kind {
        Kind::Machine => Observation::Machine(names.machine(name), None),
        Kind::MachineComponent => Observation::Version(names.version_object(name), None),
        Kind::ClusterPackageVersion if name == SINGLETON => Observation::PackageVersion(None),
        Kind::ClusterPackageVersion => return None,
        Kind::Node => Observation::Node(names.machine(name), None),
        Kind::Lease => Observation::Lease(None),
    })
}
