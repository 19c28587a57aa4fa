//! Subjects whose last write an API server has refused for now: it is throttled, or in trouble.
//!
//! Each subject backs off on its own, longer each time. That alone wastes what a throttled API server would take: while it
//! could take a write, all subjects may be waiting, and some of them still wait long after it takes everything again. So
//! each write that is taken lets [`RELEASED`] subjects try again. Their number doubles while the API server takes what it is
//! asked, as TCP's does in its slow start; and for each write that it takes, it refuses at most that many of them.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use seaworthy_model::id::Subject;
use seaworthy_model::time::Timestamp;

/// How many subjects try again for each write that is taken.
pub(crate) const RELEASED: usize = 2;

/// How long a subject of each line waits at least. Owners are few, and many machines wait for one of them; all others wait
/// for as long as kube-apiserver asks for in `Retry-After`.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// The subjects, the longest waiting first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    refused_at: BTreeMap<Subject, Timestamp>,
    /// Owners of rollouts, whose writes many machines wait for, and then all others.
    lines: [BTreeSet<(Timestamp, Subject)>; 2],
}

impl Refusals {
    /// Whether no write is refused.
    pub(crate) fn is_empty(&self) -> bool {
        self.refused_at.is_empty()
    }

    /// A write was refused.
    pub(crate) fn add(&mut self, subject: Subject, now: Timestamp) {
        self.remove(subject);
        self.refused_at.insert(subject, now);
        self.lines[line(subject)].insert((now, subject));
    }

    /// A write was not refused, or does not wait any longer.
    pub(crate) fn remove(&mut self, subject: Subject) {
        if let Some(at) = self.refused_at.remove(&subject) {
            self.lines[line(subject)].remove(&(at, subject));
        }
    }

    /// Removes the subject that is the next to try again, if one has waited long enough.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Subject> {
        let mut lines = self.lines.iter().zip(PAUSES);
        let (_, subject) =
            lines.find_map(|(line, pause)| line.first().filter(|(at, _)| *at + pause <= now).copied())?;
        self.remove(subject);
        Some(subject)
    }
}

const fn line(subject: Subject) -> usize {
    match subject {
        Subject::PackageVersion | Subject::Set(_) | Subject::Canary(_) => 0,
        Subject::Leadership
        | Subject::Version(_)
        | Subject::Machine(_)
        | Subject::CertificateRequest(_)
        | Subject::Policy(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::id::MachineId;

    use super::*;

    #[test]
    fn owners_come_first_and_then_whoever_waits_the_longest() {
        let at = Timestamp::from_millis;
        let mut refusals = Refusals::default();
        for (number, millis) in [(1, 0), (2, 100), (1, 200)] {
            refusals.add(Subject::Machine(MachineId(number)), at(millis));
        }
        refusals.add(Subject::PackageVersion, at(300));
        assert_eq!(refusals.pop(at(399)), None);
        assert_eq!(refusals.pop(at(400)), Some(Subject::PackageVersion));
        assert_eq!(refusals.pop(at(1_099)), None, "machine 1 was refused once more");
        assert_eq!(refusals.pop(at(1_100)), Some(Subject::Machine(MachineId(2))));
        refusals.remove(Subject::Machine(MachineId(1)));
        assert_eq!((refusals.pop(at(9_000)), refusals.is_empty()), (None, true));
    }
}
