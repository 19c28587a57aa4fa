//! All objects of one kind.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use seaworthy_kernel::Timestamp;

use super::{Change, ChangeKind, Cursor, Gone, Stored, log::Log};

/// All objects of one kind, and the log of their changes.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// In the order of their creation; places of removed ones are used again.
    objects: Vec<Option<Arc<Stored>>>,
    free: Vec<u32>,
    /// Places by name. Never iterated, so its order does not matter.
    places: HashTable<u32>,
    /// Places in the order of the names, unless `is_sorted` is false.
    order: Vec<u32>,
    is_unsorted: bool,
    /// The most likely place of the next object that is requested by name.
    expected: u32,
    log: Log,
}

impl Collection {
    /// The object of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Stored>> {
        self.at(self.place(name)?)
    }

    /// The object in this place.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<&Arc<Stored>> {
        self.objects.get(place as usize)?.as_ref()
    }

    fn is_at(&self, place: u32, name: &str) -> bool {
        self.at(place).is_some_and(|object| **object.name() == *name)
    }

    fn place(&self, name: &str) -> Option<u32> {
        if self.is_at(self.expected, name) {
            return Some(self.expected);
        }
        self.places.find(hash(name), |place| self.is_at(*place, name)).copied()
    }

    /// All objects, by name, as a list answers.
    #[must_use]
    pub fn objects(&self) -> Vec<&Arc<Stored>> {
        let objects = self.order.iter().filter_map(|place| self.at(*place));
        let mut objects: Vec<&Arc<Stored>> = objects.collect();
        if self.is_unsorted {
            objects.sort_unstable_by_key(|object| object.name());
        }
        objects
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where a watch begins that follows a list made now.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.log.end()
    }

    /// Where a watch begins that names a revision.
    #[must_use]
    pub fn after(&self, revision: u64) -> Cursor {
        self.log.after(revision)
    }

    /// The changes after `cursor`, asked for at `now`.
    ///
    /// # Errors
    /// When some of them were compacted away: 410, list again.
    pub fn since(&self, cursor: Cursor, now: Timestamp) -> Result<impl Iterator<Item = &Change>, Gone> {
        self.log.since(cursor, now)
    }

    pub(super) fn compact(&mut self) {
        self.log.compact();
    }

    /// Sets the most likely place of the next object that is requested by name.
    pub(super) const fn expect(&mut self, place: u32) {
        self.expected = place;
    }

    /// The place of the next object that is created.
    pub(super) fn vacant_place(&self) -> u32 {
        self.free.last().copied().unwrap_or_else(|| u32::try_from(self.objects.len()).unwrap_or(u32::MAX))
    }

    /// Stores an object at its place.
    pub(super) fn put(&mut self, change: Change) {
        let object = Arc::clone(&change.object);
        match change.kind {
            ChangeKind::Added => self.add(object),
            ChangeKind::Modified | ChangeKind::Deleted => {
                let place = object.place() as usize;
                self.objects[place] = Some(object);
            }
        }
        self.log.push(change);
    }

    fn add(&mut self, object: Arc<Stored>) {
        let hashed = hash(object.name());
        let last = self.order.last().and_then(|place| self.at(*place));
        self.is_unsorted |= last.is_some_and(|last| last.name() > object.name());
        let place = object.place();
        if self.free.pop().is_none() {
            self.objects.push(None);
        }
        self.objects[place as usize] = Some(object);
        self.order.push(place);
        let Self { places, objects, .. } = self;
        let name = |place: &u32| objects[*place as usize].as_ref().map_or(0, |object| hash(object.name()));
        places.insert_unique(hashed, place, name);
    }

    pub(super) fn remove(&mut self, change: Change) {
        let (name, place) = (change.object.name(), change.object.place());
        if self.is_at(place, name) {
            if let Ok(entry) = self.places.find_entry(hash(name), |found| *found == place) {
                entry.remove();
            }
            self.objects[place as usize] = None;
            self.order.retain(|kept| *kept != place);
            self.free.push(place);
        }
        self.log.push(change);
    }

    /// Sorts the places by name, so that lists need not.
    pub(in crate::world) fn sort(&mut self) {
        if !self.is_unsorted {
            return;
        }
        let Self { order, objects, .. } = self;
        order.sort_unstable_by_key(|place| objects[*place as usize].as_ref().map(|object| object.name()));
        self.is_unsorted = false;
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}
