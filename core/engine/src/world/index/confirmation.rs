//! Operations that wait on their hosts for a confirmation, and how long they wait, as far as is known here.

use core::time::Duration;

use seaworthy_model::component::Confirm;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::{OperationId, OperationReport, OperationState};
use seaworthy_model::id::MachineId;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::world::World;

/// How many confirmations are tried before the host's window ends, when each of them fails at once.
const TRIES: u32 = 8;

/// What is known, at the end of an action, of an operation that waits for its confirmation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// How long the host waits.
    window: Duration,
    /// Whether it was known before that the operation waits.
    is_known: bool,
}

impl World {
    /// The operation that waits on a machine's host for its confirmation, and for how long, unless the window has
    /// passed since the host was read. A host that was rebooted waits longer than that.
    #[must_use]
    pub fn confirmable(&self, machine: &Machine) -> Option<(OperationId, Duration)> {
        let report = machine.unconfirmed()?;
        let window = self.window(report);
        (self.now < machine.progress.contact.read_at + window).then_some((report.id, window))
    }

    /// How long a host waits for the confirmation of an operation.
    fn window(&self, report: &OperationReport) -> Duration {
        let version = report.release.and_then(|release| self.version_spec(release.version));
        let confirm = version.and_then(|version| version.content.confirm);
        // The shortest window if the version does not exist any more. Each answer of the host restarts the window here.
        confirm.unwrap_or(Confirm { within_seconds: Confirm::WITHIN_MIN }).window()
    }

    /// What an outcome shows of an operation that waits.
    pub(crate) fn awaited(&self, id: MachineId, outcome: &Outcome) -> Option<Waiting> {
        let known = self.machine(id).unconfirmed();
        let told = match outcome {
            Outcome::Done(Receipt::Host(facts)) => facts.operation.as_ref(),
            Outcome::Done(_)
            | Outcome::Stale
            | Outcome::Retryable(_)
            | Outcome::Refused(_)
            | Outcome::Unknown => known,
        };
        let told = told.filter(|told| told.state == OperationState::Unconfirmed)?;
        let is_known = known.is_some_and(|known| known.id == told.id);
        Some(Waiting { window: self.window(told), is_known })
    }
}

impl Waiting {
    /// Whether this outcome is the first to show it: then it is confirmed at once.
    pub(crate) const fn is_news(self) -> bool {
        !self.is_known
    }

    /// Whether the host still waits.
    pub(crate) fn lasts(self, machine: &Machine, now: Timestamp) -> bool {
        machine.unconfirmed().is_some() && now < machine.progress.contact.read_at + self.window
    }

    /// Shortens a back-off so that the window has room for several tries.
    pub(crate) fn hurry(self, machine: &mut Machine, now: Timestamp) {
        let retry = &mut machine.progress.contact.retry;
        retry.not_before = retry.not_before.min(now + self.window / TRIES);
    }
}
