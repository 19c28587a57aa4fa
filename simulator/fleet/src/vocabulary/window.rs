//! Windows of time.

use std::time::Duration;

use seaworthy_kernel::Span;
use serde::Deserialize;

use super::Range;

/// A window of time, `[from, to]` since the start of the run. It ends at the start of the quiet phase at the latest.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Window(pub Range);

impl Default for Window {
    fn default() -> Self {
        Self(Range(Span { least: Duration::ZERO, most: Duration::MAX / 2 }))
    }
}
