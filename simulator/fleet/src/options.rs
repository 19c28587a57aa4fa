//! How a run differs from what its scenario file says.

use seaworthy_kernel::Seed;
use serde::Serialize;

/// How a run differs from what its scenario file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Another seed.
    pub seed: Option<Seed>,
    /// How kubelets are simulated.
    pub heartbeats: Heartbeats,
}

impl Options {
    /// Another seed, if there is one, and nothing else.
    #[must_use]
    pub const fn seeded(seed: Option<Seed>) -> Self {
        Self { seed, heartbeats: Heartbeats::Folded }
    }
}

/// How the renewals of Node leases are simulated. What can be observed is the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Heartbeats {
    /// Only those that change something: of all others it is known that they come, and when the last one came.
    #[default]
    Folded,
    /// One by one, each an event of its own: what the folded ones are held against.
    Explicit,
}
