//! What is to be done when a component is removed from a host, besides taking away what installing it made: commands,
//! and directories that it filled while it ran.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::invocation::Invocation;

/// What is done on a host when a component is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// Run while the unit still runs, in this order; left out when it does not.
    #[serde(default)]
    pub before_stop: Vec<Invocation>,
    /// Run once the unit is stopped and gone, in this order.
    #[serde(default)]
    pub after_stop: Vec<Invocation>,
    /// Whatever is mounted there is unmounted, and they are deleted with all that is in them, in this order. Each is
    /// [removable](crate::host_path::is_removable).
    #[serde(default)]
    pub paths: Vec<String>,
}
