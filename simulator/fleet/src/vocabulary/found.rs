//! Software that may be on a host before the operator manages it.

use serde::Deserialize;

/// The state of a component that somebody else has installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FoundState {
    /// The component has the files of its version, and its service runs.
    #[default]
    Running,
    /// The component has the files of its version, and its service does not run.
    Stopped,
    /// The component has other files in the same places.
    Altered,
}
