//! What the last lists of components were written as. Machines of one fleet have few different ones.

use std::sync::Arc;

use seaworthy_model::machine::ComponentStatus;

use crate::v1alpha1;

/// So many lists are remembered: a fleet on its way from one version of a few components to the next has fewer.
const KEPT: usize = 16;

/// A list of components as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The list, in the order of names.
    pub(crate) components: Arc<[v1alpha1::ComponentStatus]>,
    /// What is installed, in one line.
    pub(crate) installed: Arc<str>,
}

/// What the last lists of components were written as, with one table of names: there an id means the same for ever.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentlyWritten(Vec<(Arc<[ComponentStatus]>, Written)>);

impl RecentlyWritten {
    /// What this list was written as.
    pub(crate) fn get(&mut self, list: &Arc<[ComponentStatus]>) -> Option<Written> {
        let place = self.0.iter().position(|(known, _)| known == list)?;
        // Who is asked for often comes to be found early.
        let ahead = place.saturating_sub(1);
        self.0.swap(place, ahead);
        Some(self.0[ahead].1.clone())
    }

    /// Remembers what a list was written as, in the place of the one that is found last.
    pub(crate) fn put(&mut self, list: Arc<[ComponentStatus]>, written: Written) {
        self.0.truncate(KEPT - 1);
        self.0.push((list, written));
    }
}
