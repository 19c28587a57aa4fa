//! The clock and the event queue, which orders all events totally.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use seaworthy_model::time::Timestamp;

mod slots;

use slots::Slots;

/// Of events that are due at the same instant, the lower priority number comes first. There are eight priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

impl Priority {
    /// Periodic events come first: an outage that starts at the same instant does not suppress them.
    pub const PERIODIC: Self = Self(0);
    /// Timeouts of periodic events: they expire only after a periodic event of the same instant.
    pub const TIMEOUT: Self = Self(1);
    /// The outside world changes before anything observes it.
    pub const WORLD: Self = Self(2);
    /// Everything ordinary.
    pub const NORMAL: Self = Self(3);
    /// Decisions come after everything that arrives at the same instant.
    pub const DECISION: Self = Self(4);
}

/// A queue of events of type `E`, and the clock that they move.
///
/// The order is total: (time, priority, sequence of scheduling). For events of [`Queue::at_rank`] a given rank replaces the
/// sequence. Events cannot be cancelled. A payload that may become void carries a generation; its receiver drops a void one
/// and reports that with [`Queue::discount`].
///
/// Events beyond the current eighth of a second lie unordered in slots and are sorted when their time comes. So the sorted
/// part fits into the nearest cache, however large the fleet is.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    now: Timestamp,
    /// Events that were in the current slot when it began. The next event is last.
    known: Vec<Near<E>>,
    /// Events that were scheduled for the current slot, or an earlier one, after it began.
    added: BinaryHeap<Entry<E>>,
    /// The current slot. All other events are in later slots.
    slot: u64,
    /// Whether the current slot has begun and [`Self::begins_slot`] has not yet reported it.
    is_new: bool,
    /// Events of later slots in the current era.
    slots: Slots<Near<E>>,
    /// Events of later eras.
    eras: BTreeMap<u64, Vec<Entry<E>>>,
    pending: usize,
    sequence: u64,
    dispatched: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Timestamp,
    /// The three highest bits are the priority, the others the sequence.
    rank: u64,
    event: E,
}

/// An [`Entry`] whose slot is known. Nearly every event waits in a slot for a while, outside the caches. This form is a
/// quarter smaller, and two keys compare in one instruction.
#[derive(Clone, Debug)]
struct Near<E> {
    /// The time since the beginning of the slot, then the rank.
    key: u64,
    event: E,
}

/// Bits of a rank that hold the sequence: enough for eighteen thousand million million events.
const SEQUENCE_BITS: u32 = 54;
/// Bits of a rank.
const RANK_BITS: u32 = SEQUENCE_BITS + 3;
/// Bits of a time, in milliseconds, within a slot: an eighth of a second.
const SLOT_BITS: u32 = u64::BITS - RANK_BITS;
/// Slots in an era: four minutes.
const SLOTS: u64 = 2048;

const fn slot_of(at: Timestamp) -> u64 {
    at.millis() >> SLOT_BITS
}

impl<E> Queue<E> {
    /// An empty queue whose clock shows `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self {
            now: start,
            known: Vec::new(),
            added: BinaryHeap::new(),
            slot: slot_of(start),
            is_new: false,
            slots: Slots::new(SLOTS as usize),
            eras: BTreeMap::new(),
            pending: 0,
            sequence: 0,
            dispatched: 0,
        }
    }

    /// The time of the event that was popped last.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// How many events were popped, without the discounted ones.
    #[must_use]
    pub const fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// The number of queued events.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Schedules `event` for `at`. A time in the past means now.
    pub fn at(&mut self, at: Timestamp, priority: Priority, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.schedule(at, priority, sequence, event);
    }

    /// Like [`Self::at`], but `rank` decides between events of one instant and priority, not the sequence of scheduling. Such
    /// a priority is only for ranked events, and events of the same rank must be interchangeable.
    pub fn at_rank(&mut self, at: Timestamp, priority: Priority, rank: u32, event: E) {
        self.schedule(at, priority, u64::from(rank), event);
    }

    fn schedule(&mut self, at: Timestamp, priority: Priority, order: u64, event: E) {
        let Priority(priority) = priority;
        debug_assert!(priority < 8, "there are eight priorities");
        let rank = u64::from(priority & 7) << SEQUENCE_BITS | order;
        self.pending += 1;
        self.put(Entry { at: at.max(self.now), rank, event });
    }

    fn put(&mut self, entry: Entry<E>) {
        let slot = slot_of(entry.at);
        if slot <= self.slot {
            self.added.push(entry);
        } else if slot / SLOTS == self.slot / SLOTS {
            let key = entry.at.millis() << RANK_BITS | entry.rank;
            self.slots.put((slot % SLOTS) as usize, Near { key, event: entry.event });
        } else {
            self.eras.entry(slot / SLOTS).or_default().push(entry);
        }
    }

    /// Schedules `event` for `delay` from now.
    pub fn after(&mut self, delay: Duration, priority: Priority, event: E) {
        self.at(self.now + delay, priority, event);
    }

    /// Advances to the next slot that has events, unless the current slot still has some.
    fn approach(&mut self) {
        while self.known.is_empty() && self.added.is_empty() {
            let era = self.slot - self.slot % SLOTS;
            if let Some(slot) = self.slots.first_from((self.slot % SLOTS + 1) as usize) {
                self.slot = era + slot as u64;
                self.is_new = true;
                self.slots.take(slot, &mut self.known);
                // The next event is popped from the end.
                self.known.sort_unstable_by_key(|near| std::cmp::Reverse(near.key));
            } else if let Some((era, entries)) = self.eras.pop_first() {
                self.slot = era * SLOTS;
                for entry in entries {
                    self.put(entry);
                }
            } else {
                return;
            }
        }
    }

    /// Advances to the next slot if the current one is empty. True once for each slot that begins with events; then
    /// [`Self::near`] returns these events.
    pub fn begins_slot(&mut self) -> bool {
        self.approach();
        std::mem::take(&mut self.is_new)
    }

    /// The events that are due soon, in no particular order.
    pub fn near(&self) -> impl Iterator<Item = &E> {
        let known = self.known.iter().map(|near| &near.event);
        known.chain(self.added.iter().map(|entry| &entry.event))
    }

    /// Pops the next event that is due at `until` or before, and moves the clock to it. When there is none, the clock moves
    /// to `until`, unless that is the end of time.
    pub fn next_until(&mut self, until: Timestamp) -> Option<E> {
        self.approach();
        let known = self.known.last().map(|near| near.due(self.slot));
        let added = self.added.peek().map(Entry::due);
        let is_added = known.is_none_or(|known| added.is_some_and(|added| added < known));
        let next = if is_added { added } else { known };
        let Some((at, _)) = next.filter(|(at, _)| *at <= until) else {
            if until != Timestamp::MAX {
                self.now = self.now.max(until);
            }
            return None;
        };
        let added = if is_added { self.added.pop().map(|entry| entry.event) } else { None };
        let event = added.or_else(|| self.known.pop().map(|near| near.event))?;
        self.now = at;
        self.pending -= 1;
        self.dispatched += 1;
        Some(event)
    }

    /// Reports that the event popped last was void, so that it does not count.
    pub const fn discount(&mut self) {
        self.dispatched = self.dispatched.saturating_sub(1);
    }
}

impl<E> Entry<E> {
    const fn due(&self) -> (Timestamp, u64) {
        (self.at, self.rank)
    }
}

impl<E> Near<E> {
    /// The time and rank of the entry, if it is due in this slot.
    const fn due(&self, slot: u64) -> (Timestamp, u64) {
        let at = slot << SLOT_BITS | self.key >> RANK_BITS;
        (Timestamp::from_millis(at), self.key & ((1 << RANK_BITS) - 1))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.due() == other.due()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed, because a heap pops its greatest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.due().cmp(&self.due())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue<u32>) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.next_until(Timestamp::MAX).map(|event| (queue.now().millis(), event)))
            .collect()
    }

    #[test]
    fn order_is_time_then_priority_then_sequence() {
        let mut queue = Queue::new(Timestamp::from_millis(100));
        queue.at(Timestamp::from_millis(300), Priority::WORLD, 5);
        queue.at(Timestamp::from_millis(200), Priority::DECISION, 4);
        queue.at(Timestamp::from_millis(200), Priority::NORMAL, 2);
        queue.at(Timestamp::from_millis(200), Priority::NORMAL, 3);
        queue.at(Timestamp::from_millis(200), Priority::WORLD, 1);
        assert_eq!(drain(&mut queue), [(200, 1), (200, 2), (200, 3), (200, 4), (300, 5)]);
    }

    #[test]
    fn ranks_count_in_place_of_the_sequence() {
        let mut queue = Queue::new(Timestamp::from_millis(100));
        queue.at(Timestamp::from_millis(200), Priority::WORLD, 4);
        queue.at_rank(Timestamp::from_millis(200), Priority::TIMEOUT, 1, 3);
        for rank in [7, 5] {
            queue.at_rank(Timestamp::from_millis(200), Priority::PERIODIC, rank, rank);
        }
        assert_eq!(drain(&mut queue), [(200, 5), (200, 7), (200, 3), (200, 4)]);
    }

    #[test]
    fn near_and_far_events_come_in_one_order() {
        let mut queue = Queue::new(Timestamp::from_millis(7));
        let mut expected = Vec::new();
        // Times from milliseconds to weeks, unordered; some events are scheduled while others are popped.
        for number in 0..2_000_u32 {
            let at = 7 + u64::from(number).wrapping_mul(2_654_435_761) % (1 << (number % 31));
            queue.at(Timestamp::from_millis(at), Priority::NORMAL, number);
            expected.push((at, number));
        }
        let mut seen = Vec::new();
        while let Some(number) = queue.next_until(Timestamp::MAX) {
            seen.push((queue.now().millis(), number));
            if number % 10 == 0 && number < 2_000 {
                let (at, late) = (queue.now().millis() + u64::from(number) * 97, 2_000 + number);
                queue.at(Timestamp::from_millis(at), Priority::NORMAL, late);
                expected.push((at, late));
            }
        }
        // A stable sort keeps events of one instant in the order of scheduling.
        expected.sort_by_key(|(at, _)| *at);
        assert_eq!((seen, queue.pending()), (expected, 0));
    }

    #[test]
    fn a_slot_begins_once_and_shows_what_is_due_in_it() {
        let mut queue = Queue::new(Timestamp::from_millis(0));
        for (at, event) in [(1_000, 1), (1_001, 2), (5_000, 3)] {
            queue.at(Timestamp::from_millis(at), Priority::NORMAL, event);
        }
        let mut shown = Vec::new();
        loop {
            if queue.begins_slot() {
                let mut near: Vec<u32> = queue.near().copied().collect();
                near.sort_unstable();
                shown.push(near);
            }
            assert!(!queue.begins_slot());
            if queue.next_until(Timestamp::MAX).is_none() {
                break;
            }
        }
        assert_eq!(shown, [vec![1, 2], vec![3]]);
    }

    #[test]
    fn the_past_is_due_now_and_the_clock_never_steps_back() {
        let mut queue = Queue::new(Timestamp::from_millis(100));
        queue.at(Timestamp::from_millis(50), Priority::NORMAL, 1);
        assert_eq!(drain(&mut queue), [(100, 1)]);
    }

    #[test]
    fn the_clock_moves_to_the_limit_when_nothing_is_due_before() {
        let mut queue = Queue::new(Timestamp::from_millis(0));
        queue.after(Duration::from_secs(5), Priority::NORMAL, 1);
        assert_eq!(queue.next_until(Timestamp::from_millis(4_999)), None);
        assert_eq!(queue.now(), Timestamp::from_millis(4_999));
        assert_eq!(queue.next_until(Timestamp::from_millis(5_000)), Some(1));
        assert_eq!((queue.dispatched(), queue.pending()), (1, 0));
        queue.discount();
        assert_eq!(queue.dispatched(), 0);
    }
}
