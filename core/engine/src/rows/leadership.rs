//! The operator's leadership: Lease and epoch.
//!
//! The rules are those of client-go's leader election. Each process writes times of its own clock into the Lease, so
//! they are never compared with our clock. We note by our own clock when we first observed the record as it is; it
//! expires once it has not changed for its duration since then. A holder counts from the moment at which it ordered the
//! renewal, a candidate from the moment at which it observed it. So the holder stops first, as long as no clock runs
//! half as fast again as another (15 s to 10 s).
//!
//! An *epoch* numbers the holders of the Lease. Each taking of the Lease raises it, in the same write, so no two
//! processes ever act in the same epoch. The Lease alone cannot stop an old holder: it may sleep past its deadline and
//! wake with orders in its buffers. Therefore each order to a host carries the epoch, and a host that has seen an epoch
//! refuses orders of any lower one. That is also why a new epoch forgets what was learnt of the hosts: it was learnt
//! under an older fence, when a predecessor could still change the host. A host is read again, which shows it the new
//! epoch, before it is changed.
//!
//! The Lease is not [`Tracked`](crate::Tracked) as other objects are: our own write counts from its reply on, not from
//! its echo; the Lease is renewed even while an echo is awaited; and a watch that shows the state before our write may
//! turn out to be right, if the store was restored from a backup.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::detail::Regress;
use seaworthy_model::effect::ActionId;
use seaworthy_model::lease::{Epoch, LeaseObject, LeaseRecord};
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::runtime::retry::Retry;

/// The operator's leadership.
#[derive(Clone, Debug, Default)]
pub struct Leadership {
    /// The name by which the Lease knows this process.
    pub holder: String,
    /// How long we may act after a renewal.
    pub renew_deadline: Duration,
    /// The Lease, as last observed or as our own last write has left it, whichever is newer.
    pub lease: Option<Box<LeaseObject>>,
    /// The Lease was looked up, whether it exists or not.
    pub lease_seen: bool,
    /// When, by our clock, the present record of the Lease was first observed; `None` until the next turn after a
    /// change.
    pub seen_at: Option<Timestamp>,
    /// When the last write was ordered that is known to have made or kept us the holder; `None` when we are not the
    /// holder.
    pub confirmed: Option<Timestamp>,
    /// We hold the Lease and renewed it in time, as of the last `reconcile`. If anything else blocks the fleet, we are
    /// the process that reports it.
    pub in_time: bool,
    /// We hold the Lease but failed to renew it in time, as of the last `reconcile`.
    pub overdue: bool,
    /// The record of our last write of the Lease, unless the write is known to have failed or was observed.
    pub ordered: Option<Box<LeaseRecord>>,
    /// The epoch that we hold.
    pub epoch: Option<Epoch>,
    /// The epoch that our last taking of the Lease gives us; it is ours once the write is confirmed.
    pub taking: Option<Epoch>,
    /// When our epoch began.
    pub began_at: Timestamp,
    /// How many orders to hosts this epoch has numbered.
    pub sequence: u64,
    /// The action under way.
    pub action: Option<ActionId>,
    /// `resourceVersion` of our own last write of the Lease, until its echo arrives.
    pub written: Option<u64>,
    /// The Lease as shown by a watch that lags behind our own last write.
    pub behind: Option<Box<LeaseObject>>,
    /// Back-off after a write of the Lease or a `Watch` that failed.
    pub retry: Retry,
    /// Since when we hold the Lease without two turns that are further apart than `renew_deadline`: the process was not paused,
    /// and its clock was not set forward.
    pub(crate) awake_since: Timestamp,
    /// Another operator has taken the Lease.
    pub stepped_down: Option<Epoch>,
    /// The process was asked to stop.
    pub stopping: bool,
    /// The Lease was released, because the process is to stop.
    pub released: bool,
    /// We held the Lease, and it was deleted or replaced.
    pub lost: bool,
    /// The epoch of a newer operator, if enough hosts have seen one to prove that the store has lost it.
    pub ahead: Option<Epoch>,
}

impl Leadership {
    /// Sets the time; `before` is the time of the last turn. True when we have become the holder, or are in time again
    /// after we were late: what waited for that may go on.
    pub(crate) fn tell_time(&mut self, before: Timestamp, now: Timestamp, config: &Config) -> bool {
        // A process that wakes this late has slept, or its clock leapt: it has not watched the Lease for as long as it
        // seems.
        let due = self.runs_out_at(config).map(|at| at.max(before).max(self.retry.not_before));
        if due.is_some_and(|due| now > due + config.retry_period) {
            self.seen_at = None;
        }
        self.seen_at.get_or_insert(now);
        if self.confirmed.is_some() && now > before + self.renew_deadline {
            self.awake_since = now;
        }
        let in_time = self.confirmed.is_some_and(|since| now < since + self.renew_deadline);
        self.overdue = self.confirmed.is_some() && !in_time;
        !core::mem::replace(&mut self.in_time, in_time) && in_time
    }

    /// What the Lease says, if it exists.
    #[must_use]
    pub fn record(&self) -> Option<&LeaseRecord> {
        self.lease.as_ref().map(|lease| &lease.record)
    }

    /// The `resourceVersion` of the Lease, if it exists.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.lease.as_ref().map(|lease| lease.meta.resource_version)
    }

    /// Whether the Lease names us.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.record().is_some_and(|record| record.is_of(&self.holder))
    }

    /// Whether the process is stopping and has not released the Lease yet: it should try once before it exits, if that
    /// is soon.
    #[must_use]
    pub fn is_to_let_go(&self) -> bool {
        self.stopping && self.stepped_down.is_none() && self.is_holder() && !self.released
    }

    /// The record of the Lease, if it names another process.
    #[must_use]
    pub fn other_holder(&self) -> Option<&LeaseRecord> {
        self.record().filter(|record| !record.is_free() && record.holder != self.holder)
    }

    /// When the Lease of another process expires for us, unless it is renewed; `None` when no other process holds it.
    #[must_use]
    pub fn runs_out_at(&self, config: &Config) -> Option<Timestamp> {
        let duration = self.other_holder()?.duration.unwrap_or(config.lease_duration);
        // A Lease that was not observed yet has not expired.
        Some(self.seen_at.map_or(Timestamp::MAX, |seen| seen + duration))
    }

    /// Replaces the Lease that we know.
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

    /// Our write of the Lease succeeded with this version. True unless the watch has shown it already.
    pub(crate) fn wrote(&mut self, resource_version: u64) -> bool {
        let Some(record) = self.ordered.take() else { return false };
        self.confirmed = self.confirmed.max(record.renewed);
        if self.version() >= Some(resource_version) {
            return false;
        }
        self.written = Some(resource_version);
        // A Lease that we have just created has a uid that we have not observed yet.
        if let Some(mut lease) = self.lease.clone() {
            lease.meta.resource_version = resource_version;
            lease.record = *record;
            self.behind = self.lease.take();
            self.replace_lease(Some(lease));
        }
        true
    }

    /// Whether the Lease shows that our write gave us an epoch: its reply may come later, or never.
    pub(crate) fn confirms(&self, lease: &LeaseObject) -> bool {
        let record = &lease.record;
        self.taking == Some(record.epoch) && record.epoch > Epoch::VACANT && record.is_of(&self.holder)
    }

    /// Whether the Lease names us and our present epoch.
    pub(crate) fn holds(&self, lease: &LeaseObject) -> bool {
        self.epoch == Some(lease.record.epoch) && lease.record.is_of(&self.holder)
    }

    /// The recorded adoption, unless it is refused, or we or the Lease know a higher epoch.
    #[must_use]
    pub fn adoption(&self) -> Option<Epoch> {
        let lease = self.lease.as_ref()?;
        let known = self.epoch.unwrap_or(Epoch::VACANT).max(lease.record.epoch);
        lease.adopt.filter(|adopt| *adopt >= known && *adopt <= Epoch::ADOPTABLE)
    }

    /// A recorded adoption that leaves no room for later operators.
    #[must_use]
    pub fn refused_adoption(&self) -> Option<Epoch> {
        self.lease.as_ref()?.adopt.filter(|adopt| *adopt > Epoch::ADOPTABLE)
    }

    /// The evidence that the store has lost operators.
    pub(crate) fn regress(&self) -> Regress {
        if let Some(asked) = self.refused_adoption() {
            return Regress::AdoptionRefused(asked);
        }
        match (self.ahead, self.epoch) {
            (Some(seen), _) => Regress::HostsAhead(seen),
            (None, Some(ours)) => Regress::LeaseGone(ours),
            (None, None) => Regress::NoLease,
        }
    }

    /// Why the engine may do nothing at all; `None` when we lead. Lists are asked for by
    /// [`World::gate`](crate::World::gate).
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
        // Of several processes that miss the Lease only one reports it: the holder of the Lease that was created
        // instead.
        let other = || self.other_holder().map(|record| Blocker::Standby { of: record.epoch });
        if self.lost {
            let regressed = Blocker::StoreRegressed { seen: self.epoch.unwrap_or_default() };
            return Some(other().unwrap_or(regressed));
        }
        if self.epoch.is_none() {
            return Some(other().unwrap_or(Blocker::NotLeading));
        }
        None
    }
}
