//! Time as the core knows it: a number that the driver hands in and that never decreases.

use core::num::NonZeroU64;
use core::ops::{Add, Sub};
use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. The driver guards against clocks that step back.
///
/// It keeps one more than that, so that an `Option` of it takes no more memory: a fleet of 100,000 machines has a million of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Timestamp(NonZeroU64);

impl Timestamp {
    /// Before everything.
    pub const ZERO: Self = Self::from_millis(0);
    /// After everything.
    pub const MAX: Self = Self::from_millis(u64::MAX);

    /// So many milliseconds since the Unix epoch. The largest number stands for the one before it, [`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(millis))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0.get() - 1
    }

    /// The same instant cut to whole seconds, which is all that Kubernetes stores in a status.
    #[must_use]
    pub const fn whole_seconds(self) -> Self {
        Self::from_millis(self.millis() / 1000 * 1000)
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.millis().saturating_sub(earlier.millis()))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self::from_millis(self.millis().saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self::from_millis(self.millis().saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Default for Timestamp {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<u64> for Timestamp {
    fn from(millis: u64) -> Self {
        Self::from_millis(millis)
    }
}

impl From<Timestamp> for u64 {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.millis()
    }
}

const _: () = assert!(size_of::<Option<Timestamp>>() == 8);
