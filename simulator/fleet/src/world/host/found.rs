//! What somebody else has installed on a host before it was ours. The host program does not know of it and reports nothing
//! of it, until a release comes that is the same: that takes its place, and what runs goes on running. What is not the same
//! is in the way.

use super::operation::Met;
use super::{Change, ComponentNumber, Host, VersionNumber, Work};

use crate::vocabulary::FoundState;

/// A component that somebody else has installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub component: ComponentNumber,
    /// The version whose files it has, unless they were altered.
    pub version: VersionNumber,
    /// How it is.
    pub state: FoundState,
}

impl Host {
    /// Somebody else installs a component.
    pub fn place(&mut self, found: Found) {
        self.found.get_or_insert_default().push(found);
    }

    /// Somebody takes away what was there before it was ours, and the identity of its node.
    pub fn clear(&mut self) {
        self.found = None;
        self.remove_foreign_identity();
    }

    /// What somebody else has installed of a component.
    #[must_use]
    pub fn found_of(&self, component: ComponentNumber) -> Option<&Found> {
        self.found.iter().flat_map(|found| found.iter()).find(|found| found.component == component)
    }

    /// Whether anything runs that somebody else has installed.
    #[must_use]
    pub fn runs_found(&self) -> bool {
        self.found.iter().flat_map(|found| found.iter()).any(|found| found.state == FoundState::Running)
    }

    /// What `work` meets here.
    pub(super) fn meets(&self, work: &Work) -> Met {
        let Change::Install(install) = work.change else { return Met::Nothing };
        let Some(found) = self.found_of(work.component) else { return Met::Nothing };
        match found.state {
            _ if found.version != install.version => Met::Other,
            FoundState::Running => Met::Running,
            FoundState::Stopped => Met::Stopped,
            FoundState::Altered => Met::Other,
        }
    }

    /// What was there of a component, if anything was, is ours from now on.
    pub(super) fn take_over(&mut self, component: ComponentNumber) {
        let Some(found) = &mut self.found else { return };
        found.retain(|found| found.component != component);
        if found.is_empty() {
            self.found = None;
        }
    }
}
