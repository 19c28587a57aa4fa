//! Back-off: the wait grows with each failure.

use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::draw::{Seed, below};
use seaworthy_model::time::Timestamp;

/// A back-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// Failures in a row.
    pub failures: u32,
    /// The next try is not made before this time.
    pub not_before: Timestamp,
}

impl Retry {
    /// Nothing has failed.
    pub(crate) const NONE: Self = Self { failures: 0, not_before: Timestamp::ZERO };

    /// Ends the wait, because the next try has something new to work with. The failures still count.
    pub(crate) const fn look_again(&mut self) {
        self.not_before = Timestamp::ZERO;
    }
}

/// What settling an outcome needs besides the world.
pub(crate) struct Terms<'a> {
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
}

/// The first and the longest wait of a brief back-off. While an API server refuses writes, about twenty tries a minute are left.
const BRIEF_WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(4)];

impl Terms<'_> {
    /// Counts one more failure. The wait doubles each time up to the longest; half of it is jitter.
    pub(crate) fn back_off(&self, retry: &mut Retry, now: Timestamp, key: u64) {
        self.wait(retry, now, key, [self.config.backoff_min, self.config.backoff_max]);
    }

    /// The same with brief waits, for the few subjects that many machines wait for.
    pub(crate) fn back_off_briefly(&self, retry: &mut Retry, now: Timestamp, key: u64) {
        self.wait(retry, now, key, BRIEF_WAITS);
    }

    fn wait(&self, retry: &mut Retry, now: Timestamp, key: u64, [shortest, longest]: [Duration; 2]) {
        let doubled = shortest.saturating_mul(1 << retry.failures.min(16));
        let span = doubled.min(longest).as_millis();
        let half = u64::try_from(span / 2).unwrap_or(u64::MAX);
        retry.failures = retry.failures.saturating_add(1);
        let jitter = below(&[self.seed.0, key, now.millis(), u64::from(retry.failures)], half.max(1));
        retry.not_before = Timestamp::from_millis(now.millis().saturating_add(half).saturating_add(jitter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of each wait is jitter.
    #[test]
    fn the_wait_doubles_from_the_shortest_to_the_longest() {
        let config = Config::default();
        let terms = Terms { config: &config, seed: Seed(1) };
        let mut retry = Retry::default();
        let mut expected = config.backoff_min;
        for key in 0..16 {
            terms.back_off(&mut retry, Timestamp::from_millis(0), key);
            let waits = Duration::from_millis(retry.not_before.millis());
            assert!(waits >= expected / 2 && waits <= expected, "{waits:?} of {expected:?}");
            expected = (expected * 2).min(config.backoff_max);
        }
        assert_eq!(expected, config.backoff_max);
    }
}
