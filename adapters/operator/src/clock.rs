//! Time for the engine: the wall clock, except that it never goes back and never stands still.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use seaworthy_model::time::Timestamp;
use tokio::time::Instant;

/// A clock that follows the wall clock forwards. When the wall clock is set back, it goes on at the pace of the
/// monotonic clock until the wall clock has caught up, so that back-offs and deadlines neither hang nor repeat.
#[derive(Debug)]
pub(crate) struct Clock {
    last: Timestamp,
    read: Instant,
    warned: bool,
}

/// Being ahead of the wall clock by more than this is worth a warning: statuses then carry times from the future.
const AHEAD: Duration = Duration::from_secs(60);

impl Clock {
    /// A clock that shows the wall clock's time.
    pub(crate) fn new() -> Self {
        Self { last: wall(), read: Instant::now(), warned: false }
    }

    /// The current time. It never goes back.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.read(wall(), Instant::now())
    }

    fn read(&mut self, wall: Timestamp, monotonic: Instant) -> Timestamp {
        let steps = u64::try_from(monotonic.saturating_duration_since(self.read).as_millis());
        let elapsed = Duration::from_millis(steps.unwrap_or(u64::MAX));
        let paced = self.last + elapsed;
        if wall >= paced {
            self.last = wall;
            self.read = monotonic;
        } else {
            self.last = paced;
            // Whole milliseconds only: the rest must not get lost in many short steps.
            self.read += elapsed;
        }
        let ahead = self.last.since(wall) > AHEAD;
        if ahead && !self.warned {
            tracing::warn!(seconds = self.last.since(wall).as_secs(), "the wall clock was set back");
        }
        self.warned = ahead;
        self.last
    }

    /// The instant at which this clock will show `at`, if the wall clock is left alone.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        // Far futures are cut off: no wait lasts a month, and an overflow would panic.
        const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
        self.read + at.since(self.last).min(MONTH)
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::ZERO + since
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(at: u64) -> (Clock, Instant) {
        let start = Instant::now();
        (Clock { last: Timestamp::from_millis(at), read: start, warned: false }, start)
    }

    #[test]
    fn follows_the_wall_clock_forwards() {
        let (mut clock, start) = clock(1_000);
        assert_eq!(
            clock.read(Timestamp::from_millis(5_000), start + Duration::from_millis(10)),
            Timestamp::from_millis(5_000)
        );
        assert_eq!(clock.instant(Timestamp::from_millis(6_000)), start + Duration::from_millis(1_010));
    }

    #[test]
    fn goes_on_when_the_wall_clock_is_set_back() {
        let (mut clock, start) = clock(1_000_000);
        assert_eq!(
            clock.read(Timestamp::from_millis(100), start + Duration::from_millis(10)),
            Timestamp::from_millis(1_000_010)
        );
        assert_eq!(
            clock.read(Timestamp::from_millis(110), start + Duration::from_millis(30)),
            Timestamp::from_millis(1_000_030)
        );
        assert!(clock.warned);
        assert_eq!(
            clock.read(Timestamp::from_millis(2_000_000), start + Duration::from_millis(40)),
            Timestamp::from_millis(2_000_000)
        );
        assert!(!clock.warned);
    }

    #[test]
    fn many_short_steps_add_up() {
        let (mut clock, start) = clock(1_000);
        for step in 1..=10_000u32 {
            clock.read(Timestamp::from_millis(0), start + Duration::from_micros(1_900) * step);
        }
        assert_eq!(clock.last, Timestamp::from_millis(20_000));
    }
}
