//! The ledger of disruption: how many machines may be worked on, and which ones count.
//!
//! A machine *claims* one unit of `maxUnavailable` from its grant, or from the start of any other work, until its host
//! was read at rest. Two rollouts on one machine pay once. Work on a machine that is unavailable anyway takes no unit:
//! it takes a place in the repair lane, which is as wide. Otherwise more broken machines than units would wait for each
//! other for ever. The same holds for machines that are to become Nodes: they have no pods yet.
//!
//! Machines that became unavailable after a rollout had changed them count as well, but only as far as more of them
//! are unavailable than of the machines that it has not changed: a zone that loses its power is not the rollout's
//! fault. All machines that are unavailable, and not because of our work, count for the *breaker*
//! (`pauseWhenUnavailable`), which stops what disrupts.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::config::{Config, DisruptionLimit, Domain};
use seaworthy_model::quantity::CountOrPercent;

use seaworthy_model::package_version::{Begun, FleetReason};
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::standing::Derived;
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::hourly::Hourly;

/// This share of all machines may be given up: their hosts were lost at work, and their units go to others. Those that
/// are lost beyond it keep their units.
const GIVEN_UP_MAX: CountOrPercent = CountOrPercent::Percent(10);

/// The most machines that are given up, however large the fleet: they stay in the record of their rollout.
const GIVEN_UP_COUNT_MAX: u32 = 8_192;

/// The counters of the ledger. They follow from the rows, and are kept incrementally.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) live: u32,
    known: u32,
    claims: u32,
    failed: u32,
    laned: u32,
    lost: u32,
    touched: u32,
    untouched: u32,
    fell: u32,
    sick: u32,
    sick_untouched: u32,
    /// Whether the breaker is open.
    is_open: bool,
    limits: Vec<Limit>,
}

/// A limit besides `maxUnavailable`.
#[derive(Clone, Debug)]
struct Limit {
    terms: DisruptionLimit,
    /// What its domain is called in a record.
    name: Arc<str>,
    /// The machines, by the value of the domain.
    usages: BTreeMap<Arc<str>, Usage>,
}

/// The machines of one failure domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Usage {
    live: u32,
    claims: u32,
    /// On how many of them work began lately.
    begun: Hourly,
}

/// Whether work may begin on one more machine, as far as its failure domains are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DomainRoom {
    /// It may.
    Free,
    /// Not before one of those at work has ended.
    Full,
    /// Not before this time: it began on so many within the last hour.
    FullUntil(Timestamp),
}

impl Limit {
    const fn is_hourly(&self) -> bool {
        self.terms.per_hour.is_some()
    }
}

/// How many of these machines have this value of the domain of a limit.
fn count_in(machines: &[Arc<[Arc<str>]>], limit: usize, value: &Arc<str>) -> u32 {
    let those = machines.iter().filter(|domains| domains.get(limit) == Some(value));
    u32::try_from(those.count()).unwrap_or(u32::MAX)
}

impl DomainRoom {
    const fn until(self) -> Option<Timestamp> {
        if let Self::FullUntil(until) = self { Some(until) } else { None }
    }
}

impl Ledger {
    /// Takes over the limits of the configuration.
    pub(crate) fn configure(&mut self, config: &Config) {
        let limits = config.disruption_limits.iter().cloned();
        let limits = limits.map(|terms| Limit { name: terms.domain.name(), terms, usages: BTreeMap::new() });
        self.limits = limits.collect();
    }

    /// The failure domains of a machine, one for each limit; empty where it is in none.
    pub(crate) fn domains_of(&self, machine: &Machine) -> Option<Arc<[Arc<str>]>> {
        if self.limits.is_empty() {
            return None;
        }
        let address = machine.spec().map(|spec| &spec.connection.address);
        let labels = machine.object.as_ref().map(|object| &object.labels);
        let domains = self.limits.iter().map(|limit| {
            let value = match &limit.terms.domain {
                Domain::Fleet => Some(&limit.name),
                Domain::Idc => address.map(|address| &address.idc),
                Domain::Rack => address.map(|address| &address.rack),
                Domain::Label(key) => labels.and_then(|labels| labels.get(key)),
            };
            value.cloned().unwrap_or_default()
        });
        Some(domains.collect())
    }

    /// Counts a row.
    pub(crate) fn count(&mut self, row: &Derived) {
        self.apply(row, |counter, is| *counter += u32::from(is));
    }

    /// Takes a row out.
    pub(crate) fn uncount(&mut self, row: &Derived) {
        self.apply(row, |counter, is| *counter -= u32::from(is));
    }

    fn apply(&mut self, row: &Derived, add: impl Fn(&mut u32, bool)) {
        add(&mut self.live, row.live);
        add(&mut self.known, row.known);
        add(&mut self.claims, row.claims);
        add(&mut self.failed, row.failed);
        add(&mut self.laned, row.laned);
        add(&mut self.lost, row.lost);
        add(&mut self.touched, row.touched);
        add(&mut self.fell, row.fell);
        add(&mut self.sick, row.sick);
        // A machine that was lost at work is nobody to compare with: the work may be why it is lost.
        let untouched = !row.touched && !row.lost;
        add(&mut self.untouched, row.live && untouched);
        add(&mut self.sick_untouched, row.sick && untouched);
        let domains = row.domains.iter().flat_map(|domains| domains.iter());
        for (limit, domain) in self.limits.iter_mut().zip(domains).filter(|(_, domain)| !domain.is_empty()) {
            let usage = limit.usages.entry(Arc::clone(domain)).or_default();
            add(&mut usage.live, row.live);
            add(&mut usage.claims, row.claims);
        }
    }

    /// Work begins on a machine with these domains.
    pub(crate) fn begin(&mut self, row: &Derived, now: Timestamp) {
        let domains = row.domains.iter().flat_map(|domains| domains.iter());
        let limits = self.limits.iter_mut().zip(domains);
        for (limit, domain) in limits.filter(|(limit, domain)| limit.is_hourly() && !domain.is_empty()) {
            limit.usages.entry(Arc::clone(domain)).or_default().begun.add(1, now);
        }
    }

    /// Takes over what a record says of the last hour.
    pub(crate) fn recall(&mut self, record: &[Begun], now: Timestamp) {
        for limit in self.limits.iter_mut().filter(|limit| limit.is_hourly()) {
            for begun in record.iter().filter(|begun| begun.domain == limit.name) {
                let usage = limit.usages.entry(Arc::clone(&begun.value)).or_default();
                usage.begun.recall(begun.since, begun.machines, now);
            }
        }
    }

    /// What a record has to say of the last hour, if work begins now on machines with these domains as well.
    pub(crate) fn begun(&self, granted: &[Arc<[Arc<str>]>], now: Timestamp) -> Vec<Begun> {
        let mut all = Vec::new();
        for (index, limit) in self.limits.iter().enumerate().filter(|(_, limit)| limit.is_hourly()) {
            for (value, usage) in &limit.usages {
                let mut hourly = usage.begun.clone();
                match count_in(granted, index, value) {
                    0 => {}
                    machines => hourly.add(machines, now),
                }
                all.extend(hourly.recent(now).map(|(since, machines)| Begun {
                    domain: Arc::clone(&limit.name),
                    value: Arc::clone(value),
                    since,
                    machines,
                }));
            }
        }
        all.sort_unstable();
        all.truncate(Begun::MAX);
        all
    }

    /// How many of the machines that fell are charged to the rollouts: those beyond the share of the untouched machines
    /// that are unavailable, of which one is put down to chance.
    fn charged(&self) -> u32 {
        if self.untouched == 0 || self.sick_untouched == 0 {
            return self.fell;
        }
        let expected = self.touched as u64 * (self.sick_untouched - 1) as u64 / self.untouched as u64;
        if expected >= self.fell as u64 { 0 } else { self.fell - expected as u32 }
    }
}

impl World {
    /// Units of the budget that there are.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.fleet.max_unavailable().of(self.live())
    }

    /// Units of the budget that are taken.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.ledger.claims + self.ledger.charged()
    }

    /// Machines that claim a unit.
    #[must_use]
    pub const fn claims(&self) -> u32 {
        self.ledger.claims
    }

    /// Machines on which the release of a rollout has failed. Each keeps its unit.
    #[must_use]
    pub const fn failed(&self) -> u32 {
        self.ledger.failed
    }

    /// Machines in the repair lane. It has as many places as the budget has units.
    #[must_use]
    pub const fn laned(&self) -> u32 {
        self.ledger.laned
    }

    /// Machines that became unavailable after a rollout under way had changed them.
    #[must_use]
    pub const fn fallen(&self) -> u32 {
        self.ledger.fell
    }

    /// Machines that are not being deleted: the total of which percentages are taken.
    #[must_use]
    pub const fn live(&self) -> u32 {
        self.ledger.live
    }

    /// Machines that were set up once.
    #[must_use]
    pub const fn known(&self) -> u32 {
        self.ledger.known
    }

    /// Machines that are unavailable, and not because of our work.
    #[must_use]
    pub const fn sick(&self) -> u32 {
        self.ledger.sick
    }

    /// Why nothing that disrupts is started, if too many machines are unavailable for reasons of their own.
    #[must_use]
    pub fn breaker(&self) -> Option<Blocker> {
        let limit = self.breaker_limit();
        self.ledger.is_open.then_some(Blocker::TooManyUnavailable { unavailable: self.ledger.sick, limit })
    }

    /// Whether one more lost machine may be given up.
    pub(crate) fn may_give_up(&self) -> bool {
        self.ledger.lost < GIVEN_UP_MAX.of(self.live()).min(GIVEN_UP_COUNT_MAX)
    }

    /// How long an operation may go on out of our sight, from its order on: the deadline of the order, and the longest that
    /// any version allows its probes and its confirmation. Twice, since the host may have to restore the former release.
    #[must_use]
    pub fn longest_operation(&self, config: &Config) -> Duration {
        let contents =
            self.versions.iter().filter_map(|version| Some(&version.object()?.spec.as_ref().ok()?.content));
        let longest = contents.map(|content| {
            let probe = content.probe.as_ref().map_or(0, |probe| u64::from(probe.deadline_seconds));
            let window = content.confirm.map_or(Duration::ZERO, |confirm| confirm.window());
            Duration::from_secs(probe) + window
        });
        (config.apply_deadline + longest.max().unwrap_or_default()) * 2
    }

    /// Whether there is room in every failure domain of a machine, besides what `planned` takes there.
    pub(crate) fn room_in_domains(&self, machine: &Machine, planned: &[Arc<[Arc<str>]>]) -> DomainRoom {
        let Some(domains) = &machine.derived.domains else { return DomainRoom::Free };
        let mut room = DomainRoom::Free;
        for (index, (limit, domain)) in self.ledger.limits.iter().zip(domains.iter()).enumerate() {
            let Some(usage) = limit.usages.get(domain) else { continue };
            let planned = count_in(planned, index, domain);
            let taken = usage.claims - u32::from(machine.claims());
            if planned.saturating_add(taken) >= limit.terms.in_flight.of(usage.live) {
                return DomainRoom::Full;
            }
            let hourly = limit.terms.per_hour.map_or(u32::MAX, |most| most.of(usage.live));
            if planned.saturating_add(usage.begun.count(self.now)) >= hourly {
                let until = usage.begun.falls_at(self.now).unwrap_or(self.now);
                room = DomainRoom::FullUntil(room.until().map_or(until, |other| other.max(until)));
            }
        }
        room
    }

    /// Opens or closes the breaker. It closes below four fifths of the limit, so that it does not flap. While all rows
    /// are recounted it stays as it is.
    pub(crate) fn weigh_breaker(&mut self) {
        if self.is_recounting {
            return;
        }
        let (sick, limit) = (u64::from(self.ledger.sick), u64::from(self.breaker_limit()));
        let is_open = if self.ledger.is_open { sick * 5 >= limit * 4 } else { sick > limit };
        if core::mem::replace(&mut self.ledger.is_open, is_open) != is_open {
            self.touch_owners(Priority::Urgent);
            if !is_open {
                self.release_stopped();
            }
        }
    }

    /// Remembers on how many machines work began within the last hour.
    pub(crate) fn recall_begun(&mut self) {
        for owner in self.owners().collect::<Vec<_>>() {
            let begun = self.charter(owner).map(|charter| charter.status.begun.clone()).unwrap_or_default();
            self.ledger.recall(&begun, self.now);
        }
    }

    /// Remembers that the breaker was open when the record was written: only fewer unavailable machines close it.
    pub(crate) fn recall_breaker(&mut self) {
        let conditions = self.fleet.object().map_or(&[][..], |object| &object.status.conditions);
        if conditions.iter().any(|condition| condition.reason == FleetReason::TooManyUnavailable) {
            self.ledger.is_open = true;
        }
    }

    /// The limit has changed: whether the breaker is open does not depend on the former one.
    pub(crate) fn reset_breaker(&mut self) {
        self.ledger.is_open = false;
        self.weigh_breaker();
    }

    /// How many machines may be unavailable before the breaker opens.
    pub(crate) fn breaker_limit(&self) -> u32 {
        self.fleet.pause_when_unavailable().of(self.ledger.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(live: u32, touched: u32, fell: u32, sick_untouched: u32) -> Ledger {
        Ledger { live, touched, untouched: live - touched, fell, sick_untouched, ..Ledger::default() }
    }

    #[test]
    fn what_befalls_the_others_as_well_is_not_charged() {
        assert_eq!(ledger(10_000, 5_000, 1_500, 1_501).charged(), 0, "a zone is lost");
        assert_eq!(ledger(10_000, 5_000, 500, 0).charged(), 500, "only what was changed breaks");
        assert_eq!(ledger(10_000, 5_000, 500, 51).charged(), 450);
        assert_eq!(ledger(10, 5, 1, 1).charged(), 1, "one of the others is down by chance");
        assert_eq!(ledger(10, 10, 2, 0).charged(), 2, "there is nobody to compare with");
    }

    #[test]
    fn machines_that_were_lost_at_work_excuse_no_others() {
        let lost = Derived { live: true, sick: true, lost: true, ..Derived::NONE };
        let fell = Derived { live: true, sick: true, touched: true, fell: true, ..Derived::NONE };
        let well = Derived { live: true, ..Derived::NONE };
        let mut ledger = Ledger::default();
        for (row, count) in [(&lost, 4), (&fell, 5), (&well, 11)] {
            (0..count).for_each(|_| ledger.count(row));
        }
        assert_eq!(ledger.charged(), 5);
        (0..4).for_each(|_| ledger.count(&Derived { lost: false, ..lost.clone() }));
        assert_eq!(ledger.charged(), 4, "others are unavailable that nobody worked on");
    }
}
