//! One version of a component.

use alloc::boxed::Box;

use seaworthy_model::component::VersionObject;
use seaworthy_model::meta::Meta;
use seaworthy_model::time::Timestamp;

use crate::runtime::retry::Retry;
use crate::runtime::tracked::{Object, Tracked};

/// One version of a component.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// The `MachineComponent`.
    pub tracked: Tracked<Box<VersionObject>>,
    /// How many lists had been ordered when its deletion was first observed; `None` while it is not being deleted.
    pub leaving_since: Option<u64>,
    /// Our writes of its status.
    pub(crate) telling: Telling,
}

/// Our writes of the status of a version, as far as they are apart from those of its finalizers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Telling {
    /// Whether the write in flight is one of them.
    pub(crate) is_in_flight: bool,
    /// When the last one was ordered.
    pub(crate) at: Option<Timestamp>,
    /// Back-off after one that did nothing. It is not that of the object: the finalizer has to go at once even where
    /// nobody may write the status.
    pub(crate) retry: Retry,
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
