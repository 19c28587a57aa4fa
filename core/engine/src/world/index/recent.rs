//! On how many machines of a failure domain work began within the last hour, or the last day.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::time::Timestamp;

/// Within the last hour. A record has at most seven numbers of it for each domain.
pub(crate) type Hourly = Recent<3_600, 600>;

/// Within the last day. A record has at most thirteen numbers of it for each domain.
pub(crate) type Daily = Recent<86_400, 7_200>;

/// Numbers of machines by the `BUCKET` seconds in which work began on them, the latest last. What began in them counts until
/// `SPAN` seconds after their end: so no span of that length, whenever it begins, has more than the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent<const SPAN: u64, const BUCKET: u64>(Vec<(Timestamp, u32)>);

impl<const SPAN: u64, const BUCKET: u64> Recent<SPAN, BUCKET> {
    /// Work begins on so many machines.
    pub(crate) fn add(&mut self, machines: u32, now: Timestamp) {
        self.forget(now);
        *self.bucket(Self::start_of(now)) += machines;
    }

    /// A record has this number. What its writer's clock has put into the future counts as begun now.
    pub(crate) fn recall(&mut self, since: Timestamp, machines: u32, now: Timestamp) {
        self.forget(now);
        let since = Self::start_of(since.min(now));
        if Self::counts_until(since) > now {
            let known = self.bucket(since);
            *known = machines.max(*known);
        }
    }

    /// How many began within the last span, besides one that was counted at that time, and when the oldest of all fall out.
    pub(crate) fn full(&self, now: Timestamp, counted: Option<Timestamp>) -> (u32, Option<Timestamp>) {
        let is_in = counted.is_some_and(|at| Self::counts_until(Self::start_of(at)) > now);
        (self.count(now).saturating_sub(u32::from(is_in)), self.falls_at(now))
    }

    /// Whether what begins at both times is one number.
    pub(crate) fn is_same_bucket(one: Timestamp, other: Timestamp) -> bool {
        Self::start_of(one) == Self::start_of(other)
    }

    /// How many began within the last span.
    pub(crate) fn count(&self, now: Timestamp) -> u32 {
        self.recent(now).map(|(_, machines)| machines).sum()
    }

    /// When the oldest of them do not count any more.
    pub(crate) fn falls_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.recent(now).next().map(|(since, _)| Self::counts_until(since))
    }

    /// Those that count.
    pub(crate) fn recent(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, u32)> + '_ {
        self.0.iter().copied().filter(move |(since, _)| Self::counts_until(*since) > now)
    }

    fn bucket(&mut self, since: Timestamp) -> &mut u32 {
        let place = self.0.partition_point(|(known, _)| *known < since);
        if self.0.get(place).is_none_or(|(known, _)| *known != since) {
            self.0.insert(place, (since, 0));
        }
        &mut self.0[place].1
    }

    fn forget(&mut self, now: Timestamp) {
        self.0.retain(|(since, _)| Self::counts_until(*since) > now);
    }

    fn counts_until(since: Timestamp) -> Timestamp {
        since + Duration::from_secs(BUCKET + SPAN)
    }

    const fn start_of(at: Timestamp) -> Timestamp {
        Timestamp::from_millis(at.millis() - at.millis() % (BUCKET * 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(12 * 3_600_000);
    const HOUR: Duration = Duration::from_secs(3_600);
    const BUCKET: Duration = Duration::from_secs(600);

    #[test]
    fn what_began_counts_for_an_hour_at_least() {
        let mut hourly = Hourly::default();
        hourly.add(2, NOON + Duration::from_secs(599));
        hourly.add(3, NOON + BUCKET);
        assert_eq!(hourly.count(NOON + BUCKET), 5);
        assert_eq!(hourly.falls_at(NOON + BUCKET), Some(NOON + BUCKET + HOUR));
        assert_eq!(hourly.count(NOON + BUCKET + HOUR), 3);
        assert_eq!(hourly.count(NOON + BUCKET * 2 + HOUR), 0);
        hourly.add(1, NOON + HOUR * 3);
        assert_eq!(hourly.recent(NOON + HOUR * 3).count(), 1);
    }

    #[test]
    fn what_began_counts_for_a_day_at_least() {
        let mut daily = Daily::default();
        daily.add(2, NOON + HOUR);
        assert_eq!(daily.count(NOON + HOUR * 25), 2);
        assert_eq!(daily.falls_at(NOON + HOUR * 25), Some(NOON + HOUR * 26));
        assert_eq!(daily.count(NOON + HOUR * 26), 0);
    }

    #[test]
    fn a_record_adds_nothing_to_what_is_known_and_the_future_is_now() {
        let mut hourly = Hourly::default();
        hourly.add(2, NOON);
        hourly.recall(NOON, 2, NOON);
        hourly.recall(NOON, 5, NOON);
        assert_eq!(hourly.count(NOON), 5);
        hourly.recall(NOON + HOUR * 24, 7, NOON);
        assert_eq!(hourly.count(NOON), 7);
        hourly.recall(NOON - HOUR * 2, 9, NOON);
        assert_eq!(hourly.count(NOON), 7);
    }
}
