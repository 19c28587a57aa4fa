//! What is counted in a run.

use std::collections::BTreeMap;

use crate::vocabulary::Occasion;

/// What is counted in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Calls of `reconcile`.
    pub turns: u64,
    /// Mutations of operator processes that were committed.
    pub api_writes: u64,
    /// Those of them that renewed the Lease.
    pub lease_renewals: u64,
    /// Those of them that changed a Machine.
    pub machine_writes: u64,
    /// Renewals of Node leases that were events of their own.
    pub node_renewals: u64,
    /// Those that did not get through.
    pub node_renewals_failed: u64,
    /// Operations that were begun on hosts.
    pub operations: u64,
    /// How many hosts had which version when people first acted.
    pub versions_before: BTreeMap<String, u32>,
    /// By fault, in the order of the scenario: how often it struck.
    pub strikes: Vec<u64>,
    occasions: BTreeMap<Occasion, u64>,
}

impl Tally {
    /// Nothing has happened yet in a run with so many faults.
    pub(crate) fn new(faults: usize) -> Self {
        Self { strikes: vec![0; faults], ..Self::default() }
    }

    /// Something happened once more.
    pub(crate) fn note(&mut self, occasion: Occasion) {
        *self.occasions.entry(occasion).or_default() += 1;
    }

    /// How often something happened.
    #[must_use]
    pub(crate) fn count(&self, occasion: Occasion) -> u64 {
        self.occasions.get(&occasion).copied().unwrap_or_default()
    }

    /// All that happened, and how often.
    #[must_use]
    pub(crate) const fn occasions(&self) -> &BTreeMap<Occasion, u64> {
        &self.occasions
    }
}
