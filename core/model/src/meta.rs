//! The part of an object's metadata that decisions depend on.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::Uid;
use crate::time::Timestamp;

/// The finalizer that keeps a Machine until its software was removed from the host, and a `MachineComponent` or
/// `ClusterPackageVersion` while it is in use.
pub const FINALIZER: &str = "seaworthy.dev/in-use";

/// The metadata of an object of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Names this one incarnation: an object that was deleted and created again under its name has another uid.
    pub uid: Uid,
    /// Grows with every write of the object. Numbers of one API server are comparable.
    pub resource_version: u64,
    /// Grows with every change of the spec.
    pub generation: u64,
    /// When its deletion was asked for.
    pub deleted_at: Option<Timestamp>,
    /// All finalizers in order, ours and others': a write replaces the whole list. Most objects of a
    /// kind have the same and share it.
    pub finalizers: Arc<Vec<String>>,
}

impl Meta {
    /// Whether the object carries our finalizer.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    }

    /// Whether its deletion was asked for.
    #[must_use]
    pub const fn is_terminating(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// The list of finalizers with ours in it.
    #[must_use]
    pub fn finalizers_with_ours(&self) -> Vec<String> {
        let others = self.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER);
        let mut finalizers = Vec::with_capacity(self.finalizers.len() + 1);
        finalizers.extend(others.cloned());
        finalizers.push(FINALIZER.into());
        finalizers
    }

    /// The list of finalizers without ours.
    #[must_use]
    pub fn finalizers_without_ours(&self) -> Vec<String> {
        self.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).cloned().collect()
    }
}

/// One fault in a spec: where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecError {
    /// Path of the field, for example `spec.components[2].version`.
    pub field: String,
    /// What is wrong and what is expected, lower case, without a final dot.
    pub message: String,
}

/// A spec that was read, or all of its faults.
pub type Parsed<T> = Result<Arc<T>, Box<[SpecError]>>;
