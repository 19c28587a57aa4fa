//! Kubelets: each renews the lease of its Node every ten seconds while its host runs, and reports that it is ready when
//! the first renewal succeeds.
//!
//! In folded mode, only renewals that may change something are events: the first ones after a host was lost. The time
//! of any other renewal follows from when the kubelet started and when it could be reached. In explicit mode, every
//! renewal is an event, and the stored times are the truth.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::node::Health;

use super::World;
use super::event::Event;
use super::happening::Happening;
use crate::options::Heartbeats;
use crate::vocabulary::{Occasion, START};

/// A kubelet tries to renew its lease this often: a quarter of its `nodeLeaseDurationSeconds`, which are 40. That
/// client-go adds up to 4 % to each wait is left out.
pub(super) const PERIOD: Duration = Duration::from_secs(10);
const PERIOD_MILLIS: u64 = PERIOD.as_secs() * 1000;
/// Between the boot of a host and a kubelet that is ready.
const STARTUP: Span = Span::millis(10_000, 40_000);
/// The time of an event that never happens.
const NEVER: Timestamp = Timestamp::MAX;

/// The kubelet of a host, and the true condition of its Node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kubelet {
    /// The time of its first try to renew, past or future. It tries again every [`PERIOD`]. [`NEVER`] while its host is
    /// off.
    since: Timestamp,
    /// Since when its host is connected; [`NEVER`] while it is cut off.
    reached: Timestamp,
    /// The condition of its Node, unless a fault falsifies it.
    pub(super) health: Health,
    /// Whether its host was lost and no renewal has come since.
    pub(super) is_missed: bool,
}

impl Kubelet {
    /// A kubelet that has run since then.
    const fn running(since: Timestamp) -> Self {
        Self { since, reached: Timestamp::ZERO, health: Health::Healthy, is_missed: false }
    }

    /// Whether it tries to renew at this very moment.
    const fn tries_at(&self, now: Timestamp) -> bool {
        now.0 >= self.since.0 && (now.0 - self.since.0).is_multiple_of(PERIOD_MILLIS)
    }

    /// Its first try at `from` or later.
    fn try_from(&self, from: Timestamp) -> Timestamp {
        let waited = from.0.saturating_sub(self.since.0);
        Timestamp(self.since.0.saturating_add(waited.div_ceil(PERIOD_MILLIS) * PERIOD_MILLIS))
    }

    /// Its last try at `until` or before, if there was one since its host became reachable. A try in the very instant
    /// of the reconnection is too early.
    fn try_until(&self, until: Timestamp) -> Option<Timestamp> {
        let waited = until.0.checked_sub(self.since.0)?;
        let tried = Timestamp(until.0 - waited % PERIOD_MILLIS);
        (tried > self.reached).then_some(tried)
    }

    /// Whether it renewed then under the present network conditions: then it tries again before the lease expires.
    pub(super) fn is_steady(&self, renewed: Timestamp) -> bool {
        renewed > self.reached
    }
}

impl World {
    /// Every kubelet runs already, and has renewed its lease within the last period.
    pub(super) fn start_kubelets(&mut self) {
        if !self.scenario.fleet.nodes {
            return;
        }
        for number in 0..self.scenario.fleet.machines {
            let before = self.draws.below(word("renewal"), u64::from(number), 0, PERIOD_MILLIS);
            let kubelet = Kubelet::running(START - Duration::from_millis(before));
            self.kubelets.push(kubelet);
            self.api.renew_node_lease(number, kubelet.since);
            if self.is_explicit() {
                self.plan_renewal(kubelet.since + PERIOD, number);
                self.plan_expiry(number);
            }
        }
    }

    pub(super) fn is_explicit(&self) -> bool {
        self.options.heartbeats == Heartbeats::Explicit
    }

    fn plan_renewal(&mut self, at: Timestamp, host: u32) {
        self.queue.at_rank(at, Priority::PERIODIC, host, Event::Renewal { host });
    }

    /// A host has lost its power or the network.
    pub(super) fn host_lost(&mut self, number: u32) {
        self.note_occasion(Occasion::HostLost);
        if !self.disturbance.lies.contains_key(&number) {
            self.happened(&Happening::HostLost(number));
        }
        let renewed = self.renewed(number);
        let is_on = self.hosts[number as usize].is_on();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        kubelet.reached = NEVER;
        kubelet.is_missed = true;
        if !is_on {
            kubelet.since = NEVER;
        }
        if !self.is_explicit() {
            self.api.renew_node_lease(number, renewed);
            self.plan_expiry(number);
        }
    }

    /// A host is powered on, and has booted after `boot`.
    pub(super) fn host_on(&mut self, number: u32, boot: Duration) {
        let boots = self.hosts[number as usize].boot().0 as u64;
        let startup = self.draws.within(word("ready"), u64::from(number), boots, STARTUP);
        let now = self.queue.now();
        let is_reachable = self.hosts[number as usize].is_reachable();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        kubelet.since = now + boot + startup;
        if is_reachable {
            kubelet.reached = now;
        }
        let first = kubelet.since;
        self.plan_renewal(first, number);
    }

    /// A host is connected again.
    pub(super) fn host_connected(&mut self, number: u32) {
        let now = self.queue.now();
        if !self.hosts[number as usize].is_reachable() {
            return;
        }
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        kubelet.reached = now;
        let mut is_back = false;
        if kubelet.since <= now && kubelet.health == Health::Healthy {
            kubelet.is_missed = false;
            is_back = true;
        }
        let next = kubelet.try_from(now + Duration::from_millis(1));
        if is_back {
            self.happened(&Happening::HostBack(number));
        }
        if !self.is_explicit() {
            self.plan_renewal(next, number);
        }
    }

    /// A kubelet tries to renew its lease.
    pub(super) fn renewal(&mut self, number: u32) {
        let (now, is_explicit) = (self.queue.now(), self.is_explicit());
        let kubelet = self.kubelets[number as usize];
        // The event may belong to an earlier kubelet, or be the second one of this try.
        if !kubelet.tries_at(now) || self.api.node_renewed(number) == now {
            return self.queue.discount();
        }
        let answers_at = self.disturbance.api_down;
        let is_reachable = kubelet.reached != NEVER;
        let arrives = is_reachable && now >= answers_at;
        if is_explicit {
            self.plan_renewal(now + PERIOD, number);
        } else if is_reachable && !arrives {
            self.plan_renewal(kubelet.try_from(answers_at), number);
        }
        self.happened(&Happening::NodeRenewal(arrives));
        if arrives {
            self.api.renew_node_lease(number, now);
            if kubelet.is_missed || kubelet.health != Health::Healthy {
                self.kubelet_ready(number);
            }
        }
    }

    /// A host that was lost is back, and its kubelet reports it.
    fn kubelet_ready(&mut self, number: u32) {
        let kubelet = &mut self.kubelets[number as usize];
        kubelet.is_missed = false;
        let was_watched = kubelet.health != Health::Unknown;
        self.happened(&Happening::HostBack(number));
        self.judge_node(number, Health::Healthy);
        if self.is_explicit() && !was_watched {
            self.plan_expiry(number);
        }
    }

    /// The time of the last renewal of a lease. Renewals that are due in this instant have already happened. In folded
    /// mode, a try during an outage of the API server counts, because the judge of Nodes counts from the end of the
    /// outage anyway.
    pub(super) fn renewed(&self, number: u32) -> Timestamp {
        let stored = self.api.node_renewed(number);
        let kubelet = self.kubelets.get(number as usize).filter(|_| !self.is_explicit());
        kubelet.and_then(|kubelet| kubelet.try_until(self.queue.now())).unwrap_or(stored)
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
