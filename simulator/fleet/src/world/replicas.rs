//! The replicas of the API server at home, and their versions.

use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::requirement::VersionNumber;

/// The replicas of an API server: while it is upgraded, some have the old version and some the new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicas {
    /// Each version with the start and the end of its use.
    versions: Vec<(VersionNumber, Timestamp, Timestamp)>,
}

impl Replicas {
    /// Replicas that all have this version, forever.
    pub(super) fn new(version: Option<VersionNumber>) -> Self {
        Self { versions: version.into_iter().map(|version| (version, Timestamp::ZERO, END)).collect() }
    }

    /// Upgrades the replicas one after the other.
    pub(super) fn upgrade(&mut self, to: VersionNumber, now: Timestamp, lasting: Duration) {
        for (_, _, until) in &mut self.versions {
            *until = (*until).min(now + lasting);
        }
        self.versions.push((to, now, END));
    }

    /// Whether the scenario names their version, so that operators can learn it.
    pub(super) fn have_versions(&self) -> bool {
        !self.versions.is_empty()
    }

    /// The versions that exist now and also existed at `since`.
    pub(crate) fn there(
        &self,
        since: Timestamp,
        now: Timestamp,
    ) -> impl Iterator<Item = VersionNumber> + Clone {
        let is_there = move |(_, from, until): &&(_, Timestamp, Timestamp)| *from <= since && now < *until;
        self.versions.iter().filter(is_there).map(|(version, ..)| *version)
    }
}

/// Later than every run.
const END: Timestamp = Timestamp::from_millis(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_they_are_upgraded_there_are_both() {
        let [old, new] = ["1.35.4", "1.36.3"].map(|text| VersionNumber::parse(text).unwrap());
        let mut servers = Replicas::new(Some(old));
        servers.upgrade(new, Timestamp::from_millis(100), Duration::from_millis(50));
        let at = |since, now| -> Vec<_> {
            servers.there(Timestamp::from_millis(since), Timestamp::from_millis(now)).collect()
        };
        assert_eq!(at(99, 99), [old]);
        assert_eq!(at(100, 100), [old, new]);
        assert_eq!(at(99, 149), [old], "the new one is young");
        assert_eq!(at(150, 150), [new]);
    }
}
