//! Kubelets: each renews the lease of its Node every ten seconds while its host runs, and reports that it is ready when
//! the first renewal succeeds.
//!
//! In folded mode, only renewals that may change something are events: the first ones after a host was lost. The time
//! of any other renewal follows from when the kubelet started and when it could be reached. In explicit mode, every
//! renewal is an event, and the stored times are the truth.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::node::Health;

use crate::options::Heartbeats;
use crate::vocabulary::{Occasion, START};
use crate::world::World;
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::node::{Kubelet, PERIOD, PERIOD_MILLIS};

/// Between the boot of a host and a kubelet that is ready.
const STARTUP: Span = Span::millis(10_000, 40_000);
impl World {
    /// Every kubelet runs already, and has renewed its lease within the last period.
    pub(in crate::world) fn start_kubelets(&mut self) {
        if !self.scenario.fleet.nodes {
            return;
        }
        for number in 0..self.scenario.fleet.machines {
            let before = self.draws.below(word("renewal"), u64::from(number), 0, PERIOD_MILLIS);
            let kubelet = Kubelet::running(START - Duration::from_millis(before));
            self.kubelets.push(kubelet);
            self.api_servers.home_mut().renew_node_lease(number, kubelet.since);
            if self.is_explicit() {
                self.plan_renewal(kubelet.since + PERIOD, number);
                self.plan_expiry(number);
            }
        }
    }

    pub(in crate::world) fn is_explicit(&self) -> bool {
        self.options.heartbeats == Heartbeats::Explicit
    }

    fn plan_renewal(&mut self, at: Timestamp, host: u32) {
        self.queue.at_rank(at, Priority::PERIODIC, host, Event::Renewal { host });
    }

    /// A host has lost its power or the network.
    pub(in crate::world) fn host_lost(&mut self, number: u32) {
        self.note_occasion(Occasion::HostLost);
        if !self.disturbance.lies.contains_key(&number) {
            self.happened(&Happening::HostLost(number));
        }
        let renewed = self.renewed(number);
        let is_on = self.hosts[number as usize].is_on();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        kubelet.lose(is_on);
        if !self.is_explicit() {
            self.api_servers.home_mut().renew_node_lease(number, renewed);
            self.plan_expiry(number);
        }
    }

    /// A host is powered on, and has booted after `boot`.
    pub(in crate::world) fn host_on(&mut self, number: u32, boot: Duration) {
        let boots = self.hosts[number as usize].boot().0 as u64;
        let startup = self.draws.within(word("ready"), u64::from(number), boots, STARTUP);
        let now = self.queue.now();
        let is_reachable = self.hosts[number as usize].is_reachable();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        let first = now + boot + startup;
        kubelet.start(first, is_reachable.then_some(now));
        self.plan_renewal(first, number);
    }

    /// A host is connected again.
    pub(in crate::world) fn host_connected(&mut self, number: u32) {
        let now = self.queue.now();
        if !self.hosts[number as usize].is_reachable() {
            return;
        }
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        let is_back = kubelet.connect(now);
        let next = kubelet.try_from(now + Duration::from_millis(1));
        if is_back {
            self.happened(&Happening::HostBack(number));
        }
        if !self.is_explicit() {
            self.plan_renewal(next, number);
        }
    }

    /// A kubelet tries to renew its lease.
    pub(in crate::world) fn renewal(&mut self, number: u32) {
        let (now, is_explicit) = (self.queue.now(), self.is_explicit());
        let kubelet = self.kubelets[number as usize];
        // The event may belong to an earlier kubelet, or be the second one of this try.
        if !kubelet.tries_at(now) || self.api_servers.home().node_renewed(number) == now {
            return self.queue.discount();
        }
        let answers_at = self.disturbance.api_down;
        let is_reachable = kubelet.is_reachable();
        let arrives = is_reachable && now >= answers_at;
        if is_explicit {
            self.plan_renewal(now + PERIOD, number);
        } else if is_reachable && !arrives {
            self.plan_renewal(kubelet.try_from(answers_at), number);
        }
        self.happened(&Happening::NodeRenewal(arrives));
        if arrives {
            self.api_servers.home_mut().renew_node_lease(number, now);
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
    pub(in crate::world) fn renewed(&self, number: u32) -> Timestamp {
        let stored = self.api_servers.home().node_renewed(number);
        let kubelet = self.kubelets.get(number as usize).filter(|_| !self.is_explicit());
        kubelet.and_then(|kubelet| kubelet.try_until(self.queue.now())).unwrap_or(stored)
    }
}
