//! An operation that is under way: how far it is, and what it has found.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Disruption, Rollback};
use seaworthy_model::host::Drift;

use super::Installed;
use super::work::{Change, Install, Work};
use crate::vocabulary::Step;

/// What an operation finds of preexisting software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// Nothing.
    Nothing,
    /// The same files, and the service runs.
    Running,
    /// The same files, and the service does not run.
    Stopped,
    /// Different files.
    Other,
}

/// An operation that is under way.
#[derive(Clone, Debug)]
pub struct Running {
    /// What is done.
    pub work: Work,
    /// The step that is being taken.
    pub step: Step,
    /// Which run of the host this is: events of an earlier one are void.
    pub run: u32,
    /// Whether the host itself resumed it after it had been down.
    pub resumed: bool,
    /// Whether the host program was killed, so that nothing continues the operation until the program is started.
    pub is_orphaned: bool,
    /// Whether there is nothing to change.
    pub(super) untouched: bool,
    /// Whether the artefact was fetched before.
    pub(super) is_fetched: bool,
    /// What was there before.
    pub(super) previous: Option<Installed>,
    /// The preexisting software that it found.
    pub(super) met: Met,
    /// The cause of its failure, once that is certain.
    pub(super) failed: Option<CauseKind>,
    pub(super) sessions: Sessions,
}

/// The sessions that wait for the end of an operation: the numbers of the messages to answer. The first has a field of
/// its own, because usually there is no other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    pub(super) first: Option<u32>,
    #[expect(clippy::box_collection, reason = "hardly ever there: one word instead of three")]
    pub(super) others: Option<Box<Vec<u32>>>,
}

/// Each step of each host reads one, so it must fit into two cache lines.
const _: () = assert!(size_of::<Running>() <= 128);

impl Sessions {
    fn iter(&self) -> impl Iterator<Item = u32> {
        self.first.into_iter().chain(self.others.iter().flat_map(|others| others.iter().copied()))
    }

    fn add(&mut self, session: u32) {
        match self.first {
            None => self.first = Some(session),
            Some(_) => self.others.get_or_insert_default().push(session),
        }
    }
}

impl Running {
    /// Drops the waiting sessions, which then get no answer, and returns them.
    pub(super) fn take_sessions(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.sessions).iter().collect()
    }

    /// The sessions that wait for the end.
    pub fn sessions(&self) -> impl Iterator<Item = u32> {
        self.sessions.iter()
    }

    /// Adds a session that waits for the end.
    pub(super) fn attach(&mut self, session: u32) {
        self.sessions.add(session);
    }

    /// Whether there is anything to change.
    #[must_use]
    pub const fn touches(&self) -> bool {
        !self.untouched
    }

    /// What was there before.
    #[must_use]
    pub const fn previous(&self) -> Option<&Installed> {
        self.previous.as_ref()
    }

    /// Whether it takes over preexisting software whose service continues to run.
    #[must_use]
    pub const fn takes_over(&self) -> bool {
        matches!(self.met, Met::Running)
    }

    /// Whether it reboots the host: the release changes, and the new or the old one asks for a reboot.
    pub(super) const fn reboots(&self) -> bool {
        let Change::Install(install) = self.work.change else { return false };
        match &self.previous {
            Some(previous) => {
                previous.release.0 != install.release.0 && (previous.reboots || install.reboots)
            }
            None => install.reboots && !self.takes_over(),
        }
    }

    /// Whether a reload is enough for a release that asks for one. `None` for any other, or if nothing runs as the release
    /// before says.
    fn reload(&self) -> Option<bool> {
        let Change::Install(install) = self.work.change else { return None };
        let strays = [Drift::NOT_RUNNING, Drift::WRONG_BINARY];
        let previous = self.previous.filter(|previous| {
            let serves = !strays.into_iter().any(|drift| previous.drift.contains(drift));
            serves && previous.service.is_some() && previous.release != install.release
        })?;
        let is_enough = previous.service == install.service;
        (install.less_than_restart == Some(Disruption::Reload)).then_some(is_enough)
    }

    /// Whether it reloads the service, and does not restart it.
    pub(super) fn reloads(&self) -> bool {
        self.reload() == Some(true) && !self.reboots()
    }

    /// The step after the preparation: the swap, unless preexisting software blocks it, or a reload is not enough and neither
    /// release allows a restart.
    pub(super) fn prepared(&mut self) -> Step {
        let spares = self.previous.is_some_and(|previous| previous.less_than_restart.is_some());
        if spares && self.reload() == Some(false) {
            self.failed = Some(CauseKind::ReloadRefused);
            return Step::Commit;
        }
        if matches!(self.met, Met::Other) {
            self.failed = Some(CauseKind::OperationInvalid);
            return Step::Commit;
        }
        Step::Swap
    }

    /// The release is installed, and its service has started or failed.
    pub(super) fn started(&mut self, failure: Option<CauseKind>, install: &Install) -> Step {
        if failure == Some(CauseKind::ProbeFailed) {
            self.failed = Some(match install.rollback {
                // Without a previous release, a rollback loses nothing.
                Rollback::Unsafe if self.previous.is_some() => CauseKind::RollbackFailed,
                Rollback::Safe | Rollback::Unsafe => CauseKind::ProbeFailed,
            });
        }
        Step::Probe
    }

    /// The step after the reboot of the host.
    pub(super) const fn after_reboot(&self) -> Step {
        if self.is_on_the_way_back() { Step::Recover } else { Step::Restart }
    }

    /// Whether the operation has failed, so that it rolls back after the reboot.
    pub(super) const fn is_on_the_way_back(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether the change itself is done or, of a removal, begun, so that it will be finished and not undone.
    #[must_use]
    pub const fn is_past_the_swap(&self) -> bool {
        match self.step {
            Step::Lock
            | Step::Journal
            | Step::Download
            | Step::Verify
            | Step::Stage
            | Step::Render
            | Step::Preflight
            | Step::Swap => false,
            Step::Stop
            | Step::Clean
            | Step::Delete
            | Step::Reboot
            | Step::Confirm
            | Step::Restart
            | Step::Reload
            | Step::Probe
            | Step::Restore
            | Step::Recover => true,
            Step::Commit => !self.untouched,
        }
    }
}
