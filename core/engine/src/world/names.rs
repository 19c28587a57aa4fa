//! Names for the details of conditions: shared with the table of names.

use alloc::sync::Arc;

use seaworthy_model::id::{ComponentId, MachineId, VersionId};

use super::World;

impl World {
    /// The name of a machine; empty when it was never named.
    pub(crate) fn name_of_machine(&self, id: MachineId) -> Arc<str> {
        shared(&self.machine_names, id.index())
    }

    /// The name of a component; empty when it was never named.
    pub(crate) fn name_of_component(&self, id: ComponentId) -> Arc<str> {
        shared(&self.component_names, id.index())
    }

    /// The name of a version; empty when it was never named.
    pub(crate) fn name_of_version(&self, id: VersionId) -> Arc<str> {
        shared(&self.version_names, id.index())
    }
}

fn shared(names: &[Arc<str>], index: usize) -> Arc<str> {
    names.get(index).map(Arc::clone).unwrap_or_default()
}
