//! A map from subjects to small values, as dense tables. Most machines have an entry at some time, and with a hundred
//! thousand machines every level of a tree is a cache miss.

use alloc::vec::Vec;

use seaworthy_model::report::Subject;

/// A map from subjects to values.
#[derive(Clone, Debug)]
pub(crate) struct BySubject<T> {
    /// By [`Subject::place`].
    tables: [Vec<Option<T>>; Subject::TABLES],
    len: usize,
}

impl<T> Default for BySubject<T> {
    fn default() -> Self {
        Self { tables: [const { Vec::new() }; Subject::TABLES], len: 0 }
    }
}

impl<T: Copy> BySubject<T> {
    /// The value of a subject.
    pub(crate) fn get(&self, subject: Subject) -> Option<T> {
        let (table, index) = subject.place();
        self.tables[table].get(index).copied().flatten()
    }

    /// Sets the value of a subject.
    pub(crate) fn insert(&mut self, subject: Subject, value: T) {
        let before = self.place(subject).replace(value);
        self.len += usize::from(before.is_none());
    }

    /// Removes the value of a subject.
    pub(crate) fn remove(&mut self, subject: Subject) {
        self.remove_if(subject, |_| true);
    }

    /// Removes the value of a subject if the predicate holds for it. True if it was removed.
    pub(crate) fn remove_if(&mut self, subject: Subject, is_it: impl FnOnce(T) -> bool) -> bool {
        let (table, index) = subject.place();
        let place = self.tables[table].get_mut(index);
        let taken = place.and_then(|place| place.take_if(|value| is_it(*value)));
        self.len -= usize::from(taken.is_some());
        taken.is_some()
    }

    /// How many subjects have a value.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether no subject has a value.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All subjects that have a value, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Subject, T)> {
        self.tables.iter().enumerate().flat_map(|(table, values)| {
            let values = (0..).zip(values.iter().copied());
            values.filter_map(move |(number, value)| Some((Subject::at(table, number)?, value?)))
        })
    }

    fn place(&mut self, subject: Subject) -> &mut Option<T> {
        let (table, index) = subject.place();
        let table = &mut self.tables[table];
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        &mut table[index]
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use seaworthy_model::id::{CertificateRequestId, MachineId, VersionId};

    use super::*;

    #[test]
    fn values_come_back_in_the_order_of_their_subjects() {
        let mut map = BySubject::default();
        let subjects = [
            Subject::Leadership,
            Subject::PackageVersion,
            Subject::Version(VersionId(3)),
            Subject::Machine(MachineId(0)),
            Subject::Machine(MachineId(7)),
            Subject::CertificateRequest(CertificateRequestId(1)),
        ];
        for (value, subject) in subjects.into_iter().enumerate().rev() {
            assert_eq!(map.get(subject), None);
            map.insert(subject, value);
        }
        map.insert(Subject::PackageVersion, 1);
        assert!(!map.remove_if(Subject::PackageVersion, |value| value == 2));
        let expected: Vec<_> = subjects.into_iter().zip(0..).collect();
        assert_eq!((map.iter().collect::<Vec<_>>(), map.len()), (expected, 6));
        for (value, subject) in subjects.into_iter().enumerate() {
            assert!(map.remove_if(subject, |there| there == value));
            map.remove(subject);
        }
        assert!(map.is_empty() && map.iter().next().is_none());
    }
}
