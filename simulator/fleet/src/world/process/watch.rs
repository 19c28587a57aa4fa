//! How far the watches of a process are.

use std::sync::Arc;

use crate::world::api_server::{Cursor, Stored};

/// The watch of one kind.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct Watch {
    /// The place in the log; `None` when the watch does not run.
    pub(in crate::world) cursor: Option<Cursor>,
    /// Whether a delivery is due.
    pub(in crate::world) due: bool,
    /// By id: the objects that were delivered and are not known to be gone.
    pub(super) present: Vec<bool>,
    /// By place in the collection: the Machines and Nodes of the last list, without those that changes were delivered
    /// of since.
    pub(super) listed: Vec<Option<Listed>>,
}

/// An object of a list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// The object.
    pub(super) object: Arc<Stored>,
    /// The index of its id.
    pub(super) index: usize,
}
