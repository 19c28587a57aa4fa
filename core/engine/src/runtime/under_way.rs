//! The actions in flight.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seaworthy_model::effect::ActionId;
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::Subject;

/// An action that was ordered and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight<T> {
    /// The subject that it is about.
    pub subject: Subject,
    /// The incarnation of the object that it was ordered for.
    pub uid: Option<Uid>,
    /// The generation of the spec that it was ordered for.
    pub generation: Option<u64>,
    /// For a write to an existing object: the `resourceVersion` that it was ordered for.
    pub resource_version: Option<u64>,
    /// The epoch in which it was ordered.
    pub epoch: Epoch,
    /// What the action does.
    pub ticket: T,
}

/// Actions in flight, by number. Numbers ascend, and an action ends at its deadline at the latest: those in flight lie
/// in a window of numbers that moves on. So a lookup needs no search.
#[derive(Clone, Debug)]
pub struct UnderWay<T> {
    /// The number of the first place in the window.
    first: u64,
    /// By number, from `first` on: the row of the action, or [`ENDED`]. The first entry has not ended.
    window: VecDeque<u32>,
    /// The actions; free rows are `None`.
    rows: Vec<Option<InFlight<T>>>,
    free: Vec<u32>,
}

/// The action of this number has ended, or never existed.
const ENDED: u32 = u32::MAX;

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        Self { first: 0, window: VecDeque::new(), rows: Vec::new(), free: Vec::new() }
    }
}

impl<T> UnderWay<T> {
    /// The action of this number, unless it has ended.
    #[must_use]
    pub fn get(&self, action: &ActionId) -> Option<&InFlight<T>> {
        let row = self.window.get(self.place(*action)?)?;
        self.rows.get(*row as usize)?.as_ref()
    }

    /// All of them, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &InFlight<T>> {
        self.window.iter().filter_map(|row| self.rows.get(*row as usize)?.as_ref())
    }

    /// Adds an action that was ordered after all others.
    pub(crate) fn insert(&mut self, action: ActionId, in_flight: InFlight<T>) {
        if self.window.is_empty() {
            self.first = action.0;
        }
        let place = self.place(action).filter(|place| *place >= self.window.len());
        let Some(place) = place else { return debug_assert!(false, "{action:?} is older than another one") };
        let row = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            u32::try_from(self.rows.len() - 1).unwrap_or(ENDED)
        });
        self.rows[row as usize] = Some(in_flight);
        self.window.resize(place, ENDED);
        self.window.push_back(row);
    }

    /// Removes an action that has ended.
    pub(crate) fn remove(&mut self, action: &ActionId) -> Option<InFlight<T>> {
        let place = self.place(*action)?;
        let row = core::mem::replace(self.window.get_mut(place)?, ENDED);
        let in_flight = self.rows.get_mut(row as usize)?.take();
        self.free.push(row);
        while self.window.front() == Some(&ENDED) {
            self.window.pop_front();
            self.first += 1;
        }
        in_flight
    }

    fn place(&self, action: ActionId) -> Option<usize> {
        usize::try_from(action.0.checked_sub(self.first)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn in_flight(number: u64) -> InFlight<u64> {
        InFlight {
            subject: Subject::Leadership,
            uid: None,
            generation: Some(number),
            resource_version: None,
            epoch: Epoch::default(),
            ticket: number,
        }
    }

    proptest! {
        /// The window holds what a map would hold. It drops the number of an ended action once all before it have
        /// ended.
        #[test]
        fn does_what_a_map_does(steps in prop::collection::vec((any::<bool>(), 0u64..40), 1..200)) {
            let (mut table, mut map, mut last) = (UnderWay::default(), BTreeMap::new(), 0);
            for (starts, number) in steps {
                if starts {
                    last += 1 + number / 13;
                    table.insert(ActionId(last), in_flight(last));
                    map.insert(ActionId(last), in_flight(last));
                } else {
                    let action = ActionId(last.saturating_sub(number));
                    prop_assert_eq!(table.remove(&action), map.remove(&action));
                }
                prop_assert!(table.values().eq(map.values()));
                let near = (last.saturating_sub(50)..last + 5).map(ActionId);
                for action in near {
                    prop_assert_eq!(table.get(&action), map.get(&action));
                }
                let span = map.first_key_value().map_or(0, |(first, _)| last - first.0 + 1);
                prop_assert!(table.window.len() as u64 <= span);
                prop_assert_eq!(table.rows.len() - table.free.len(), map.len());
            }
        }
    }
}
