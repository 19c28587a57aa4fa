//! The API servers of the cluster: their versions, and the operators that ask for them.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::event::Observation;
use seaworthy_model::requirement::{ApiServers as Found, VersionNumber};

use super::World;
use super::event::Event;
use super::operator::Process;
use crate::scenario::ApiServerUpgrade;

/// How long it takes to ask every API server.
const ROUND: Span = Span::millis(150, 2_000);

/// The API servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiServers {
    /// Each version with the start and the end of its use.
    versions: Vec<(VersionNumber, Timestamp, Timestamp)>,
}

impl ApiServers {
    /// API servers that all have this version, forever.
    pub(super) fn new(version: Option<VersionNumber>) -> Self {
        Self { versions: version.into_iter().map(|version| (version, Timestamp::ZERO, END)).collect() }
    }

    /// Upgrades the API servers one after the other.
    fn upgrade(&mut self, to: VersionNumber, now: Timestamp, lasting: Duration) {
        for (_, _, until) in &mut self.versions {
            *until = (*until).min(now + lasting);
        }
        self.versions.push((to, now, END));
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
const END: Timestamp = Timestamp(u64::MAX);

impl World {
    /// A process begins to ask the API servers for their version.
    pub(super) fn want_versions(&mut self, process: &mut Process) {
        if !self.api_servers.versions.is_empty() && !process.asks_versions {
            process.asks_versions = true;
            self.ask_versions_after(process.number, Duration::ZERO);
        }
    }

    fn ask_versions_after(&mut self, process: u32, pause: Duration) {
        let occurrence = self.queue.now().0;
        let round = self.draws.within(word("ask versions"), u64::from(process), occurrence, ROUND);
        self.queue.after(pause + round, Priority::NORMAL, Event::Versions { process });
    }

    /// The API servers have reported their versions to a process.
    pub(super) fn versions_told(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let now = self.queue.now();
        if now >= self.disturbance.api_down
            && let Some(found) = Found::of(self.api_servers.there(now, now))
        {
            process.observed(Observation::ApiServers(found));
            self.turn_soon(&mut process);
        }
        self.ask_versions_after(number, Found::INTERVAL);
        self.put_process(process);
    }

    /// Users begin to upgrade the API servers.
    pub(super) fn upgrade_api_servers(&mut self, upgrade: ApiServerUpgrade) {
        let now = self.queue.now();
        self.api_servers.upgrade(upgrade.to.0, now, upgrade.lasting.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_they_are_upgraded_there_are_both() {
        let [old, new] = ["1.35.4", "1.36.3"].map(|text| VersionNumber::parse(text).unwrap());
        let mut servers = ApiServers::new(Some(old));
        servers.upgrade(new, Timestamp(100), Duration::from_millis(50));
        let at = |since, now| -> Vec<_> { servers.there(Timestamp(since), Timestamp(now)).collect() };
        assert_eq!(at(99, 99), [old]);
        assert_eq!(at(100, 100), [old, new]);
        assert_eq!(at(99, 149), [old], "the new one is young");
        assert_eq!(at(150, 150), [new]);
    }
}
