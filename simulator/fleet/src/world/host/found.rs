//! Preexisting software on a host, which other tools have installed. The host program does not know of it and does not
//! report it. When a release with the same files is installed, it takes over the files, and a running service
//! continues. Different files block the installation.

use super::running::Met;
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
    /// Places preexisting software of a component.
    pub fn place(&mut self, found: Found) {
        self.found.get_or_insert_default().push(found);
    }

    /// Removes the preexisting software, and a preexisting node identity.
    pub fn clear(&mut self) {
        self.found = None;
        self.remove_foreign_identity();
    }

    /// The preexisting software.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        self.found.as_ref().map_or(&[], |found| found)
    }

    /// The preexisting software of a component.
    #[must_use]
    pub fn found_of(&self, component: ComponentNumber) -> Option<&Found> {
        self.found.iter().flat_map(|found| found.iter()).find(|found| found.component == component)
    }

    /// Whether any preexisting service runs.
    #[must_use]
    pub fn runs_found(&self) -> bool {
        self.found.iter().flat_map(|found| found.iter()).any(|found| found.state == FoundState::Running)
    }

    /// What `work` finds of preexisting software.
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

    /// Takes over the preexisting software of a component, if there is any.
    pub(super) fn take_over(&mut self, component: ComponentNumber) {
        let Some(found) = &mut self.found else { return };
        found.retain(|found| found.component != component);
        if found.is_empty() {
            self.found = None;
        }
    }
}
