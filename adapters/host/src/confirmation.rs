//! The dead-man switch: a release that could cut the host off is taken back unless somebody comes in time, over a new
//! connection, and confirms that the host can be reached.
//!
//! No process waits for that. The alarm is set with the system before the journal says that the operation waits, so that
//! whoever is killed in between leaves an alarm that finds nothing to do, and never a wait without an end.

use std::time::Duration;

use seaworthy_api::host::wire::{Answer, Release, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Confirm;
use seaworthy_model::host::{OperationId, OperationState};

use crate::Host;
use crate::execution::{Before, Execution};
use crate::failure::Result;
use crate::host::PATIENCE;
use crate::journal::{self, Journal, Step};
use crate::lock::Lock;

impl Execution<'_> {
    /// Whether the operation waits to be confirmed in this boot.
    pub(crate) fn is_waiting(&self) -> Result<bool> {
        Ok(journal::confirming(self.journal.lines(), self.host.system.boot()?).is_some())
    }

    /// Leaves the operation waiting, once in each boot; restores what was there before when its time is over.
    pub(crate) fn await_confirmation(&mut self, release: &Release, before: &Before) -> Result<()> {
        let window = release.recipe.content.confirm.map_or(Duration::ZERO, Confirm::window);
        let now = self.host.system.uptime();
        let left = match journal::confirming(self.journal.lines(), self.host.system.boot()?) {
            Some(until) if now >= until => {
                let seconds = window.as_secs();
                let detail = format!("nobody has confirmed within {seconds} s that the host can be reached");
                return self.restore(release, before, Cause::new(CauseKind::NotConfirmed, detail));
            }
            // Nobody knows whether its alarm is set still; two do no harm.
            Some(until) => return self.set_alarm(until.saturating_sub(now)),
            None => window,
        };
        if let Err(cause) = self.set_alarm(left) {
            // What nothing will take back must not stay.
            return self.restore(release, before, cause);
        }
        let until = u64::try_from((now + left).as_millis()).unwrap_or(u64::MAX);
        self.note(Step::Confirming { until })
    }

    fn set_alarm(&self, after: Duration) -> Result<()> {
        self.host.system.alarm(&self.host.layout, self.operation.id, after)?;
        self.host.disk().step("set the alarm");
        Ok(())
    }
}

impl Host<'_> {
    /// Confirms an operation that waits for that, and follows it to its end. One that is over is answered with how it ended.
    pub(crate) fn confirm(&self, request: &Request, id: OperationId) -> Result<Answer> {
        self.make_places()?;
        {
            let _lock = Lock::take(&self.layout.admission_lock(), PATIENCE, self.system)?;
            let memory = self.judge(request)?;
            if self.journal(id)?.is_none() {
                let detail = format!("this host has never heard of {id}");
                return Err(Cause::new(CauseKind::FenceRefused, detail));
            }
            if !self.take_confirmation(id)? {
                self.push_on(&memory)?;
            }
        }
        match self.state(id)? {
            OperationState::Running if self.is_confirmed(id)? => {
                // What is left is tidying. Should this process be killed, whoever asks next wakes another one.
                let _ = self.execute(id);
            }
            OperationState::Running if !self.is_being_restored(id)? => {
                let detail = format!("operation {id} is under way, and does not wait to be confirmed yet");
                return Ok(Answer::Later(Cause::new(CauseKind::HostBusy, detail)));
            }
            OperationState::Running
            | OperationState::Unconfirmed
            | OperationState::Interrupted
            | OperationState::Succeeded
            | OperationState::Failed(_) => {}
        }
        Ok(self.follow(request, id, OperationState::is_open).unwrap_or(Answer::Pending))
    }

    /// Writes the confirmation down, if the operation waits and its time is not over; whether it did. Whoever executes it
    /// writes as well, so this is done in its place.
    fn take_confirmation(&self, id: OperationId) -> Result<bool> {
        if self.state(id)? != OperationState::Unconfirmed {
            return Ok(false);
        }
        let _lock = Lock::take(&self.layout.execution_lock(), PATIENCE, self.system)?;
        let boot = self.system.boot()?;
        let mut journal = Journal::open(self.disk(), self.layout.journal(id), boot)?;
        match journal::confirming(journal.lines(), boot) {
            Some(until) if self.system.uptime() < until => {
                journal.write(self.disk(), Step::Confirmed).map(|()| true)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn is_confirmed(&self, id: OperationId) -> Result<bool> {
        let lines = self.journal(id)?.unwrap_or_default();
        Ok(lines.iter().any(|line| line.step == Step::Confirmed))
    }

    fn is_being_restored(&self, id: OperationId) -> Result<bool> {
        let lines = self.journal(id)?.unwrap_or_default();
        Ok(lines.iter().any(|line| matches!(line.step, Step::Restoring { .. })))
    }

    /// Whether an operation waits to be confirmed, and its time is not over: then nothing else is to be done for it.
    pub(crate) fn is_waiting(&self, id: OperationId) -> Result<bool> {
        let lines = self.journal(id)?.unwrap_or_default();
        let until = journal::confirming(&lines, self.system.boot()?);
        Ok(until.is_some_and(|until| self.system.uptime() < until))
    }
}
