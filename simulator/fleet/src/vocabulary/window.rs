//! When something may happen.

use std::time::Duration;

use seaworthy_kernel::Span;
use serde::Deserialize;

use super::Range;

/// When a fault may strike: `[from, to]` since the start. The quiet phase cuts it off.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Window(pub Range);

impl Default for Window {
    fn default() -> Self {
        Self(Range(Span { least: Duration::ZERO, most: Duration::MAX / 2 }))
    }
}
