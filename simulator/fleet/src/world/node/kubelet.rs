//! The kubelet of a host: when it tries to renew the lease of its Node.

use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::node::Health;

/// A kubelet tries to renew its lease this often: a quarter of its `nodeLeaseDurationSeconds`, which are 40. That
/// client-go adds up to 4 % to each wait is left out.
pub(in crate::world) const PERIOD: Duration = Duration::from_secs(10);
pub(in crate::world) const PERIOD_MILLIS: u64 = PERIOD.as_secs() * 1000;
/// The time of an event that never happens.
const NEVER: Timestamp = Timestamp::MAX;

/// The kubelet of a host, and the true condition of its Node.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Kubelet {
    /// The time of its first try to renew, past or future. It tries again every [`PERIOD`]. [`NEVER`] while it does not
    /// run.
    pub(in crate::world) since: Timestamp,
    /// Since when its host is connected; [`NEVER`] while it is cut off.
    reached: Timestamp,
    /// The condition of its Node, unless a fault falsifies it.
    pub(in crate::world) health: Health,
    /// Whether it was lost and no renewal has come since.
    pub(in crate::world) is_missed: bool,
    /// Whether it runs as soon as its host does.
    runs: bool,
    /// Whether it has started since its last renewal. With its next one, it creates its Node if there is none: a
    /// kubelet registers only once each time that it starts.
    pub(in crate::world) registers: bool,
    /// Whether something that it needs on its host does not run.
    is_starved: bool,
    /// So many faults let it report that its Node is not ready.
    sick: u16,
    /// Until then it reports what it has reported before, although that has changed.
    reports: Timestamp,
    /// Whether its Node reports that there is no room on the disk.
    pub(in crate::world) has_pressure: bool,
    /// What it reports of the disk next, and from when on.
    pressure: (bool, Timestamp),
}

impl Kubelet {
    /// A kubelet that has run since then.
    pub(in crate::world) const fn running(since: Timestamp) -> Self {
        Self {
            since,
            reached: Timestamp::ZERO,
            health: Health::Healthy,
            is_missed: false,
            runs: true,
            registers: false,
            is_starved: false,
            sick: 0,
            reports: Timestamp::ZERO,
            has_pressure: false,
            pressure: (false, NEVER),
        }
    }

    /// The kubelet of a host where none runs yet.
    pub(in crate::world) const fn missing() -> Self {
        Self { health: Health::Unknown, is_missed: true, runs: false, ..Self::running(NEVER) }
    }

    /// Whether it tries to renew at this very moment.
    pub(in crate::world) const fn tries_at(&self, now: Timestamp) -> bool {
        now.millis() >= self.since.millis()
            && (now.millis() - self.since.millis()).is_multiple_of(PERIOD_MILLIS)
    }

    /// Its first try at `from` or later, if it runs.
    pub(in crate::world) fn try_from(&self, from: Timestamp) -> Option<Timestamp> {
        let waited = from.millis().saturating_sub(self.since.millis());
        let tries = self.since.millis().saturating_add(waited.div_ceil(PERIOD_MILLIS) * PERIOD_MILLIS);
        (self.since != NEVER).then_some(Timestamp::from_millis(tries))
    }

    /// Its last try at `until` or before, if there was one since its host became reachable. A try in the very instant
    /// of the reconnection is too early.
    pub(in crate::world) fn try_until(&self, until: Timestamp) -> Option<Timestamp> {
        let waited = until.millis().checked_sub(self.since.millis())?;
        let tried = Timestamp::from_millis(until.millis() - waited % PERIOD_MILLIS);
        (tried > self.reached).then_some(tried)
    }

    /// Whether it renewed then under the present conditions: then it tries again before the lease expires.
    pub(in crate::world) fn is_steady(&self, renewed: Timestamp) -> bool {
        renewed > self.reached && renewed >= self.since
    }

    /// Whether its host is connected.
    pub(in crate::world) fn is_reachable(&self) -> bool {
        self.reached != NEVER
    }

    /// Whether it runs as soon as its host does.
    pub(in crate::world) const fn runs(&self) -> bool {
        self.runs
    }

    /// Whether it has a reason to report that its Node is not ready.
    pub(in crate::world) const fn is_unfit(&self) -> bool {
        self.is_starved || self.sick > 0
    }

    /// The condition that it reports with a renewal now.
    pub(in crate::world) fn condition(&self, now: Timestamp) -> Health {
        let due = if self.is_unfit() { Health::Unhealthy } else { Health::Healthy };
        match self.health {
            Health::Unknown => due,
            told @ (Health::Healthy | Health::Unhealthy) if now < self.reports => told,
            Health::Healthy | Health::Unhealthy => due,
        }
    }

    /// Whether it changes what the API server has of its Node with a renewal now.
    pub(in crate::world) fn brings_news(&self, now: Timestamp) -> bool {
        let is_new = self.health != self.condition(now) || self.has_pressure != self.pressure(now);
        self.is_missed || self.registers || is_new
    }

    /// What it reports of the disk with a renewal now.
    pub(in crate::world) fn pressure(&self, now: Timestamp) -> bool {
        let (has_pressure, from) = self.pressure;
        if now >= from { has_pressure } else { self.has_pressure }
    }

    /// It reports from then on that the disk is full, or that it is not.
    pub(in crate::world) const fn report_pressure(&mut self, has_pressure: bool, from: Timestamp) {
        self.pressure = (has_pressure, from);
    }

    /// From when on it reports something else than before, as far as that comes after `now`.
    pub(in crate::world) fn reports_after(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> + use<> {
        let (_, pressure) = self.pressure;
        [self.reports, pressure].into_iter().filter(move |from| *from > now && *from != NEVER)
    }

    /// Its host has lost the network, or also its power.
    pub(in crate::world) fn lose(&mut self, has_power: bool) {
        self.reached = NEVER;
        self.is_missed = true;
        if !has_power {
            self.since = NEVER;
        }
    }

    /// It ends, and does not start again with its host.
    pub(in crate::world) fn stop(&mut self) {
        self.since = NEVER;
        self.runs = false;
        self.is_missed = true;
    }

    /// It starts with its host from now on.
    pub(in crate::world) const fn enable(&mut self) {
        self.runs = true;
    }

    /// It starts, and tries to renew first at `first`.
    pub(in crate::world) const fn start(&mut self, first: Timestamp, registers: bool) {
        self.since = first;
        self.registers = registers;
    }

    /// Its host is connected since then.
    pub(in crate::world) const fn reach(&mut self, since: Timestamp) {
        self.reached = since;
    }

    /// Its host is connected again. Returns whether that is enough for it to be back.
    pub(in crate::world) fn connect(&mut self, now: Timestamp) -> bool {
        self.reached = now;
        let is_well = self.health == Health::Healthy && !self.is_unfit() && !self.registers;
        let is_back = self.since <= now && is_well;
        if is_back {
            self.is_missed = false;
        }
        is_back
    }

    /// Something that it needs stops or starts. Returns whether that changes anything.
    pub(in crate::world) const fn starve(&mut self, is_starved: bool) -> bool {
        let changes = self.is_starved != is_starved;
        self.is_starved = is_starved;
        changes
    }

    /// One fault more, or one less, lets it report that its Node is not ready.
    pub(in crate::world) const fn sicken(&mut self, is_sick: bool) {
        self.sick = if is_sick { self.sick.saturating_add(1) } else { self.sick.saturating_sub(1) };
    }

    /// It reports only from then on whether there is a reason for which its Node is not ready.
    pub(in crate::world) const fn report_from(&mut self, reports: Timestamp) {
        self.reports = reports;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBELET: Kubelet = Kubelet::running(Timestamp::from_millis(3_000));

    #[test]
    fn a_kubelet_tries_every_ten_seconds() {
        let tries: Vec<u64> =
            (0..40_000).filter(|at| KUBELET.tries_at(Timestamp::from_millis(*at))).collect();
        assert_eq!(tries, [3_000, 13_000, 23_000, 33_000]);
        for (from, first) in [(0, 3_000), (3_000, 3_000), (3_001, 13_000), (13_000, 13_000)] {
            assert_eq!(KUBELET.try_from(Timestamp::from_millis(from)), Some(Timestamp::from_millis(first)));
        }
        for (until, last) in
            [(2_999, None), (3_000, Some(3_000)), (12_999, Some(3_000)), (13_000, Some(13_000))]
        {
            assert_eq!(KUBELET.try_until(Timestamp::from_millis(until)), last.map(Timestamp::from_millis));
        }
    }

    #[test]
    fn what_is_tried_without_a_network_or_a_kubelet_does_not_count() {
        let back = Kubelet { reached: Timestamp::from_millis(13_000), ..KUBELET };
        assert_eq!(back.try_until(Timestamp::from_millis(22_999)), None);
        assert_eq!(back.try_until(Timestamp::from_millis(23_000)), Some(Timestamp::from_millis(23_000)));
        let (cut, off) = (Kubelet { reached: NEVER, ..KUBELET }, Kubelet { since: NEVER, ..KUBELET });
        assert_eq!([cut, off].map(|kubelet| kubelet.try_until(Timestamp::from_millis(50_000))), [None; 2]);
        assert!(!off.tries_at(Timestamp::from_millis(50_000)));
        assert_eq!(off.try_from(Timestamp::from_millis(50_000)), None);
    }
}
