//! The operator's own standing: Lease, epoch, what was listed.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use seaworthy_model::effect::ActionId;
use seaworthy_model::id::Kind;
use seaworthy_model::lease::{Epoch, LeaseObject};
use seaworthy_model::report::Blocker;

use super::machine::Retry;

/// The operator's own standing.
#[derive(Clone, Debug, Default)]
pub struct Leadership {
    /// The name by which the Lease knows this process.
    pub holder: String,
    /// The Lease, as last seen.
    pub lease: Option<Box<LeaseObject>>,
    /// The Lease was looked up, whether it exists or not.
    pub lease_seen: bool,
    /// The epoch that we hold.
    pub epoch: Option<Epoch>,
    /// The epoch that our last write of the Lease gives us, once it is known to have happened.
    pub taking: Option<Epoch>,
    /// How many orders to hosts were numbered in this epoch.
    pub sequence: u64,
    /// The action under way.
    pub action: Option<ActionId>,
    /// `resourceVersion` of our own last write of the Lease, until it was seen.
    pub written: Option<u64>,
    /// Back-off of writes to the API server.
    pub retry: Retry,
    /// `Watch` was ordered since the epoch was taken (or, before that, to look at the machines).
    pub watching: bool,
    /// The kinds that were listed completely since `Watch` was ordered.
    synced: [bool; Kind::WATCHED.len()],
    /// A newer operator has taken the Lease.
    pub stepped_down: Option<Epoch>,
    /// The process was asked to stop.
    pub stopping: bool,
    /// We held the Lease, and it went away under us.
    pub lost: bool,
    /// The highest epoch that a host has seen, if it is higher than ours.
    pub ahead: Option<Epoch>,
}

impl Leadership {
    /// Notes that a kind was listed.
    pub(super) fn synced(&mut self, kind: Kind) {
        if let Some(position) = Kind::WATCHED.iter().position(|watched| *watched == kind) {
            self.synced[position] = true;
        }
    }

    /// Whether the Lease shows that a write of ours gave us an epoch: its reply may come later, or never.
    pub(super) fn confirms(&self, lease: &LeaseObject) -> bool {
        self.taking == Some(lease.epoch) && lease.epoch > Epoch::VACANT && lease.holder == self.holder
    }

    /// Whether the Lease is as our last write left it.
    pub(super) fn holds(&self, lease: &LeaseObject) -> bool {
        self.epoch == Some(lease.epoch) && lease.holder == self.holder
    }

    /// Forgets what was listed: `Watch` is ordered anew.
    pub(crate) const fn unsync(&mut self) {
        self.synced = [false; Kind::WATCHED.len()];
    }

    /// A kind that was not listed yet. Lists that come although `Watch` is to be ordered again do not count.
    #[must_use]
    pub fn unsynced(&self) -> Option<Kind> {
        let mut kinds = Kind::WATCHED.into_iter().zip(self.synced);
        kinds.find(|(_, synced)| !(self.watching && *synced)).map(|(kind, _)| kind)
    }

    /// The recorded adoption, if it allows more than the Lease and we know already.
    #[must_use]
    pub fn adoption(&self) -> Option<Epoch> {
        let lease = self.lease.as_ref()?;
        let known = self.epoch.unwrap_or(Epoch::VACANT).max(lease.epoch);
        lease.adopt.filter(|adopt| *adopt >= known)
    }

    /// What is known about operators that the store has forgotten, in words.
    #[must_use]
    pub fn describe_regress(&self) -> String {
        match (self.ahead, self.epoch) {
            (Some(seen), _) => format!("a host has seen an operator of epoch {}", seen.0),
            (None, Some(ours)) => format!("the Lease of epoch {} is gone", ours.0),
            (None, None) => "machines are recorded, but no Lease".into(),
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
        if let Some(seen) = self.ahead {
            return Some(Blocker::StoreRegressed { seen });
        }
        if self.lost {
            return Some(Blocker::StoreRegressed { seen: self.epoch.unwrap_or_default() });
        }
        if self.epoch.is_none() {
            return Some(Blocker::NotLeading);
        }
        self.unsynced().map(Blocker::NotSynced)
    }
}
