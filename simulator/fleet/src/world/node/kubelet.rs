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
    /// The time of its first try to renew, past or future. It tries again every [`PERIOD`]. [`NEVER`] while its host is
    /// off.
    pub(in crate::world) since: Timestamp,
    /// Since when its host is connected; [`NEVER`] while it is cut off.
    reached: Timestamp,
    /// The condition of its Node, unless a fault falsifies it.
    pub(in crate::world) health: Health,
    /// Whether its host was lost and no renewal has come since.
    pub(in crate::world) is_missed: bool,
}

impl Kubelet {
    /// A kubelet that has run since then.
    pub(in crate::world) const fn running(since: Timestamp) -> Self {
        Self { since, reached: Timestamp::ZERO, health: Health::Healthy, is_missed: false }
    }

    /// Whether it tries to renew at this very moment.
    pub(in crate::world) const fn tries_at(&self, now: Timestamp) -> bool {
        now.0 >= self.since.0 && (now.0 - self.since.0).is_multiple_of(PERIOD_MILLIS)
    }

    /// Its first try at `from` or later.
    pub(in crate::world) fn try_from(&self, from: Timestamp) -> Timestamp {
        let waited = from.0.saturating_sub(self.since.0);
        Timestamp(self.since.0.saturating_add(waited.div_ceil(PERIOD_MILLIS) * PERIOD_MILLIS))
    }

    /// Its last try at `until` or before, if there was one since its host became reachable. A try in the very instant
    /// of the reconnection is too early.
    pub(in crate::world) fn try_until(&self, until: Timestamp) -> Option<Timestamp> {
        let waited = until.0.checked_sub(self.since.0)?;
        let tried = Timestamp(until.0 - waited % PERIOD_MILLIS);
        (tried > self.reached).then_some(tried)
    }

    /// Whether it renewed then under the present network conditions: then it tries again before the lease expires.
    pub(in crate::world) fn is_steady(&self, renewed: Timestamp) -> bool {
        renewed > self.reached
    }

    /// Whether its host is connected.
    pub(in crate::world) fn is_reachable(&self) -> bool {
        self.reached != NEVER
    }

    /// Its host has lost the network, or also its power.
    pub(in crate::world) fn lose(&mut self, has_power: bool) {
        self.reached = NEVER;
        self.is_missed = true;
        if !has_power {
            self.since = NEVER;
        }
    }

    /// Its host is powered on: it tries to renew first at `first`. It is connected since `reached`, if it is.
    pub(in crate::world) fn start(&mut self, first: Timestamp, reached: Option<Timestamp>) {
        self.since = first;
        self.reached = reached.unwrap_or(self.reached);
    }

    /// Its host is connected again. Returns whether that is enough for it to be back.
    pub(in crate::world) fn connect(&mut self, now: Timestamp) -> bool {
        self.reached = now;
        let is_back = self.since <= now && self.health == Health::Healthy;
        if is_back {
            self.is_missed = false;
        }
        is_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBELET: Kubelet = Kubelet::running(Timestamp(3_000));

    #[test]
    fn a_kubelet_tries_every_ten_seconds() {
        let tries: Vec<u64> = (0..40_000).filter(|at| KUBELET.tries_at(Timestamp(*at))).collect();
        assert_eq!(tries, [3_000, 13_000, 23_000, 33_000]);
        for (from, first) in [(0, 3_000), (3_000, 3_000), (3_001, 13_000), (13_000, 13_000)] {
            assert_eq!(KUBELET.try_from(Timestamp(from)), Timestamp(first));
        }
        for (until, last) in
            [(2_999, None), (3_000, Some(3_000)), (12_999, Some(3_000)), (13_000, Some(13_000))]
        {
            assert_eq!(KUBELET.try_until(Timestamp(until)), last.map(Timestamp));
        }
    }

    #[test]
    fn what_is_tried_without_a_network_or_a_kubelet_does_not_count() {
        let back = Kubelet { reached: Timestamp(13_000), ..KUBELET };
        assert_eq!(back.try_until(Timestamp(22_999)), None);
        assert_eq!(back.try_until(Timestamp(23_000)), Some(Timestamp(23_000)));
        let (cut, off) = (Kubelet { reached: NEVER, ..KUBELET }, Kubelet { since: NEVER, ..KUBELET });
        assert_eq!([cut, off].map(|kubelet| kubelet.try_until(Timestamp(50_000))), [None; 2]);
        assert!(!off.tries_at(Timestamp(50_000)));
    }
}
