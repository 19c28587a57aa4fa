//! Errors of the clock of an operator process.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::span;
use super::readable;

/// The difference of a clock from the time of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Skew {
    /// The time by which the clock is ahead.
    #[serde(with = "span")]
    pub ahead: Duration,
    /// The time by which the clock is behind.
    #[serde(with = "span")]
    pub behind: Duration,
    /// The rate by which the clock is fast: it gains this many millionths.
    pub fast: u32,
    /// The rate by which the clock is slow: it loses this many millionths, fewer than a million.
    pub slow: u32,
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = [(self.ahead, "ahead"), (self.behind, "behind")];
        let lengths = lengths.into_iter().filter(|(length, _)| !length.is_zero());
        let rates = [(self.fast, "fast"), (self.slow, "slow")].into_iter().filter(|(rate, _)| *rate > 0);
        let mut parts: Vec<String> =
            lengths.map(|(length, word)| format!("{} {word}", readable(length))).collect();
        parts.extend(rates.map(|(rate, word)| format!("{}.{:04}% {word}", rate / 10_000, rate % 10_000)));
        f.write_str(if parts.is_empty() { "right" } else { "wrong: " })?;
        f.write_str(&parts.join(", "))
    }
}
