//! Kubelets: each renews the lease of its Node every ten seconds while its host runs, and reports that it is ready when
//! the first renewal succeeds.
//!
//! In folded mode, only renewals that may change something are events: the first ones after a host was lost or a kubelet
//! started, and those that bring a delayed report. The time of any other renewal follows from when the kubelet started
//! and when it could be reached. In explicit mode, every renewal is an event, and the stored times are the truth.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::node::Health;

use crate::options::Heartbeats;
use crate::vocabulary::{Occasion, START};
use crate::world::World;
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::node::{Fitness, Kubelet, PERIOD, PERIOD_MILLIS};

/// Between the boot of a host and a kubelet that is ready.
const STARTUP: Span = Span::millis(10_000, 40_000);
/// Between the start of a kubelet and its first renewal.
const RESTART: Span = Span::millis(2_000, 20_000);

impl World {
    /// Every kubelet that is there runs already, and has renewed its lease within the last period.
    pub(in crate::world) fn start_kubelets(&mut self) {
        if !self.scenario.fleet.nodes {
            return;
        }
        for number in 0..self.scenario.fleet.machines {
            let before = self.draws.below(word("renewal"), u64::from(number), 0, PERIOD_MILLIS);
            let mut kubelet = Kubelet::running(START - Duration::from_millis(before));
            let fitness = self.fitness(number);
            kubelet.starve(fitness == Fitness::Starved);
            kubelet.health = kubelet.condition(START);
            if fitness == Fitness::Absent {
                kubelet = Kubelet::missing();
            }
            self.kubelets.push(kubelet);
            if !kubelet.runs() {
                continue;
            }
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

    /// A kubelet may report something else from then on. In folded mode, its first try from then on is an event.
    fn plan_report(&mut self, host: u32, from: Timestamp) {
        let kubelet = self.kubelets.get(host as usize).filter(|_| !self.is_explicit());
        if let Some(next) = kubelet.and_then(|kubelet| kubelet.try_from(from)) {
            self.plan_renewal(next, host);
        }
    }

    /// A host has lost its power or the network.
    pub(in crate::world) fn host_lost(&mut self, number: u32) {
        self.note_occasion(Occasion::HostLost);
        let is_on = self.hosts[number as usize].is_on();
        self.kubelet_lost(number, |kubelet| kubelet.lose(is_on));
    }

    /// A kubelet renews its lease no more, from now on.
    pub(in crate::world) fn kubelet_lost(&mut self, number: u32, lose: impl FnOnce(&mut Kubelet)) {
        if !self.disturbance.lies.contains_key(&number) {
            self.happened(&Happening::HostLost(number));
        }
        let renewed = self.renewed(number);
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        lose(kubelet);
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
        let is_reachable = self.is_node_connected(number);
        if let Some(kubelet) = self.kubelets.get_mut(number as usize).filter(|_| is_reachable) {
            kubelet.reach(now);
        }
        self.software_changed(number);
        self.start_kubelet(number, now + boot + startup);
    }

    /// The kubelet of a host that is up starts, and tries to renew first at `first`, unless it runs already.
    fn start_kubelet(&mut self, number: u32, first: Timestamp) {
        let registers = self.software.has_kubelet();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        if kubelet.runs() && kubelet.since == Timestamp::MAX {
            kubelet.start(first, registers);
            let delayed = kubelet.reports_after(first);
            self.plan_renewal(first, number);
            // What was planned before it started was meant for tries at other times.
            for from in delayed {
                self.plan_report(number, from);
            }
        }
    }

    /// The kubelet of a host that is up is started, or started anew.
    pub(in crate::world) fn kubelet_started(&mut self, number: u32) {
        let now = self.queue.now();
        let startup = self.draws.within(word("kubelet"), u64::from(number), now.millis(), RESTART);
        self.start_kubelet(number, now + startup);
    }

    /// A host is connected again.
    pub(in crate::world) fn host_connected(&mut self, number: u32) {
        let now = self.queue.now();
        if !self.is_node_connected(number) {
            return;
        }
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        let is_back = kubelet.connect(now);
        if is_back {
            self.happened(&Happening::HostBack(number));
        }
        self.plan_report(number, now + Duration::from_millis(1));
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
        } else if let Some(next) = kubelet.try_from(answers_at).filter(|_| is_reachable && !arrives) {
            self.plan_renewal(next, number);
        }
        self.happened(&Happening::NodeRenewal(arrives));
        if arrives {
            self.api_servers.home_mut().renew_node_lease(number, now);
            if kubelet.brings_news(now) {
                self.kubelet_reports(number);
            }
        }
    }

    /// A kubelet is back, or reports another condition of its Node than before.
    fn kubelet_reports(&mut self, number: u32) {
        let now = self.queue.now();
        let kubelet = &mut self.kubelets[number as usize];
        kubelet.is_missed = false;
        let registers = std::mem::take(&mut kubelet.registers);
        let was_watched = kubelet.health != Health::Unknown;
        let condition = kubelet.condition(now);
        if condition == Health::Healthy && !kubelet.is_unfit() {
            self.happened(&Happening::HostBack(number));
        }
        let kubelet = &mut self.kubelets[number as usize];
        let pressure = kubelet.pressure(now);
        let is_other = std::mem::replace(&mut kubelet.has_pressure, pressure) != pressure;
        let is_told = kubelet.health == condition;
        self.judge_node(number, condition);
        if is_other && is_told {
            self.post_condition(number);
        }
        if registers {
            self.register_node(number);
        }
        if self.is_explicit() && !was_watched {
            self.plan_expiry(number);
        }
    }

    /// The reasons for which a kubelet reports that its Node is not ready have changed. It reports that after `delay`,
    /// with the next renewal.
    pub(in crate::world) fn condition_changes(&mut self, number: u32, was_unfit: bool, delay: Duration) {
        let now = self.queue.now();
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        let is_unfit = kubelet.is_unfit();
        if was_unfit == is_unfit {
            return;
        }
        let reports = now + delay;
        kubelet.report_from(reports);
        let is_unnoticed = kubelet.health == Health::Healthy && !kubelet.is_missed;
        if is_unfit && !self.disturbance.lies.contains_key(&number) {
            self.happened(&Happening::HostLost(number));
        } else if !is_unfit && is_unnoticed {
            self.happened(&Happening::HostBack(number));
        }
        self.plan_report(number, reports);
    }

    /// Whether a kubelet runs, and reaches the API server.
    pub(in crate::world) fn is_kubelet_connected(&self, number: u32) -> bool {
        let kubelet = self.kubelets.get(number as usize);
        kubelet.is_some_and(|kubelet| kubelet.is_reachable() && kubelet.since <= self.now())
    }

    /// The disk of a host is full, or has room again. Its kubelet reports that after `delay`, with the next renewal.
    pub(in crate::world) fn pressure_changes(&mut self, number: u32, is_full: bool, delay: Duration) {
        let from = self.queue.now() + delay;
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        kubelet.report_pressure(is_full, from);
        self.plan_report(number, from);
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

#[cfg(test)]
mod tests;
