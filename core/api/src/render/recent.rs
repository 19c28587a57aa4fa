//! A cache of rendered lists of components. Machines of one fleet have few different lists.

use std::sync::Arc;

use seaworthy_model::machine::ComponentStatus;

use crate::v1alpha1;

/// The size of the cache: a fleet that changes the versions of a few components has fewer lists.
const KEPT: usize = 16;

/// A list of components as rendered.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The list, in the order of names.
    pub(crate) components: Arc<[v1alpha1::ComponentStatus]>,
    /// What is installed, in one line.
    pub(crate) installed: Arc<str>,
}

/// The cache. It belongs to one table of names, in which an id never changes its meaning.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentlyWritten(Vec<(Arc<[ComponentStatus]>, Written)>);

impl RecentlyWritten {
    /// The rendered form of this list, if it is cached.
    pub(crate) fn get(&mut self, list: &Arc<[ComponentStatus]>) -> Option<Written> {
        let place = self.0.iter().position(|(known, _)| known == list)?;
        // A list that is often used moves to the front.
        let ahead = place.saturating_sub(1);
        self.0.swap(place, ahead);
        Some(self.0[ahead].1.clone())
    }

    /// Caches the rendered form of a list, in the place of the last entry.
    pub(crate) fn put(&mut self, list: Arc<[ComponentStatus]>, written: Written) {
        self.0.truncate(KEPT - 1);
        self.0.push((list, written));
    }
}
