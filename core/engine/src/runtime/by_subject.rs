//! A map from subjects to small values, as dense tables. Most machines have an entry at some time, and with a hundred
//! thousand machines every level of a tree is a cache miss.

use alloc::vec::Vec;

use seaworthy_model::id::{CertificateRequestId, MachineId, VersionId};
use seaworthy_model::report::Subject;

/// A map from subjects to values.
#[derive(Clone, Debug)]
pub(crate) struct BySubject<T> {
    leadership: Option<T>,
    package_version: Option<T>,
    versions: Vec<Option<T>>,
    machines: Vec<Option<T>>,
    requests: Vec<Option<T>>,
    len: usize,
}

impl<T> Default for BySubject<T> {
    fn default() -> Self {
        Self {
            leadership: None,
            package_version: None,
            versions: Vec::new(),
            machines: Vec::new(),
            requests: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Copy> BySubject<T> {
    /// The value of a subject.
    pub(crate) fn get(&self, subject: Subject) -> Option<T> {
        match subject {
            Subject::Leadership => self.leadership,
            Subject::PackageVersion => self.package_version,
            Subject::Version(id) => self.versions.get(id.index()).copied().flatten(),
            Subject::Machine(id) => self.machines.get(id.index()).copied().flatten(),
            Subject::CertificateRequest(id) => self.requests.get(id.index()).copied().flatten(),
        }
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
        let place = match subject {
            Subject::Leadership => Some(&mut self.leadership),
            Subject::PackageVersion => Some(&mut self.package_version),
            Subject::Version(id) => self.versions.get_mut(id.index()),
            Subject::Machine(id) => self.machines.get_mut(id.index()),
            Subject::CertificateRequest(id) => self.requests.get_mut(id.index()),
        };
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
        let versions = (0..).map(VersionId).map(Subject::Version).zip(self.versions.iter().copied());
        let machines = (0..).map(MachineId).map(Subject::Machine).zip(self.machines.iter().copied());
        let requests = (0..).map(CertificateRequestId).map(Subject::CertificateRequest);
        let requests = requests.zip(self.requests.iter().copied());
        [(Subject::Leadership, self.leadership), (Subject::PackageVersion, self.package_version)]
            .into_iter()
            .chain(versions)
            .chain(machines)
            .chain(requests)
            .filter_map(|(subject, value)| Some((subject, value?)))
    }

    fn place(&mut self, subject: Subject) -> &mut Option<T> {
        let (table, index) = match subject {
            Subject::Leadership => return &mut self.leadership,
            Subject::PackageVersion => return &mut self.package_version,
            Subject::Version(id) => (&mut self.versions, id.index()),
            Subject::Machine(id) => (&mut self.machines, id.index()),
            Subject::CertificateRequest(id) => (&mut self.requests, id.index()),
        };
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        &mut table[index]
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

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
