//! The clock and the event queue: what is due next, in a total order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use seaworthy_model::time::Timestamp;

mod slots;

use slots::Slots;

/// Among events that are due at the same instant, those of a lower priority number come first. There are eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

impl Priority {
    /// What repeats by itself was due before anything else of its instant: an outage that begins then misses it.
    pub const PERIODIC: Self = Self(0);
    /// Who waits for something periodic gives up only after what comes in the same instant.
    pub const TIMEOUT: Self = Self(1);
    /// The outside world changes before anybody looks at it.
    pub const WORLD: Self = Self(2);
    /// Everything ordinary.
    pub const NORMAL: Self = Self(3);
    /// Whoever decides, decides after all that arrives in the same instant.
    pub const DECISION: Self = Self(4);
}

/// A queue of events of type `E`, and the clock that they move.
///
/// The order is total: (time, priority, sequence of scheduling), or for what was scheduled with [`Queue::at_rank`] a rank of
/// its own in place of the sequence. There is no cancellation; a payload that may become void carries a generation, and
/// its receiver drops the void one and says so with [`Queue::discount`].
///
/// What comes later than the present eighth of a second lies unordered in slots, and is put in order when its time comes:
/// a slot is small enough for the nearest cache however large the fleet is.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    now: Timestamp,
    /// What was known of the present slot when it began, the next event last.
    known: Vec<Near<E>>,
    /// What was scheduled for the present slot since, or for a slot before it.
    added: BinaryHeap<Entry<E>>,
    /// The present slot: of everything else the slot is later.
    slot: u64,
    /// Whether nobody has looked at what is due in the present slot since that began.
    is_new: bool,
    /// What is due in later slots of the present era.
    slots: Slots<Near<E>>,
    /// What is due in later eras.
    eras: BTreeMap<u64, Vec<Entry<E>>>,
    pending: usize,
    sequence: u64,
    dispatched: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Timestamp,
    /// Priority in the three highest of its bits, sequence below.
    rank: u64,
    event: E,
}

/// The same in a slot that is known. Nearly every event lies in one for a while, far away: a quarter less is read and
/// written of each, and to compare two takes one instruction.
#[derive(Clone, Debug)]
struct Near<E> {
    /// When it is due after the beginning of the slot, then the rank.
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
    at.0 >> SLOT_BITS
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
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Schedules `event` for `at`; what lies in the past is due now.
    pub fn at(&mut self, at: Timestamp, priority: Priority, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.schedule(at, priority, sequence, event);
    }

    /// The same, and among events of one instant and priority `rank` decides, whichever was scheduled first. Such a
    /// priority is for such events alone, and events of the same rank must mean the same.
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
            let key = entry.at.0 << RANK_BITS | entry.rank;
            self.slots.put((slot % SLOTS) as usize, Near { key, event: entry.event });
        } else {
            self.eras.entry(slot / SLOTS).or_default().push(entry);
        }
    }

    /// Schedules `event` for `delay` from now.
    pub fn after(&mut self, delay: Duration, priority: Priority, event: E) {
        self.at(self.now + delay, priority, event);
    }

    /// Goes on to the next slot in which something is due, unless something is near already.
    fn approach(&mut self) {
        while self.known.is_empty() && self.added.is_empty() {
            let era = self.slot - self.slot % SLOTS;
            if let Some(slot) = self.slots.first_from((self.slot % SLOTS + 1) as usize) {
                self.slot = era + slot as u64;
                self.is_new = true;
                self.slots.take(slot, &mut self.known);
                // The next one is taken from the end.
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

    /// Goes on to the next slot if nothing is near any more. True once for each slot that begins with events in it: then
    /// [`Self::near`] are those that were known beforehand.
    pub fn begins_slot(&mut self) -> bool {
        self.approach();
        std::mem::take(&mut self.is_new)
    }

    /// What is due soon, in no particular order.
    pub fn near(&self) -> impl Iterator<Item = &E> {
        let known = self.known.iter().map(|near| &near.event);
        known.chain(self.added.iter().map(|entry| &entry.event))
    }

    /// Takes out the next event that is due at `until` or before, and moves the clock to it. When there is none, the
    /// clock moves to `until`, unless that is the end of time.
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

    /// Says that the event taken out last was void: it does not count as one.
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
    /// When it is due and its rank, if it lies in this slot.
    const fn due(&self, slot: u64) -> (Timestamp, u64) {
        let at = slot << SLOT_BITS | self.key >> RANK_BITS;
        (Timestamp(at), self.key & ((1 << RANK_BITS) - 1))
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
    /// Reversed: a heap gives its greatest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.due().cmp(&self.due())
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
    fn ranks_count_in_place_of_the_sequence() {
        let mut queue = Queue::new(Timestamp(100));
        queue.at(Timestamp(200), Priority::WORLD, 4);
        queue.at_rank(Timestamp(200), Priority::TIMEOUT, 1, 3);
        for rank in [7, 5] {
            queue.at_rank(Timestamp(200), Priority::PERIODIC, rank, rank);
        }
        assert_eq!(drain(&mut queue), [(200, 5), (200, 7), (200, 3), (200, 4)]);
    }

    #[test]
    fn near_and_far_events_come_in_one_order() {
        let mut queue = Queue::new(Timestamp(7));
        let mut expected = Vec::new();
        // Times from milliseconds to weeks, not in their order, some of them scheduled on the way.
        for number in 0..2_000_u32 {
            let at = 7 + u64::from(number).wrapping_mul(2_654_435_761) % (1 << (number % 31));
            queue.at(Timestamp(at), Priority::NORMAL, number);
            expected.push((at, number));
        }
        let mut seen = Vec::new();
        while let Some(number) = queue.next_until(Timestamp::MAX) {
            seen.push((queue.now().0, number));
            if number % 10 == 0 && number < 2_000 {
                let (at, late) = (queue.now().0 + u64::from(number) * 97, 2_000 + number);
                queue.at(Timestamp(at), Priority::NORMAL, late);
                expected.push((at, late));
            }
        }
        // A stable sort keeps those of one instant in the order of their scheduling.
        expected.sort_by_key(|(at, _)| *at);
        assert_eq!((seen, queue.pending()), (expected, 0));
    }

    #[test]
    fn a_slot_begins_once_and_shows_what_is_due_in_it() {
        let mut queue = Queue::new(Timestamp(0));
        for (at, event) in [(1_000, 1), (1_001, 2), (5_000, 3)] {
            queue.at(Timestamp(at), Priority::NORMAL, event);
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
