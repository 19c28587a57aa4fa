//! What many objects have in common: texts and lists that are kept in memory once.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use seaworthy_model::machine::{Condition, Conditions};

/// The most texts that are remembered, among them all that a large fleet has in common. Those that only one object has make
/// the table forget everything now and then; then some texts are kept twice.
const TEXTS_MAX: usize = 4_096;

/// The texts that were seen lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts(BTreeSet<Arc<str>>);

impl Texts {
    /// The text, shared with other objects that have it.
    pub(crate) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        if self.0.len() == TEXTS_MAX {
            self.0.clear();
        }
        let text: Arc<str> = text.into();
        self.0.insert(Arc::clone(&text));
        text
    }

    /// The same for a text that an object may not have: then it is empty.
    pub(crate) fn share_any(&mut self, text: Option<&Arc<str>>) -> Arc<str> {
        text.map(|text| self.share(text)).unwrap_or_default()
    }
}

/// The most sets of conditions that are remembered: a fleet whose machines were imported within a quarter of an hour has about as
/// many. When there are more, all are forgotten, and some sets are kept twice.
const CONDITION_SETS_MAX: usize = 1_024;

/// The conditions of Machines that were seen lately, except those with a detail: a detail is seldom that of another machine
/// as well.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionSets(BTreeSet<Plain>);

impl ConditionSets {
    /// The conditions, shared with other Machines that have them: all that became ready within the same second.
    pub(crate) fn share(&mut self, conditions: Conditions) -> Conditions {
        if conditions.iter().any(|condition| condition.detail.is_some()) {
            return conditions;
        }
        let conditions = Plain(conditions);
        if let Some(known) = self.0.get(&conditions) {
            return known.0.clone();
        }
        if self.0.len() == CONDITION_SETS_MAX {
            self.0.clear();
        }
        self.0.insert(conditions.clone());
        conditions.0
    }
}

/// Conditions without details, in some order.
#[derive(Clone, Debug)]
struct Plain(Conditions);

impl Ord for Plain {
    fn cmp(&self, other: &Self) -> Ordering {
        let key =
            |told: &Condition| (told.since, told.kind, told.truth, told.reason, told.observed_generation);
        self.0.iter().map(key).cmp(other.0.iter().map(key))
    }
}

impl PartialOrd for Plain {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Plain {}

/// The last few values; a new one takes the place of the oldest.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    kept: [Option<T>; 4],
    next: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { kept: [const { None }; 4], next: 0 }
    }
}

impl<T> Ring<T> {
    fn find(&self, is_meant: impl Fn(&T) -> bool) -> Option<&T> {
        self.kept.iter().flatten().find(|kept| is_meant(kept))
    }

    fn push(&mut self, value: T) {
        self.kept[self.next] = Some(value);
        self.next = (self.next + 1) % self.kept.len();
    }
}

impl<T: PartialEq + Clone> Ring<T> {
    /// The value, as it was kept if an equal one was: a copy of that shares its memory.
    pub(crate) fn share(&mut self, value: T) -> T {
        if let Some(known) = self.find(|known| *known == value) {
            return known.clone();
        }
        self.push(value.clone());
        value
    }
}

/// The last few lists that differ: a fleet that is being changed has some two or three.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T>(Ring<Arc<[T]>>);

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self(Ring::default())
    }
}

impl<T: PartialEq> Lists<T> {
    /// The list, shared with other objects that have it.
    pub(crate) fn share(&mut self, list: Vec<T>) -> Arc<[T]> {
        if let Some(known) = self.0.find(|known| **known == *list) {
            return Arc::clone(known);
        }
        let list: Arc<[T]> = list.into();
        self.0.push(Arc::clone(&list));
        list
    }
}

/// The results for the last few shared values, by identity: while a value is kept here, its place in memory means no
/// other value.
#[derive(Debug)]
pub(crate) struct Recent<K: ?Sized, V: ?Sized>(Ring<(Arc<K>, Arc<V>)>);

impl<K: ?Sized, V: ?Sized> Recent<K, V> {
    /// The result for this very value.
    pub(crate) fn get(&self, key: &Arc<K>) -> Option<Arc<V>> {
        self.0.find(|(known, _)| Arc::ptr_eq(known, key)).map(|(_, value)| Arc::clone(value))
    }

    /// Remembers the result for a value, and forgets the oldest.
    pub(crate) fn put(&mut self, key: Arc<K>, value: Arc<V>) {
        self.0.push((key, value));
    }
}

impl<K: ?Sized, V: ?Sized> Clone for Recent<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: ?Sized, V: ?Sized> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Ring::default())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use seaworthy_model::detail::Detail;
    use seaworthy_model::labels::Labels;
    use seaworthy_model::machine::{ConditionKind, Reason, Truth};
    use seaworthy_model::time::Timestamp;

    use super::*;

    #[test]
    fn equal_texts_are_one() {
        let mut texts = Texts::default();
        let first = texts.share("rack-1");
        assert!(Arc::ptr_eq(&first, &texts.share("rack-1")));
        assert!(Arc::ptr_eq(&first, &texts.share_any(Some(&Arc::from("rack-1")))));
        assert_eq!((&*texts.share("rack-2"), &*texts.share_any(None)), ("rack-2", ""));
    }

    #[test]
    fn equal_lists_are_one_while_few_differ() {
        let mut lists = Lists::default();
        let first = lists.share(vec![1, 2]);
        assert!((1..4).all(|other| *lists.share(vec![other]) == [other]));
        assert!(Arc::ptr_eq(&first, &lists.share(vec![1, 2])));
        lists.share(vec![9]);
        assert!(!Arc::ptr_eq(&first, &lists.share(vec![1, 2])), "it was the oldest of five");
    }

    #[test]
    fn equal_conditions_without_details_are_one() {
        let ready = |since, detail| {
            let (kind, truth, reason) = (ConditionKind::Ready, Truth::True, Reason::AsDesired);
            let since = Timestamp::from_millis(since);
            Conditions::from_iter([Condition { kind, truth, reason, detail, since, observed_generation: 1 }])
        };
        let is_same = |one: &Conditions, other: &Conditions| {
            ptr::eq(one.get(ConditionKind::Ready).unwrap(), other.get(ConditionKind::Ready).unwrap())
        };
        let mut sets = ConditionSets::default();
        let first = sets.share(ready(1, None));
        let other = sets.share(ready(2, None));
        assert_eq!(other, ready(2, None));
        assert!(is_same(&first, &sets.share(ready(1, None))));
        let detailed = || ready(1, Some(Arc::new(Detail::Reported("why".into()))));
        assert_eq!(sets.share(detailed()), detailed());
        for since in 3..=CONDITION_SETS_MAX as u64 {
            sets.share(ready(since, None));
        }
        assert!(is_same(&first, &sets.share(ready(1, None))));
        sets.share(ready(0, None));
        assert!(!is_same(&first, &sets.share(ready(1, None))), "all were forgotten");
    }

    #[test]
    fn equal_label_sets_are_one() {
        let labels = |value: &str| [(Arc::from("pool"), Arc::from(value))].into_iter().collect::<Labels>();
        let mut sets = Ring::default();
        let (first, other) = (sets.share(labels("blue")), sets.share(labels("green")));
        assert!(ptr::eq(first.get("pool").unwrap(), sets.share(labels("blue")).get("pool").unwrap()));
        assert_eq!(other.get("pool").map(|value| &**value), Some("green"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut texts = Texts::default();
        for number in 0..3 * TEXTS_MAX {
            assert_eq!(*texts.share(&number.to_string()), number.to_string());
            assert!(texts.0.len() <= TEXTS_MAX);
        }
        assert!(Arc::ptr_eq(&texts.share("rack-1"), &texts.share("rack-1")));
    }
}
