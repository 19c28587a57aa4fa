//! One version of a component.

use alloc::boxed::Box;

use seaworthy_model::component::VersionObject;
use seaworthy_model::meta::Meta;

use crate::runtime::tracked::{Object, Tracked};

/// One version of a component.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// The `MachineComponent`.
    pub tracked: Tracked<Box<VersionObject>>,
    /// How many lists had been ordered when its deletion was first observed; `None` while it is not being deleted.
    pub leaving_since: Option<u64>,
}

impl Version {
    /// The `MachineComponent`, as last seen.
    #[must_use]
    pub fn object(&self) -> Option<&VersionObject> {
        self.tracked.object.as_deref()
    }
}

impl Object for Box<VersionObject> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}
