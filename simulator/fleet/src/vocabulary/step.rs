//! The steps of an operation and how long they take.

use std::time::Duration;

use seaworthy_kernel::{Draws, Span, word};
use serde::Deserialize;

/// A step of an operation on a host, in the order of the real host program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// Take the host's lock.
    Lock,
    /// Write the intention into the journal.
    Journal,
    /// Fetch the artefact.
    Download,
    /// Compare its digest.
    Verify,
    /// Unpack it beside the current release.
    Stage,
    /// Render config files and unit.
    Render,
    /// Make it the current release: one symlink. When it has ended, the change is done.
    Swap,
    /// Restart the service.
    Restart,
    /// Wait until it is healthy.
    Probe,
    /// After a failed probe: make the previous release the current one again.
    Restore,
    /// And restart that.
    Recover,
    /// Of a removal: stop the service.
    Stop,
    /// Of a removal: remove the current release. When it has ended, the change is done.
    Delete,
    /// Write the end into the journal.
    Commit,
    /// Between rendering and the swap, if the release has one: its own test of itself.
    Preflight,
    /// Of a removal, between stop and delete, if the release has one: its commands, and what it left behind.
    Clean,
    /// After the swap, if the release that comes or the one that goes says so, and again on the way back: the host is shut
    /// down and started anew.
    Reboot,
    /// After the probe, if the release has to be confirmed: nothing is done until that comes, or its time is over.
    Confirm,
}

impl Step {
    /// Every step, by its number.
    pub const ALL: [Self; 18] = [
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

/// How long steps take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Fetching an artefact.
    pub download: Span,
    /// Unpacking one.
    pub stage: Span,
    /// Restarting a service.
    pub restart: Span,
}

impl Default for Pace {
    /// An artefact of some 50 MB over a shared 100 Mbit/s, an ordinary disk, an ordinary service.
    fn default() -> Self {
        Self {
            download: Span::millis(2_000, 20_000),
            stage: Span::millis(500, 3_000),
            restart: Span::millis(300, 4_000),
        }
    }
}

impl Pace {
    /// How long `step` takes on the host `owner` in its run number `run`. This does not cover the probe, whose length
    /// the release sets.
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
            Step::Clean => Span::millis(50, 10_000),
            // From the order to the power-on self-test: a virtual machine takes half a minute, a large server minutes.
            Step::Reboot => Span::millis(20_000, 240_000),
        };
        draws.within(word("host step") ^ step.number(), owner, u64::from(run), span)
    }
}
