//! A row of slots, each with any number of things in no order, all in one store.
//!
//! A slot that had its own buffer would keep it long after it was emptied: two thousand of them, each as large as the
//! fullest ever was, are half of the memory of a run, and none of it is near when it is used again. Here the chunk that was
//! left last is taken first.

/// Slots that hold `T`s.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    /// By slot: its first chunk, or [`NONE`]. All others of it are full.
    first: Vec<u32>,
    chunks: Vec<Chunk<T>>,
    /// The empty chunk that was left last.
    free: u32,
}

#[derive(Clone, Debug)]
struct Chunk<T> {
    things: Vec<T>,
    /// The next chunk of the same slot, or the next empty one.
    next: u32,
}

/// No chunk.
const NONE: u32 = u32::MAX;
/// Things in a chunk. Whoever takes them waits for the memory once for so many.
const CHUNK: usize = 8;

impl<T> Slots<T> {
    /// So many empty slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { first: vec![NONE; slots], chunks: Vec::new(), free: NONE }
    }

    /// Puts a thing into a slot.
    pub(super) fn put(&mut self, slot: usize, thing: T) {
        let first = self.first[slot];
        if let Some(chunk) = self.chunks.get_mut(first as usize).filter(|chunk| chunk.things.len() < CHUNK) {
            return chunk.things.push(thing);
        }
        if self.free == NONE {
            self.free = u32::try_from(self.chunks.len()).unwrap_or(NONE);
            self.chunks.push(Chunk { things: Vec::with_capacity(CHUNK), next: NONE });
        }
        self.first[slot] = self.free;
        let chunk = &mut self.chunks[self.free as usize];
        chunk.things.push(thing);
        self.free = std::mem::replace(&mut chunk.next, first);
    }

    /// The first slot with something in it, from this one on.
    pub(super) fn first_from(&self, slot: usize) -> Option<usize> {
        let ahead = self.first.get(slot..)?.iter().position(|first| *first != NONE)?;
        Some(slot + ahead)
    }

    /// Adds to a list all that is in a slot.
    pub(super) fn take(&mut self, slot: usize, list: &mut Vec<T>) {
        let mut at = std::mem::replace(&mut self.first[slot], NONE);
        while let Some(chunk) = self.chunks.get_mut(at as usize) {
            list.append(&mut chunk.things);
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = std::mem::replace(&mut at, next);
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
        assert!(slots.chunks.len() <= 50 / CHUNK + 4, "{} chunks", slots.chunks.len());
    }
}
