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

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Blocker;

use crate::rows::standing::Derived;
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::limits::Limits;

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
    /// The limits of the disruption policies.
    pub(crate) limits: Limits,
}

impl Ledger {
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
        add(&mut self.untouched, row.untouched);
        add(&mut self.sick_untouched, row.sick && row.untouched);
        self.limits.apply(row, add);
    }

    /// Takes a row out of its failure domains: the policies are other ones.
    pub(crate) fn leave_domains(&mut self, row: &Derived) {
        self.limits.apply(row, |counter, is| *counter -= u32::from(is));
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

    /// Opens or closes the breaker. It closes below four fifths of the limit, so that it does not flap. A limit of one has no
    /// room for that: the breaker of a small fleet with a dead machine would never close. While all rows are recounted it
    /// stays as it is.
    pub(crate) fn weigh_breaker(&mut self) {
        if self.is_recounting {
            return;
        }
        let (sick, limit) = (u64::from(self.ledger.sick), u64::from(self.breaker_limit()));
        let stays_open = self.ledger.is_open && limit > 1 && sick * 5 >= limit * 4;
        let is_open = sick > limit || stays_open;
        if core::mem::replace(&mut self.ledger.is_open, is_open) != is_open {
            self.touch_owners(Priority::Urgent);
            if !is_open {
                self.release_stopped();
            }
        }
    }

    /// Remembers on how many machines work began within the last hour and the last day.
    pub(crate) fn recall_begun(&mut self) {
        for owner in self.owners().collect::<Vec<_>>() {
            let begun = self.charter(owner).map(|charter| charter.status.begun.clone()).unwrap_or_default();
            self.ledger.limits.recall(&begun, self.now);
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
    fn machines_that_are_not_compared_excuse_no_others() {
        let lost = Derived { live: true, sick: true, lost: true, ..Derived::NONE };
        let fell = Derived { live: true, sick: true, touched: true, fell: true, ..Derived::NONE };
        let well = Derived { live: true, untouched: true, ..Derived::NONE };
        let mut ledger = Ledger::default();
        for (row, count) in [(&lost, 4), (&fell, 5), (&well, 11)] {
            (0..count).for_each(|_| ledger.count(row));
        }
        assert_eq!(ledger.charged(), 5);
        (0..4).for_each(|_| ledger.count(&Derived { sick: true, ..well.clone() }));
        assert_eq!(ledger.charged(), 4, "others are unavailable that nobody worked on");
    }
}
