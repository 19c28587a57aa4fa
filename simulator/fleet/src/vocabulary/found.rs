//! Software that may be on a host before the operator manages it.

use serde::Deserialize;

/// How it is with a component that somebody else has installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FoundState {
    /// It has the files of its version, and runs.
    #[default]
    Running,
    /// It has the files of its version, and does not run.
    Stopped,
    /// It has other files in the same places.
    Altered,
}
