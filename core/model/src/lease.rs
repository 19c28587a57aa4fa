//! The Lease by which operator processes follow one another.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::meta::Meta;

/// The number of an operator process in the order of their taking the Lease. Hosts refuse what is older than what
/// they have seen. Stored as the Lease's `leaseTransitions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u32);

impl Epoch {
    /// No operator: the epoch of a Lease that was made only for a person to record an adoption on it.
    pub const VACANT: Self = Self(0);

    /// The epoch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The operator's Lease as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseObject {
    /// Its metadata.
    pub meta: Meta,
    /// The process that took it last; empty when nobody did.
    pub holder: String,
    /// The epoch of that process.
    pub epoch: Epoch,
    /// The annotation `seaworthy.dev/adopt-epoch`: a person has recorded that hosts which have seen operators up to
    /// this epoch may be taken over, although the store does not remember those operators.
    pub adopt: Option<Epoch>,
}
