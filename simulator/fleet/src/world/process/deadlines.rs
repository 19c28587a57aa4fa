//! Deadlines after which a process gives up on its actions.

use std::collections::VecDeque;

use seaworthy_kernel::Timestamp;
use seaworthy_model::effect::ActionId;

/// The deadlines of a process's actions in flight, by their ascending numbers. Nearly all actions end long before their
/// deadline, so adding and removing one needs no search.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct Deadlines {
    /// The action number of the first entry in `under_way`.
    first: u64,
    /// Whether the action of each number is in flight. The first one always is.
    under_way: VecDeque<bool>,
    /// Deadlines and numbers. Each list is ordered by both, and may contain actions that have ended. There are as many
    /// lists as there are different timeouts: a handful.
    lists: Vec<VecDeque<(Timestamp, ActionId)>>,
}

impl Deadlines {
    /// Adds the deadline of an action that was ordered after all others.
    pub(in crate::world) fn insert(&mut self, action: ActionId, deadline: Timestamp) {
        if self.under_way.is_empty() {
            self.first = action.0;
        }
        while self.first + (self.under_way.len() as u64) < action.0 {
            self.under_way.push_back(false);
        }
        self.under_way.push_back(true);
        let last = |list: &VecDeque<(Timestamp, ActionId)>| list.back().map(|(last, _)| *last);
        let fitting = self.lists.iter_mut().filter(|list| last(list) <= Some(deadline));
        match fitting.max_by_key(|list| last(list)) {
            Some(list) => list.push_back((deadline, action)),
            None => self.lists.push([(deadline, action)].into()),
        }
    }

    /// Forgets an action. False when it had ended before.
    pub(in crate::world) fn remove(&mut self, action: ActionId) -> bool {
        let place = action.0.checked_sub(self.first).and_then(|place| self.under_way.get_mut(place as usize));
        let was_under_way = place.is_some_and(std::mem::take);
        while self.under_way.front() == Some(&false) {
            self.under_way.pop_front();
            self.first += 1;
        }
        was_under_way
    }

    /// Whether no action is in flight.
    pub(in crate::world) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether an action is in flight.
    pub(in crate::world) fn is_under_way(&self, ActionId(number): ActionId) -> bool {
        let place = number.checked_sub(self.first).and_then(|place| self.under_way.get(place as usize));
        place.copied().unwrap_or_default()
    }

    /// The earliest deadline.
    pub(in crate::world) fn next(&mut self) -> Option<Timestamp> {
        let mut lists = std::mem::take(&mut self.lists);
        for list in &mut lists {
            while list.front().is_some_and(|(_, action)| !self.is_under_way(*action)) {
                list.pop_front();
            }
        }
        self.lists = lists;
        self.lists.iter().filter_map(|list| list.front()).map(|(deadline, _)| *deadline).min()
    }

    /// The actions whose deadline has passed, by deadline and number.
    pub(in crate::world) fn overdue(&mut self, now: Timestamp) -> Vec<ActionId> {
        let mut overdue = Vec::new();
        let mut lists = std::mem::take(&mut self.lists);
        for list in &mut lists {
            while let Some(due) = list.front().copied().filter(|(deadline, _)| *deadline <= now) {
                list.pop_front();
                if self.is_under_way(due.1) {
                    overdue.push(due);
                }
            }
        }
        self.lists = lists;
        overdue.sort_unstable();
        overdue.into_iter().map(|(_, action)| action).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_not_overdue() {
        let mut deadlines = Deadlines::default();
        for (number, deadline) in [(3, 50), (4, 20), (7, 20), (8, 10), (9, 90)] {
            deadlines.insert(ActionId(number), Timestamp::from_millis(deadline));
        }
        assert_eq!(deadlines.next(), Some(Timestamp::from_millis(10)));
        assert!(deadlines.remove(ActionId(8)));
        for unknown in [0, 5, 8, 10] {
            assert!(!deadlines.remove(ActionId(unknown)));
        }
        assert_eq!(deadlines.next(), Some(Timestamp::from_millis(20)));
        assert_eq!(deadlines.overdue(Timestamp::from_millis(50)), [4, 7, 3].map(ActionId));
        for number in [3, 4, 7] {
            assert!(deadlines.remove(ActionId(number)));
        }
        assert_eq!((deadlines.under_way.len(), deadlines.next()), (1, Some(Timestamp::from_millis(90))));
        assert!(deadlines.remove(ActionId(9)));
        assert_eq!((deadlines.under_way.len(), deadlines.next()), (0, None));
    }
}
