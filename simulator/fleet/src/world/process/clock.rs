//! The clock of a process: it may be ahead or behind, run fast or slow. It never goes back.

use std::time::Duration;

use seaworthy_kernel::Timestamp;

use crate::vocabulary::Skew;

/// The clock of a process.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Clock {
    /// At this time of the world
    set: Timestamp,
    /// it showed this,
    shows: Timestamp,
    /// and has gone so many millionths of a second a second since.
    rate: u64,
}

/// Millionths of a second in a second.
const WHOLE: u64 = 1_000_000;

impl Clock {
    /// A clock that is set at `now`.
    pub(in crate::world) fn new(now: Timestamp, skew: Skew) -> Self {
        let rate = (WHOLE + u64::from(skew.fast)).saturating_sub(u64::from(skew.slow)).max(1);
        Self { set: now, shows: now + skew.ahead - skew.behind, rate }
    }

    /// Sets the clock again; it does not go back.
    pub(in crate::world) fn set(&mut self, now: Timestamp, skew: Skew) {
        let shown = self.read(now);
        *self = Self::new(now, skew);
        self.shows = self.shows.max(shown);
    }

    /// The time that the clock shows at a time of the world.
    pub(in crate::world) fn read(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(self.shows.millis().saturating_add(scale(
            now.millis().saturating_sub(self.set.millis()),
            self.rate,
            WHOLE,
        )))
    }

    /// The time of the world at which the clock will show `at`.
    pub(in crate::world) fn when(&self, at: Timestamp) -> Timestamp {
        let whole = scale(at.millis().saturating_sub(self.shows.millis()), WHOLE, self.rate);
        let met = Timestamp::from_millis(self.set.millis().saturating_add(whole));
        if self.read(met) < at { met + Duration::from_millis(1) } else { met }
    }
}

fn scale(span: u64, by: u64, of: u64) -> u64 {
    if by == of {
        // Most clocks are right.
        return span;
    }
    u64::try_from(u128::from(span) * u128::from(by) / u128::from(of)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_shows_and_when_agree() {
        let skews = [
            Skew::default(),
            Skew { ahead: Duration::from_secs(3600), fast: 50_000, ..Skew::default() },
            Skew { behind: Duration::from_secs(60), slow: 123_457, ..Skew::default() },
        ];
        for skew in skews {
            let clock = Clock::new(Timestamp::from_millis(1_000_000), skew);
            for at in (0..100_000).step_by(37) {
                let at = Timestamp::from_millis(clock.shows.millis() + at);
                let when = clock.when(at);
                assert!(clock.read(when) >= at);
                assert!(
                    when.millis() == 1_000_000 || clock.read(Timestamp::from_millis(when.millis() - 1)) < at,
                    "{skew:?} {at:?}"
                );
            }
        }
    }

    #[test]
    fn it_does_not_go_back() {
        let ahead = Skew { ahead: Duration::from_secs(60), ..Skew::default() };
        let mut clock = Clock::new(Timestamp::from_millis(0), ahead);
        clock.set(Timestamp::from_millis(1_000), Skew::default());
        assert_eq!(clock.read(Timestamp::from_millis(1_000)), Timestamp::from_millis(61_000));
    }
}
