//! A row of slots, each with any number of unordered items, all in one store.
//!
//! A slot with its own buffer would keep that buffer long after it was emptied. Two thousand buffers, each as large as the
//! fullest slot ever was, are half of the memory of a run, and none of them is cached when it is used again. Here the chunk
//! that was freed last is reused first.

/// Slots that hold `T`s.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot>,
    /// The items of all chunks, one chunk after the other.
    things: Vec<Option<T>>,
    /// By chunk: the next chunk of the same slot, or the next free chunk.
    next: Vec<u32>,
    /// The chunk that was freed last.
    free: u32,
}

/// Where the items of a slot are. To add one more does not touch the others.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its first chunk, or [`NONE`]. All its other chunks are full.
    first: u32,
    /// The number of items in the first chunk.
    filled: u32,
}

/// No chunk.
const NONE: u32 = u32::MAX;
/// Items in a chunk. Reading them waits for memory once per chunk.
const CHUNK: u32 = 8;

impl Slot {
    const EMPTY: Self = Self { first: NONE, filled: CHUNK };
}

impl<T> Slots<T> {
    /// A row of `slots` empty slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: vec![Slot::EMPTY; slots], things: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Adds an item to a slot.
    pub(super) fn put(&mut self, slot: usize, thing: T) {
        let slot = &mut self.slots[slot];
        if slot.filled == CHUNK {
            if self.free == NONE {
                self.free = u32::try_from(self.next.len()).unwrap_or(NONE);
                self.next.push(NONE);
                self.things.extend((0..CHUNK).map(|_| None));
            }
            let chunk = self.free;
            self.free = std::mem::replace(&mut self.next[chunk as usize], slot.first);
            *slot = Slot { first: chunk, filled: 0 };
        }
        self.things[(slot.first * CHUNK + slot.filled) as usize] = Some(thing);
        slot.filled += 1;
    }

    /// The first slot with items, from this one on.
    pub(super) fn first_from(&self, slot: usize) -> Option<usize> {
        let ahead = self.slots.get(slot..)?.iter().position(|slot| slot.first != NONE)?;
        Some(slot + ahead)
    }

    /// Moves all items of a slot to a list.
    pub(super) fn take(&mut self, slot: usize, list: &mut Vec<T>) {
        let Slot { mut first, filled } = std::mem::replace(&mut self.slots[slot], Slot::EMPTY);
        let mut filled = filled as usize;
        while first != NONE {
            let things = &mut self.things[(first * CHUNK) as usize..][..filled];
            list.extend(things.iter_mut().filter_map(Option::take));
            filled = CHUNK as usize;
            let next = std::mem::replace(&mut self.next[first as usize], self.free);
            self.free = std::mem::replace(&mut first, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(slots: &mut Slots<u32>, slot: usize) -> Vec<u32> {
        let mut list = Vec::new();
        slots.take(slot, &mut list);
        list.sort_unstable();
        list
    }

    #[test]
    fn what_was_put_into_a_slot_is_taken_from_it_once() {
        let mut slots = Slots::new(4);
        for number in 0..60 {
            slots.put(number as usize % 3, number);
        }
        let of = |rest: u32| (0..60).filter(|number| number % 3 == rest).collect::<Vec<_>>();
        assert_eq!(take(&mut slots, 1), of(1));
        assert_eq!(take(&mut slots, 1), []);
        assert_eq!((slots.first_from(1), slots.first_from(3), slots.first_from(4)), (Some(2), None, None));
        assert_eq!(take(&mut slots, 0), of(0));
        assert_eq!(take(&mut slots, 2), of(2));
    }

    #[test]
    fn chunks_are_used_again() {
        let mut slots = Slots::new(4);
        for round in 0..100 {
            for number in 0..50 {
                slots.put((round * number) as usize % 4, number);
            }
            let taken: usize = (0..4).map(|slot| take(&mut slots, slot).len()).sum();
            assert_eq!(taken, 50);
        }
        assert!(slots.next.len() <= 50 / CHUNK as usize + 4, "{} chunks", slots.next.len());
    }
}
