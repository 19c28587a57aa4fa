//! The operator's own standing: Lease, epoch, what was listed.
//!
//! The rules are those of client-go's leader election. Times in the Lease are times of whoever wrote them, so they are
//! never compared with ours: we note by our own clock when we first saw the record as it is, and it has run out once it
//! has not changed for its duration since then. A holder counts from the moment at which it ordered the renewal, a
//! candidate from the moment at which it saw it; so the holder stops first, as long as no clock runs half as fast again
//! as another (15 s to 10 s).
//!
//! The Lease is not [`Tracked`](crate::Tracked) as other objects are: what a write of ours says counts from its reply on, and
//! not from its echo; while that is awaited the Lease is renewed all the same; and a watch that shows what was before the
//! write may turn out to be right, if the store was set back.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::detail::Regress;
use seaworthy_model::effect::ActionId;
use seaworthy_model::id::Kind;
use seaworthy_model::lease::{Epoch, LeaseObject, LeaseRecord};
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::runtime::retry::Retry;

/// The operator's own standing.
#[derive(Clone, Debug, Default)]
pub struct Leadership {
    /// The name by which the Lease knows this process.
    pub holder: String,
    /// How long we may act after a renewal.
    pub renew_deadline: Duration,
    /// The Lease, as last seen or as our own last write has left it, whichever is newer.
    pub lease: Option<Box<LeaseObject>>,
    /// The Lease was looked up, whether it exists or not.
    pub lease_seen: bool,
    /// When, by our clock, the Lease was first seen to say what it says; `None` when it was not looked at since.
    pub seen_at: Option<Timestamp>,
    /// When the last write that is known to have made or left us the holder was ordered; `None` when we are not.
    pub confirmed: Option<Timestamp>,
    /// We hold the Lease and have renewed it in time, as of the last `reconcile`: whatever else is in the way, we are
    /// who reports it.
    pub in_time: bool,
    /// We hold the Lease and could not renew it in time, as of the last `reconcile`.
    pub overdue: bool,
    /// What our last write of the Lease says, unless it is known to have failed or was seen.
    pub ordered: Option<Box<LeaseRecord>>,
    /// The epoch that we hold.
    pub epoch: Option<Epoch>,
    /// The epoch that our last taking of the Lease gives us, once it is known to have happened.
    pub taking: Option<Epoch>,
    /// How many orders to hosts were numbered in this epoch.
    pub sequence: u64,
    /// The action under way.
    pub action: Option<ActionId>,
    /// `resourceVersion` of our own last write of the Lease, until it was seen.
    pub written: Option<u64>,
    /// What a watch that lags behind our own last write shows.
    pub behind: Option<Box<LeaseObject>>,
    /// Pause after writes of the Lease that failed, and after `Watch` that did.
    pub retry: Retry,
    /// `Watch` was ordered since the epoch was taken (or, before that, to look at the machines).
    pub watching: bool,
    /// What was listed is too old for what is to be decided: `Watch` is to be ordered with the next turn.
    pub(crate) outdated: bool,
    /// How often `Watch` was ordered.
    pub lists: u64,
    /// When it was ordered last.
    pub listed_at: Timestamp,
    /// The kinds that were listed completely since `Watch` was ordered.
    synced: [bool; Kind::WATCHED.len()],
    /// Another operator has taken the Lease.
    pub stepped_down: Option<Epoch>,
    /// The process was asked to stop.
    pub stopping: bool,
    /// The Lease was let go, since the process is to stop.
    pub released: bool,
    /// We held the Lease, and it went away under us.
    pub lost: bool,
    /// The highest epoch that a host has seen, if it is higher than ours.
    pub ahead: Option<Epoch>,
}

impl Leadership {
    /// Takes in what time it is, and what it was before. True when we have become the holder, or are in time again after
    /// we were late: what waited for that may go on.
    pub(crate) fn tell_time(&mut self, before: Timestamp, now: Timestamp, config: &Config) -> bool {
        // Whoever wakes so late has slept, or its clock leapt: it has not watched the Lease for as long as it seems.
        let due = self.runs_out_at(config).map(|at| at.max(before).max(self.retry.not_before));
        if due.is_some_and(|due| now > due + config.retry_period) {
            self.seen_at = None;
        }
        self.seen_at.get_or_insert(now);
        let in_time = self.confirmed.is_some_and(|since| now < since + self.renew_deadline);
        self.overdue = self.confirmed.is_some() && !in_time;
        !core::mem::replace(&mut self.in_time, in_time) && in_time
    }

    /// What the Lease says, if it exists.
    #[must_use]
    pub fn record(&self) -> Option<&LeaseRecord> {
        self.lease.as_ref().map(|lease| &lease.record)
    }

    /// Whether the Lease names us.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.record().is_some_and(|record| record.is_of(&self.holder))
    }

    /// Whether the process is to stop and has the Lease still to let go: it should live until it has tried, if that is soon.
    #[must_use]
    pub fn is_to_let_go(&self) -> bool {
        self.stopping && self.stepped_down.is_none() && self.is_holder() && !self.released
    }

    /// What the Lease says, if it names somebody else.
    #[must_use]
    pub fn other_holder(&self) -> Option<&LeaseRecord> {
        self.record().filter(|record| !record.is_free() && record.holder != self.holder)
    }

    /// When the Lease of somebody else runs out for us, unless it is renewed; `None` when nobody else holds it.
    #[must_use]
    pub fn runs_out_at(&self, config: &Config) -> Option<Timestamp> {
        let duration = self.other_holder()?.duration.unwrap_or(config.lease_duration);
        // What was not looked at yet has not run out.
        Some(self.seen_at.map_or(Timestamp::MAX, |seen| seen + duration))
    }

    /// Puts another state of the Lease in the place of what we knew.
    pub(crate) fn replace_lease(&mut self, lease: Option<Box<LeaseObject>>) {
        if self.record() != lease.as_ref().map(|lease| &lease.record) {
            self.seen_at = None;
        }
        self.lease = lease;
        if self.is_holder() {
            let renewed = self.record().and_then(|record| record.renewed);
            self.confirmed = self.confirmed.max(renewed);
        } else if self.other_holder().is_some() {
            self.confirmed = None;
        }
        if self.ordered.as_deref() == self.record() {
            self.ordered = None;
        }
    }

    /// Our write of the Lease has happened, and gave it this version. True unless the Lease has shown it already.
    pub(crate) fn wrote(&mut self, resource_version: u64) -> bool {
        let Some(record) = self.ordered.take() else { return false };
        self.confirmed = self.confirmed.max(record.renewed);
        let known = self.lease.as_ref().map(|lease| lease.meta.resource_version);
        if known >= Some(resource_version) {
            return false;
        }
        self.written = Some(resource_version);
        // A Lease that we have just made has a uid that we are yet to see.
        if let Some(mut lease) = self.lease.clone() {
            lease.meta.resource_version = resource_version;
            lease.record = *record;
            self.behind = self.lease.take();
            self.replace_lease(Some(lease));
        }
        true
    }

    /// Notes that a kind was listed.
    pub(crate) fn synced(&mut self, kind: Kind) {
        if let Some(position) = Kind::WATCHED.iter().position(|watched| *watched == kind) {
            self.synced[position] = true;
        }
    }

    /// Whether the Lease shows that a write of ours gave us an epoch: its reply may come later, or never.
    pub(crate) fn confirms(&self, lease: &LeaseObject) -> bool {
        let record = &lease.record;
        self.taking == Some(record.epoch) && record.epoch > Epoch::VACANT && record.is_of(&self.holder)
    }

    /// Whether the Lease gives us the epoch that we have.
    pub(crate) fn holds(&self, lease: &LeaseObject) -> bool {
        self.epoch == Some(lease.record.epoch) && lease.record.is_of(&self.holder)
    }

    /// Forgets what was listed: `Watch` is ordered anew.
    pub(crate) const fn unsync(&mut self) {
        self.synced = [false; Kind::WATCHED.len()];
    }

    /// A kind that was not listed yet. Lists that come although `Watch` is to be ordered again do not count.
    #[must_use]
    pub fn unsynced(&self) -> Option<Kind> {
        // Asked all the time, and nearly always all was listed.
        if self.watching && self.synced == [true; Kind::WATCHED.len()] {
            return None;
        }
        let mut kinds = Kind::WATCHED.into_iter().zip(self.synced);
        kinds.find(|(_, synced)| !(self.watching && *synced)).map(|(kind, _)| kind)
    }

    /// Whether lists are under way, or still to be ordered: nothing about machines is decided before they are complete.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        self.unsynced().is_some()
    }

    /// The recorded adoption, if it allows more than the Lease and we know already.
    #[must_use]
    pub fn adoption(&self) -> Option<Epoch> {
        let lease = self.lease.as_ref()?;
        let known = self.epoch.unwrap_or(Epoch::VACANT).max(lease.record.epoch);
        lease.adopt.filter(|adopt| *adopt >= known)
    }

    /// What is known about operators that the store has forgotten.
    pub(crate) const fn regress(&self) -> Regress {
        match (self.ahead, self.epoch) {
            (Some(seen), _) => Regress::HostAhead(seen),
            (None, Some(ours)) => Regress::LeaseGone(ours),
            (None, None) => Regress::NoLease,
        }
    }

    /// Why nothing may be done at all; `None` when we lead and have seen everything.
    #[must_use]
    pub fn gate(&self) -> Option<Blocker> {
        if let Some(by) = self.stepped_down {
            return Some(Blocker::SteppedDown { by });
        }
        if self.stopping {
            return Some(Blocker::Stopping);
        }
        if let (true, Some(since)) = (self.overdue, self.confirmed) {
            return Some(Blocker::RenewalOverdue { since });
        }
        if let Some(seen) = self.ahead {
            return Some(Blocker::StoreRegressed { seen });
        }
        // Of several processes that miss the Lease only one reports it: who holds the one that was made instead.
        let other = || self.other_holder().map(|record| Blocker::Standby { of: record.epoch });
        if self.lost {
            let regressed = Blocker::StoreRegressed { seen: self.epoch.unwrap_or_default() };
            return Some(other().unwrap_or(regressed));
        }
        if self.epoch.is_none() {
            return Some(other().unwrap_or(Blocker::NotLeading));
        }
        self.unsynced().map(Blocker::NotSynced)
    }
}
