//! `metadata`: the same for every kind.

use std::fmt;
use std::sync::Arc;

use seaworthy_model::id::Kind;
use seaworthy_model::meta::{Meta, SpecError};

use super::faults::{Faults, Field};
use crate::object::Metadata;
use crate::scalar::Scalar;

/// The metadata of an object is invalid, so nothing can be done about the object. No API server creates such objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataError {
    /// The kind of the object.
    pub kind: Kind,
    /// Its name, as far as it has one.
    pub name: String,
    /// What is wrong.
    pub errors: Vec<SpecError>,
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} is not usable", self.kind.name(), self.name)?;
        self.errors.iter().try_for_each(|error| write!(f, "; {}: {}", error.field, error.message))
    }
}

impl std::error::Error for MetadataError {}

impl MetadataError {
    pub(super) fn new(kind: Kind, metadata: &Metadata, faults: Faults) -> Self {
        Self { kind, name: metadata.name.to_string(), errors: faults.into_errors() }
    }
}

/// Reads the metadata of an object of `kind`.
pub(super) fn metadata(kind: Kind, metadata: &Metadata) -> Result<Meta, MetadataError> {
    let mut faults = Faults::default();
    let root = Field::root("metadata");
    faults.require(root.name("name"), !metadata.name.is_empty(), "must not be empty");
    let uid = metadata.uid.get();
    faults.require(root.name("uid"), uid.is_some(), "must be a UUID");
    let resource_version = metadata.resource_version.get();
    faults.require(root.name("resourceVersion"), resource_version.is_some(), "must be a decimal number");
    let generation = u64::try_from(metadata.generation).ok();
    faults.require(root.name("generation"), generation.is_some(), "must not be negative");
    let deleted_at = metadata.deletion_timestamp.as_ref().map(Scalar::get);
    faults.require(root.name("deletionTimestamp"), deleted_at != Some(None), "must be a time as in RFC 3339");
    match (uid, resource_version, generation) {
        (Some(uid), Some(resource_version), Some(generation)) if faults.count() == 0 => Ok(Meta {
            uid,
            resource_version,
            generation,
            deleted_at: deleted_at.flatten(),
            finalizers: Arc::clone(&metadata.finalizers),
        }),
        _ => Err(MetadataError::new(kind, metadata, faults)),
    }
}
