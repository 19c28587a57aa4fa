//! Quantities that people write: a number, or a percentage of a fleet.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A count or a share of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountOrPercent {
    /// So many.
    Count(u32),
    /// So many of a hundred, 0 to 100.
    Percent(u8),
}

impl CountOrPercent {
    /// The count it means for `total`: a percentage is rounded down, and the result is at least 1, since a limit
    /// of zero would stop the fleet for good without saying so (`spec.paused` says so).
    #[must_use]
    pub fn of(self, total: u32) -> u32 {
        let count = match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                u32::try_from(u64::from(total) * u64::from(percent) / 100).unwrap_or(u32::MAX)
            }
        };
        count.max(1)
    }
}

impl Default for CountOrPercent {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CountOrPercent::{Count, Percent};

    #[test]
    fn percentages_round_down_to_at_least_one() {
        let table = [
            (Count(0), 10, 1),
            (Count(3), 10, 3),
            (Percent(5), 10_000, 500),
            (Percent(5), 19, 1),
            (Percent(5), 59, 2),
            (Percent(100), u32::MAX, u32::MAX),
            (Percent(0), 100, 1),
        ];
        for (quantity, total, expected) in table {
            assert_eq!(quantity.of(total), expected, "{quantity} of {total}");
        }
    }
}
