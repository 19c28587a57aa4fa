//! The clock and the event queue: what is due next, in a total order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::Timestamp;

/// Among events that are due at the same instant, those of a lower priority number come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

impl Priority {
    /// The outside world changes before anybody looks at it.
    pub const WORLD: Self = Self(0);
    /// Everything ordinary.
    pub const NORMAL: Self = Self(1);
    /// Whoever decides, decides after all that arrives in the same instant.
    pub const DECISION: Self = Self(2);
}

/// A queue of events of type `E`, and the clock that they move.
///
/// The order is total: (time, priority, sequence of scheduling). There is no cancellation; a payload that may
/// become void carries a generation, and its receiver drops the void one and says so with [`Queue::discount`].
#[derive(Clone, Debug)]
pub struct Queue<E> {
    now: Timestamp,
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
    dispatched: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Timestamp,
    /// Priority in the highest eight bits, sequence below.
    rank: u64,
    event: E,
}

/// Bits of a rank that hold the sequence: enough for 72 thousand million million events.
const SEQUENCE_BITS: u32 = 56;

impl<E> Queue<E> {
    /// An empty queue whose clock shows `start`.
    #[must_use]
    pub const fn new(start: Timestamp) -> Self {
        Self { now: start, heap: BinaryHeap::new(), sequence: 0, dispatched: 0 }
    }

    /// The time of the event that was taken out last.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// How many events were taken out, without the discounted ones.
    #[must_use]
    pub const fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// How many events wait.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.heap.len()
    }

    /// When the next event is due.
    #[must_use]
    pub fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Schedules `event` for `at`; what lies in the past is due now.
    pub fn at(&mut self, at: Timestamp, priority: Priority, event: E) {
        let rank = u64::from(priority.0) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        self.heap.push(Entry { at: at.max(self.now), rank, event });
    }

    /// Schedules `event` for `delay` from now.
    pub fn after(&mut self, delay: Duration, priority: Priority, event: E) {
        self.at(self.now + delay, priority, event);
    }

    /// Takes out the next event that is due at `until` or before, and moves the clock to it. When there is none, the
    /// clock moves to `until`, unless that is the end of time.
    pub fn next_until(&mut self, until: Timestamp) -> Option<E> {
        if self.heap.peek().is_none_or(|entry| entry.at > until) {
            if until != Timestamp::MAX {
                self.now = self.now.max(until);
            }
            return None;
        }
        let entry = self.heap.pop()?;
        self.now = entry.at;
        self.dispatched += 1;
        Some(entry.event)
    }

    /// Says that the event taken out last was void: it does not count as one.
    pub const fn discount(&mut self) {
        self.dispatched = self.dispatched.saturating_sub(1);
    }
}

impl<E> Entry<E> {
    const fn key(&self) -> (u64, u64) {
        (self.at.0, self.rank)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed, since the heap gives its greatest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue<u32>) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.next_until(Timestamp::MAX).map(|event| (queue.now().0, event))).collect()
    }

    #[test]
    fn order_is_time_then_priority_then_sequence() {
        let mut queue = Queue::new(Timestamp(100));
        queue.at(Timestamp(300), Priority::WORLD, 5);
        queue.at(Timestamp(200), Priority::DECISION, 4);
        queue.at(Timestamp(200), Priority::NORMAL, 2);
        queue.at(Timestamp(200), Priority::NORMAL, 3);
        queue.at(Timestamp(200), Priority::WORLD, 1);
        assert_eq!(drain(&mut queue), [(200, 1), (200, 2), (200, 3), (200, 4), (300, 5)]);
    }

    #[test]
    fn the_past_is_due_now_and_the_clock_never_steps_back() {
        let mut queue = Queue::new(Timestamp(100));
        queue.at(Timestamp(50), Priority::NORMAL, 1);
        assert_eq!(drain(&mut queue), [(100, 1)]);
    }

    #[test]
    fn the_clock_moves_to_the_limit_when_nothing_is_due_before() {
        let mut queue = Queue::new(Timestamp(0));
        queue.after(Duration::from_secs(5), Priority::NORMAL, 1);
        assert_eq!(queue.next_until(Timestamp(4_999)), None);
        assert_eq!(queue.now(), Timestamp(4_999));
        assert_eq!(queue.next_until(Timestamp(5_000)), Some(1));
        assert_eq!((queue.dispatched(), queue.pending()), (1, 0));
        queue.discount();
        assert_eq!(queue.dispatched(), 0);
    }
}
