//! The trace hash: two runs have the same hash only if they did the same.

use core::fmt;

/// A rolling 64-bit hash over everything observable in a run. It is not cryptographic: it distinguishes runs, but does not
/// withstand an adversary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(u64);

impl TraceHash {
    /// The hash of an empty run.
    pub const EMPTY: Self = Self(0x5ea3_0127_9e37_79b9);

    /// Adds a record. Its length is hashed too, so two records never read as one.
    pub fn record(&mut self, words: &[u64]) {
        self.word(words.len() as u64);
        for &word in words {
            self.word(word);
        }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Multiply and fold (the step of wyhash), which is cheap and spreads every bit.
    const fn word(&mut self, word: u64) {
        let product = (self.0 ^ word) as u128 * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (product as u64 ^ (product >> 64) as u64).rotate_left(23).wrapping_add(word);
    }
}

impl Default for TraceHash {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(records: &[&[u64]]) -> TraceHash {
        let mut hash = TraceHash::EMPTY;
        records.iter().for_each(|record| hash.record(record));
        hash
    }

    #[test]
    fn order_length_and_value_matter() {
        let reference = hash(&[&[1, 2], &[3]]);
        assert_eq!(reference, hash(&[&[1, 2], &[3]]));
        for other in [
            hash(&[&[2, 1], &[3]]),
            hash(&[&[1], &[2, 3]]),
            hash(&[&[1, 2, 3]]),
            hash(&[&[3], &[1, 2]]),
            hash(&[&[1, 2], &[4]]),
            hash(&[&[1, 2]]),
        ] {
            assert_ne!(other, reference);
        }
        assert_eq!(reference.to_string().len(), 16);
    }

    #[test]
    fn single_bits_spread() {
        for bit in 0..64 {
            let difference = hash(&[&[0, 0]]).value() ^ hash(&[&[1 << bit, 0]]).value();
            assert!((12..=52).contains(&difference.count_ones()), "bit {bit}: {difference:016x}");
        }
    }
}
