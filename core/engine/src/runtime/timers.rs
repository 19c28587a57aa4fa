//! Timers of subjects, ordered by time. Each machine of the fleet has one, most of them hours ahead: only those of the
//! next minute are in a heap, the others wait in buckets.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

/// Bits of a time, in milliseconds, within a bucket: about a minute.
const BUCKET_BITS: u32 = 16;

/// Timers. A subject may have several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    near: BinaryHeap<Reverse<(Timestamp, Subject)>>,
    /// By bucket; all of them are later than those in `near`.
    far: BTreeMap<u64, Vec<(Timestamp, Subject)>>,
    /// The last bucket that was moved into `near`.
    reached: u64,
    len: usize,
}

impl Timers {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, at: Timestamp, subject: Subject) {
        let bucket = at.millis() >> BUCKET_BITS;
        if bucket <= self.reached {
            self.near.push(Reverse((at, subject)));
        } else {
            self.far.entry(bucket).or_default().push((at, subject));
        }
        self.len += 1;
        self.approach();
    }

    /// The first timer.
    pub(crate) fn peek(&self) -> Option<(Timestamp, Subject)> {
        self.near.peek().map(|Reverse(first)| *first)
    }

    pub(crate) fn pop(&mut self) -> Option<(Timestamp, Subject)> {
        let Reverse(first) = self.near.pop()?;
        self.len -= 1;
        self.approach();
        Some(first)
    }

    /// Keeps the timers for which `keep` holds.
    pub(crate) fn retain(&mut self, keep: impl Fn(Timestamp, Subject) -> bool) {
        self.near.retain(|Reverse((at, subject))| keep(*at, *subject));
        self.far.retain(|_, bucket| {
            bucket.retain(|(at, subject)| keep(*at, *subject));
            !bucket.is_empty()
        });
        self.len = self.near.len() + self.far.values().map(Vec::len).sum::<usize>();
        self.approach();
    }

    /// If `near` is empty, moves the next bucket into it.
    fn approach(&mut self) {
        if self.near.is_empty()
            && let Some((bucket, timers)) = self.far.pop_first()
        {
            self.reached = bucket;
            self.near.extend(timers.into_iter().map(Reverse));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seaworthy_model::id::MachineId;

    use super::*;

    proptest! {
        #[test]
        fn timers_come_in_the_order_of_time(
            times in prop::collection::vec((0u64..1 << 22, any::<bool>()), 1..100),
        ) {
            let mut timers = Timers::default();
            let mut model = Vec::new();
            for (number, (at, pops)) in (0..).zip(times) {
                timers.push(Timestamp::from_millis(at), Subject::Machine(MachineId(number)));
                model.push((Timestamp::from_millis(at), Subject::Machine(MachineId(number))));
                model.sort_unstable();
                prop_assert_eq!((timers.peek(), timers.len()), (model.first().copied(), model.len()));
                if pops {
                    prop_assert_eq!(timers.pop(), Some(model.remove(0)));
                }
            }
            let odd = |subject: Subject| matches!(subject, Subject::Machine(id) if id.0 % 2 == 1);
            timers.retain(|_, subject| odd(subject));
            model.retain(|(_, subject)| odd(*subject));
            prop_assert_eq!(timers.len(), model.len());
            prop_assert!(core::iter::from_fn(|| timers.pop()).eq(model));
        }
    }
}
