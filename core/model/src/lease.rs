//! The Lease that makes one operator process the leader: the holder renews it again and again; the others stand by until
//! it has not been renewed for too long.

use alloc::string::String;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::time::Timestamp;

/// The number of an operator process in the order of their taking the Lease. Hosts refuse what is older than what
/// they have seen. Stored as the Lease's `leaseTransitions`, an `int32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u32);

impl Epoch {
    /// No operator that may act: the epoch of a Lease that was made only for a person to record an adoption on it.
    /// The holder of such a Lease reports, and does nothing else.
    pub const VACANT: Self = Self(0);

    /// The first one of an operator that may act.
    pub const FIRST: Self = Self(1);

    /// The highest one. No operator ever has the highest `int32` itself, so a Lease with that number has no successor.
    pub const LAST: Self = Self(i32::MAX.unsigned_abs() - 1);

    /// The highest one that may be adopted. It leaves room for a million operators: a host that reports an invented
    /// epoch, which a person then adopts, cannot leave the fleet without a next one.
    pub const ADOPTABLE: Self = Self(Self::LAST.0 - (1 << 20));

    /// The epoch after this one; `None` when there is none. Two processes never share an epoch, so it does not
    /// saturate.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        if self.0 < Self::LAST.0 { Some(Self(self.0 + 1)) } else { None }
    }
}

/// What a process writes into the Lease: the fields of `coordination.k8s.io/v1` that client-go calls the record of
/// a leader election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// `holderIdentity`: the process that holds it; empty when it is free.
    pub holder: String,
    /// `leaseTransitions`: the epoch of that process.
    pub epoch: Epoch,
    /// `leaseDurationSeconds`, in whole seconds: after so long without a renewal others may take it. `None` when it
    /// does not say.
    pub duration: Option<Duration>,
    /// `acquireTime`: when the holder took it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// `renewTime`: when the holder last said that it lives, by the holder's clock. Whoever has another clock may only
    /// look whether it changes.
    pub renewed: Option<Timestamp>,
}

impl LeaseRecord {
    /// Whether it is free.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// Whether `holder` holds it.
    #[must_use]
    pub fn is_of(&self, holder: &str) -> bool {
        !self.is_free() && self.holder == holder
    }

    /// Whether it is a renewal: it was renewed after it was taken.
    #[must_use]
    pub fn is_renewal(&self) -> bool {
        !self.is_free() && self.acquired < self.renewed
    }
}

/// The operator's Lease as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseObject {
    /// Its metadata.
    pub meta: Meta,
    /// Its holder, and since when.
    pub record: LeaseRecord,
    /// The annotation `seaworthy.dev/adopt-epoch`: a person has recorded that hosts which have seen operators up to
    /// this epoch may be taken over, although the store does not remember those operators.
    pub adopt: Option<Epoch>,
}

#[cfg(test)]
mod tests {
    use super::Epoch;

    #[test]
    fn epochs_end_below_the_highest_transition_of_a_lease() {
        let last = u32::try_from(i32::MAX).unwrap_or_default() - 1;
        assert_eq!(Epoch(last - 1).next(), Some(Epoch(last)));
        for none in [last, last + 1, u32::MAX] {
            assert_eq!(Epoch(none).next(), None, "{none}");
        }
        assert!(Epoch::ADOPTABLE.0 < last - 1_000_000);
    }
}
