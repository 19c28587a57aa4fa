//! All objects of one kind.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use seaworthy_api::object::Resource;
use seaworthy_kernel::Timestamp;

use super::{Change, Cursor, Gone, log::Log};

/// All objects of one kind, and the log of their changes.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// By name. Never walked through but by [`Collection::objects`], which sorts.
    objects: HashMap<Arc<str>, Arc<Resource>, FxBuildHasher>,
    log: Log,
}

impl Collection {
    /// The object of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Resource>> {
        self.objects.get(name)
    }

    /// All objects, by name, as a list answers.
    #[must_use]
    pub fn objects(&self) -> Vec<&Arc<Resource>> {
        let mut objects: Vec<(&Arc<str>, &Arc<Resource>)> = self.objects.iter().collect();
        objects.sort_unstable_by_key(|(name, _)| *name);
        objects.into_iter().map(|(_, object)| object).collect()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Where a watch begins that follows a list made now.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.log.end()
    }

    /// The changes after `cursor`, asked for at `now`.
    ///
    /// # Errors
    /// When some of them were compacted away: 410, list again.
    pub fn since(&self, cursor: Cursor, now: Timestamp) -> Result<impl Iterator<Item = &Change>, Gone> {
        self.log.since(cursor, now)
    }

    pub(super) fn put(&mut self, change: Change) {
        let name = &change.object.metadata().name;
        match self.objects.get_mut(&**name) {
            Some(present) => *present = Arc::clone(&change.object),
            None => {
                self.objects.insert(Arc::clone(name), Arc::clone(&change.object));
            }
        }
        self.log.push(change);
    }

    pub(super) fn remove(&mut self, change: Change) {
        self.objects.remove(&*change.object.metadata().name);
        self.log.push(change);
    }
}
