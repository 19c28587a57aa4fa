//! What a host reported, as a row of the world keeps it.

use alloc::boxed::Box;

use seaworthy_model::host::{Drift, HostFacts};
use seaworthy_model::lease::Epoch;
use seaworthy_model::time::Timestamp;

/// What a host reported.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The last report in this epoch. `Some` also means that the host has seen our epoch and refuses orders of older
    /// ones. In a box: a settled host is not read until its audit, and a start would pay for what it does not have.
    pub facts: Option<Box<HostFacts>>,
    /// Since when the host counts as unreachable.
    pub unreachable_since: Option<Timestamp>,
    /// The epoch that it reported last, if that is higher than ours. It counts as unreachable then.
    pub ahead: Option<Epoch>,
}

impl Host {
    /// Whether one of the services that it reported does not run, or another program runs in its place.
    pub(crate) fn has_wrong_service(&self) -> bool {
        let facts = self.facts.as_ref();
        facts.is_some_and(|facts| facts.components.iter().any(|each| is_wrong(each.drift)))
    }
}

/// Whether a service does not run, or another program runs in its place.
pub(crate) const fn is_wrong(drift: Drift) -> bool {
    drift.contains(Drift::NOT_RUNNING) || drift.contains(Drift::WRONG_BINARY)
}
