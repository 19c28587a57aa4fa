//! Windows of time that come back every week, in a time zone: nothing but integers. Who reads a window looks its zone up
//! once, and hands the changes of the clock in.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

const DAY: i64 = 86_400;

/// A time zone: how far its clocks are ahead of UTC, and when that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Seconds ahead of UTC before the first change.
    pub first: i32,
    /// Each change: from this Unix second on, so many seconds ahead of UTC. Ascending.
    pub changes: Vec<(i64, i32)>,
}

impl Zone {
    /// UTC.
    #[must_use]
    pub const fn utc() -> Self {
        Self { first: 0, changes: Vec::new() }
    }

    /// How many seconds its clocks are ahead of UTC.
    fn offset(&self, at: i64) -> i64 {
        let passed = self.changes.partition_point(|(since, _)| *since <= at);
        let offset = passed.checked_sub(1).and_then(|last| self.changes.get(last));
        i64::from(offset.map_or(self.first, |(_, offset)| *offset))
    }

    /// The instant at which the clocks show this time, given as seconds since 1970 by the clock. Where the clocks were set
    /// back it is there twice: the first one. Where they were set forward it is left out: then it is as long after the jump as
    /// it would be after the last time before it.
    fn instant(&self, clock: i64) -> i64 {
        // No zone is more than a day ahead or behind, and none changes twice in two days.
        let (before, after) = (self.offset(clock - DAY), self.offset(clock + DAY));
        let shows = |offset: &i64| self.offset(clock - offset) == *offset;
        clock - [before, after].into_iter().find(shows).unwrap_or(before)
    }
}

/// Days of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days(u8);

impl Days {
    /// Every day.
    pub const ALL: Self = Self(0x7f);
    /// The names of the days, in their order.
    pub const NAMES: [&'static str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

    /// These days and one more: 0 is Monday.
    #[must_use]
    pub const fn with(self, day: u8) -> Self {
        Self(self.0 | 1 << day)
    }

    /// Whether the day that is so many days after 1 January 1970 is one of them.
    const fn contain(self, date: i64) -> bool {
        // That was a Thursday.
        let day = (date + 3).rem_euclid(7);
        self.0 >> day & 1 == 1
    }
}

/// A window that opens on some days of each week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The days on which it opens.
    pub days: Days,
    /// When it opens, as the clocks of the zone show it: seconds after midnight.
    pub start: u32,
    /// How long it is open, whatever the clocks do meanwhile; at most [`LONGEST`](Self::LONGEST).
    pub duration: Duration,
    /// The zone.
    pub zone: Arc<Zone>,
}

impl Window {
    /// The longest window: a week.
    pub const LONGEST: Duration = Duration::from_secs(7 * 86_400);
    /// So far ahead windows are looked for.
    pub const AHEAD: Duration = Duration::from_secs(8 * 86_400);

    /// The spans of time in which any of these windows is open: those that end after `now` and begin before `now` +
    /// [`AHEAD`](Self::AHEAD), in order. Spans that touch are one.
    #[must_use]
    pub fn spans(windows: &[Self], now: Timestamp) -> Vec<(Timestamp, Timestamp)> {
        let mut all: Vec<(Timestamp, Timestamp)> =
            windows.iter().flat_map(|window| window.openings(now)).collect();
        all.sort_unstable();
        let mut merged: Vec<(Timestamp, Timestamp)> = vec![];
        for (from, until) in all {
            match merged.last_mut() {
                Some((_, last)) if from <= *last => *last = until.max(*last),
                Some(_) | None => merged.push((from, until)),
            }
        }
        merged.retain(|(_, until)| *until > now);
        merged
    }

    fn openings(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> + '_ {
        let now = i64::try_from(now.millis() / 1000).unwrap_or(i64::MAX / 2);
        let today = now.div_euclid(DAY);
        let dates = today - 9..=today + 9;
        dates.filter(|date| self.days.contain(*date)).map(move |date| {
            let at = self.zone.instant(date * DAY + i64::from(self.start));
            let from = Timestamp::from_millis(u64::try_from(at).unwrap_or(0).saturating_mul(1000));
            (from, from + self.duration)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;
    /// 2026-03-29T01:00:00Z: the clocks of Berlin go from 02:00 to 03:00. It is a Sunday.
    const FORWARD: i64 = 1_774_746_000;
    /// 2026-10-25T01:00:00Z: they go back from 03:00 to 02:00. It is a Sunday.
    const BACK: i64 = 1_792_890_000;

    fn berlin() -> Arc<Zone> {
        let (winter, summer) = (3600, 7200);
        Arc::new(Zone { first: winter, changes: vec![(FORWARD, summer), (BACK, winter)] })
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(u64::try_from(seconds).unwrap() * 1000)
    }

    /// The first span of a window on Sundays that ends after `now`, in seconds.
    fn sunday(start: u32, hours: u64, now: i64) -> (i64, i64) {
        let (days, duration) = (Days::default().with(6), Duration::from_secs(hours * 3600));
        let window = Window { days, start, duration, zone: berlin() };
        let (from, until) = Window::spans(&[window], at(now))[0];
        let seconds = |at: Timestamp| i64::try_from(at.millis() / 1000).unwrap();
        (seconds(from), seconds(until))
    }

    #[test]
    fn a_start_that_the_clocks_leave_out_is_as_long_after_the_jump() {
        // 02:30 does not exist: 03:30 in summer time is half an hour after the jump.
        assert_eq!(sunday(9_000, 1, FORWARD - 12 * HOUR), (FORWARD + 1800, FORWARD + 1800 + HOUR));
    }

    #[test]
    fn a_start_that_is_there_twice_is_the_first() {
        // 02:30 in summer time is half an hour before the clocks go back.
        assert_eq!(sunday(9_000, 1, BACK - 12 * HOUR), (BACK - 1800, BACK - 1800 + HOUR));
    }

    #[test]
    fn a_window_is_as_long_as_it_says_whatever_the_clocks_do() {
        assert_eq!(sunday(HOUR as u32, 3, FORWARD - 12 * HOUR), (FORWARD - HOUR, FORWARD + 2 * HOUR));
        assert_eq!(sunday(HOUR as u32, 3, BACK - 12 * HOUR), (BACK - 2 * HOUR, BACK + HOUR));
    }

    #[test]
    fn a_window_may_go_on_after_midnight() {
        // Sunday 22:00 in summer time; on Monday at 03:00 it is still open, and ends at 04:00.
        let opens = FORWARD + 19 * HOUR;
        assert_eq!(sunday(22 * HOUR as u32, 6, opens + 5 * HOUR), (opens, opens + 6 * HOUR));
        let week = 7 * DAY;
        assert_eq!(sunday(22 * HOUR as u32, 6, opens + 6 * HOUR), (opens + week, opens + week + 6 * HOUR));
    }

    #[test]
    fn windows_that_touch_are_one() {
        let day = Duration::from_secs(86_400);
        let daily = Window { days: Days::ALL, start: 0, duration: day, zone: Arc::new(Zone::utc()) };
        let spans = Window::spans(&[daily], at(FORWARD));
        assert_eq!(spans.len(), 1);
        assert!(spans[0].0 < at(FORWARD) && spans[0].1 > at(FORWARD + 8 * DAY));
        assert_eq!(Window::spans(&[], at(FORWARD)), vec![]);
    }
}
