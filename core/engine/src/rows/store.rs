//! The API servers that we work with, and whether their lists are complete.
//!
//! Each store is listed on its own: one whose lists are not complete stops its own subjects, and no others. The Lease,
//! the fleet's defaults, the certificate requests and the versions of the API servers are those of home. The counters
//! of machines (slots, rollouts, Nodes) are kept over all stores and need the lists of home.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use seaworthy_model::id::{Kind, StoreId};
use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

use crate::rows::refusals::Refusals;

/// What we know about the lists of an API server.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// `Watch` was ordered since the epoch was taken (or, before that, to look at the machines).
    pub watching: bool,
    /// The lists are too old for a decision: the next turn orders `Watch`.
    pub(crate) outdated: bool,
    /// How often `Watch` was ordered.
    pub lists: u64,
    /// When it was last ordered.
    pub listed_at: Timestamp,
    /// The newest `resourceVersion` of a machine in the lists of this epoch: a machine that was not listed is newer.
    pub(crate) listed: u64,
    /// The writes that it has refused for now.
    pub(crate) refusals: Refusals,
    /// The kinds that are listed completely since `Watch` was ordered.
    synced: [bool; Kind::WATCHED.len()],
}

impl Store {
    /// A kind that is not listed yet. While `Watch` is still to be ordered again, no list counts.
    #[must_use]
    pub fn unsynced(&self) -> Option<Kind> {
        // Fast path: this is asked all the time, and nearly always everything is listed.
        if self.watching && self.synced == [true; Kind::WATCHED.len()] {
            return None;
        }
        let mut kinds = Kind::WATCHED.into_iter().zip(self.synced);
        kinds.find(|(_, synced)| !(self.watching && *synced)).map(|(kind, _)| kind)
    }

    /// Whether lists are in flight, or still to be ordered: nothing is decided before they are complete.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        self.unsynced().is_some()
    }

    /// Notes that a kind was listed.
    pub(crate) fn synced(&mut self, kind: Kind) {
        if let Some(position) = Kind::WATCHED.iter().position(|watched| *watched == kind) {
            self.synced[position] = true;
        }
    }

    /// Forgets what was listed: `Watch` is ordered again.
    pub(crate) const fn unsync(&mut self) {
        self.synced = [false; Kind::WATCHED.len()];
    }
}

/// The API servers that we work with.
#[derive(Clone, Debug, Default)]
pub struct Stores {
    /// The API server that we were started for.
    pub home: Store,
    /// The other ones, from store 1 on.
    others: Vec<Store>,
    /// The store of each subject that is not in the home store.
    abroad: BTreeMap<Subject, StoreId>,
}

impl Stores {
    /// An API server, if the driver works with it.
    #[must_use]
    pub fn get(&self, id: StoreId) -> Option<&Store> {
        match id.index().checked_sub(1) {
            None => Some(&self.home),
            Some(other) => self.others.get(other),
        }
    }

    /// The same, mutable. A store that is not known yet is added, with those before it.
    pub(crate) fn open(&mut self, id: StoreId) -> &mut Store {
        let Some(other) = id.index().checked_sub(1) else { return &mut self.home };
        if self.others.len() <= other {
            self.others.resize_with(other + 1, Store::default);
        }
        &mut self.others[other]
    }

    /// The ids of all stores, home first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = StoreId> + use<> {
        (0..=u16::try_from(self.others.len()).unwrap_or(u16::MAX)).map(StoreId)
    }

    /// The store of a subject.
    #[must_use]
    pub fn of(&self, subject: Subject) -> StoreId {
        // Fast path: most operators work with one store.
        if self.abroad.is_empty() {
            return StoreId::HOME;
        }
        self.abroad.get(&subject).copied().unwrap_or(StoreId::HOME)
    }

    /// Notes that a subject is in a store.
    pub(crate) fn put(&mut self, subject: Subject, id: StoreId) {
        if id != StoreId::HOME {
            self.abroad.insert(subject, id);
        }
    }

    /// A kind of a store that is not listed yet. Of an unknown store nothing is.
    #[must_use]
    pub fn unsynced(&self, id: StoreId) -> Option<Kind> {
        if id == StoreId::HOME {
            return self.home.unsynced();
        }
        self.get(id).map_or(Some(Kind::WATCHED[0]), Store::unsynced)
    }

    /// A store for which `Watch` has to be ordered.
    pub(crate) fn unwatched(&self) -> Option<StoreId> {
        if !self.home.watching {
            return Some(StoreId::HOME);
        }
        let ids = (1..).map(StoreId);
        self.others.iter().zip(ids).find(|(store, _)| !store.watching).map(|(_, id)| id)
    }

    /// Whether the lists of any store are too old for a decision.
    pub(crate) fn is_outdated(&self) -> bool {
        self.home.outdated || self.others.iter().any(|store| store.outdated)
    }
}
