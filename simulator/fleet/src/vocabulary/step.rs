//! The steps of an operation and how long they take.

use std::time::Duration;

use seaworthy_kernel::{Draws, Span, word};
use serde::Deserialize;

/// A step of an operation on a host, in the order of the real host program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// The host takes its lock.
    Lock,
    /// The host writes the intended change into its journal.
    Journal,
    /// The host fetches the artefact.
    Download,
    /// The host compares the digest of the artefact with the release's digest.
    Verify,
    /// The host unpacks the artefact next to the current release.
    Stage,
    /// The host renders the config files and the unit.
    Render,
    /// The host makes the new release the current one by changing one symlink. When this step has ended, the change is
    /// done.
    Swap,
    /// The host restarts the service.
    Restart,
    /// The host waits until the service is healthy.
    Probe,
    /// After a failed probe: the host makes the previous release the current one again.
    Restore,
    /// After a restore: the host restarts the service of the previous release.
    Recover,
    /// During a removal: the host stops the service.
    Stop,
    /// During a removal: the host removes the current release. When this step has ended, the change is done.
    Delete,
    /// The host writes the end of the operation into its journal.
    Commit,
    /// Between rendering and the swap: the host runs the release's own test, if the release has one.
    Preflight,
    /// Between stop and delete of a removal: the host runs the clean-up commands of the release, if it has any, and
    /// removes what the release left behind.
    Clean,
    /// After the swap, and again on a rollback: the host reboots, if the new or the previous release asks for it.
    Reboot,
    /// After the probe: the host waits until the operation is confirmed or the time limit is over, if the release needs
    /// a confirmation.
    Confirm,
    /// Instead of the restart, after the swap or on a rollback: the service reads its configuration again.
    Reload,
}

impl Step {
    /// Every step, in the order of its number.
    pub const ALL: [Self; 19] = [
        Self::Lock,
        Self::Journal,
        Self::Download,
        Self::Verify,
        Self::Stage,
        Self::Render,
        Self::Swap,
        Self::Restart,
        Self::Probe,
        Self::Restore,
        Self::Recover,
        Self::Stop,
        Self::Delete,
        Self::Commit,
        Self::Preflight,
        Self::Clean,
        Self::Reboot,
        Self::Confirm,
        Self::Reload,
    ];

    /// The steps of an installation that succeeds.
    pub const INSTALL: [Self; 10] = [
        Self::Lock,
        Self::Journal,
        Self::Download,
        Self::Verify,
        Self::Stage,
        Self::Render,
        Self::Swap,
        Self::Restart,
        Self::Probe,
        Self::Commit,
    ];

    /// The steps of a removal.
    pub const REMOVE: [Self; 5] = [Self::Lock, Self::Journal, Self::Stop, Self::Delete, Self::Commit];

    /// The step's number, for draws and traces.
    #[must_use]
    pub const fn number(self) -> u64 {
        self as u64
    }
}

/// The time that steps take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time to fetch an artefact.
    pub download: Span,
    /// The time to unpack an artefact.
    pub stage: Span,
    /// The time to restart a service.
    pub restart: Span,
}

impl Default for Pace {
    /// The times for an artefact of about 50 MB over a shared 100 Mbit/s link, an ordinary disk and an ordinary
    /// service.
    fn default() -> Self {
        Self {
            download: Span::millis(2_000, 20_000),
            stage: Span::millis(500, 3_000),
            restart: Span::millis(300, 4_000),
        }
    }
}

impl Pace {
    /// The time that `step` takes on the host `owner` in its operation number `run`. The probe and the confirmation are
    /// not covered: the release sets their length.
    #[must_use]
    pub fn length(&self, draws: &Draws, owner: u64, run: u32, step: Step) -> Duration {
        let span = match step {
            Step::Lock | Step::Journal | Step::Commit => Span::millis(2, 15),
            Step::Download => self.download,
            Step::Verify => Span::millis(100, 800),
            Step::Stage => self.stage,
            Step::Render => Span::millis(5, 50),
            Step::Swap | Step::Restore => Span::millis(1, 10),
            Step::Restart | Step::Recover | Step::Stop => self.restart,
            Step::Delete => Span::millis(50, 500),
            Step::Probe => Span::millis(0, 1_000),
            // The release sets how long the confirmation may take.
            Step::Confirm => Span::millis(0, 0),
            Step::Preflight => Span::millis(20, 2_000),
            Step::Reload => Span::millis(10, 500),
            Step::Clean => Span::millis(50, 10_000),
            // From the order to the power-on self-test: a virtual machine takes half a minute, a large server minutes.
            Step::Reboot => Span::millis(20_000, 240_000),
        };
        draws.within(word("host step") ^ step.number(), owner, u64::from(run), span)
    }
}
