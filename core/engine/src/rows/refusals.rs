//! Subjects whose last write an API server has refused for now: it is throttled, or in trouble.
//!
//! Each subject backs off on its own, longer each time. That alone wastes what a throttled API server would take: while it
//! could take a write, all subjects may be waiting, and some of them still wait long after it takes everything again. So
//! each write that is taken lets [`RELEASED`] subjects try again. Their number doubles while the API server takes what it is
//! asked, as TCP's does in its slow start; and for each write that it takes, it refuses at most that many of them.
//!
//! Owners of rollouts are not here: many machines wait for one of them, and right after a write was taken is the worst time to
//! ask a rate limiter for the next one. Their back-off is a brief one.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use seaworthy_model::id::Subject;
use seaworthy_model::time::Timestamp;

/// How many subjects try again for each write that is taken.
pub(crate) const RELEASED: usize = 2;

/// How long a subject waits at least. kube-apiserver asks for half of it in `Retry-After`; a limit that lasts must not make one
/// subject try every second.
const PAUSE: Duration = Duration::from_secs(2);

/// The subjects, the longest waiting first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    refused_at: BTreeMap<Subject, Timestamp>,
    line: BTreeSet<(Timestamp, Subject)>,
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
        self.line.insert((now, subject));
    }

    /// A write was not refused, or does not wait any longer.
    pub(crate) fn remove(&mut self, subject: Subject) {
        if let Some(at) = self.refused_at.remove(&subject) {
            self.line.remove(&(at, subject));
        }
    }

    /// Removes the subject that is the next to try again, if one has waited long enough.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Subject> {
        let (_, subject) = self.line.first().filter(|(at, _)| *at + PAUSE <= now).copied()?;
        self.remove(subject);
        Some(subject)
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::id::MachineId;

    use super::*;

    #[test]
    fn whoever_waits_the_longest_is_the_next() {
        let at = Timestamp::from_millis;
        let machine = |number| Subject::Machine(MachineId(number));
        let mut refusals = Refusals::default();
        for (number, millis) in [(1, 0), (2, 100), (1, 200)] {
            refusals.add(machine(number), at(millis));
        }
        assert_eq!(refusals.pop(at(2_099)), None, "machine 1 was refused once more");
        assert_eq!(refusals.pop(at(2_100)), Some(machine(2)));
        refusals.remove(machine(1));
        assert_eq!((refusals.pop(at(9_000)), refusals.is_empty()), (None, true));
    }
}
