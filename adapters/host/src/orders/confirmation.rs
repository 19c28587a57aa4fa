//! The order to confirm: an operator has come over a new connection, so the host can still be reached.

use seaworthy_api::host::wire::{Answer, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::{OperationId, OperationState};

use super::{admission, reply};
use crate::execution;
use crate::failure::Result;
use crate::journal::{self, Step};
use crate::operations;
use crate::site::Site;

/// Confirms an operation that waits for it, and follows it to its end. An operation that is over is answered with its
/// outcome.
pub(super) fn confirm(site: &Site<'_>, request: &Request, id: OperationId) -> Result<Answer> {
    {
        let _lock = site.admit()?;
        let memory = admission::judge(site, request)?;
        if operations::lines(site, id).is_none() {
            let detail = format!("this host has never heard of {id}");
            return Err(Cause::new(CauseKind::FenceRefused, detail));
        }
        if !take_confirmation(site, id)? {
            operations::resume_unfinished(site, &memory)?;
        }
    }
    match operations::state(site, id)? {
        OperationState::Running if has_step(site, id, |step| *step == Step::Confirmed)? => {
            // Only tidying is left. If this process is killed, the next request starts another execution.
            let _ = execution::execute(site, id);
        }
        OperationState::Running if !has_step(site, id, |step| matches!(step, Step::Restoring { .. }))? => {
            let detail = format!("operation {id} is under way, and does not wait to be confirmed yet");
            return Ok(Answer::Later(Cause::new(CauseKind::HostBusy, detail)));
        }
        OperationState::Running
        | OperationState::Unconfirmed
        | OperationState::Interrupted
        | OperationState::Succeeded
        | OperationState::Failed(_) => {}
    }
    Ok(reply::follow(site, request, id, OperationState::is_open).unwrap_or(Answer::Pending))
}

/// Writes the confirmation to the journal, if the operation waits and its time is not over; returns whether it did. The
/// execution writes to the same journal, so its lock is taken.
fn take_confirmation(site: &Site<'_>, id: OperationId) -> Result<bool> {
    if operations::state(site, id)? != OperationState::Unconfirmed {
        return Ok(false);
    }
    let _lock = site.lock_execution()?;
    let mut journal = operations::journal(site, id)?;
    match journal::confirming(journal.lines(), site.system.boot()?) {
        Some(until) if site.system.uptime() < until => {
            journal.write(site.disk(), Step::Confirmed).map(|()| true)
        }
        Some(_) | None => Ok(false),
    }
}

fn has_step(site: &Site<'_>, id: OperationId, is_wanted: impl Fn(&Step) -> bool) -> Result<bool> {
    let lines = operations::lines(site, id).unwrap_or_default();
    Ok(lines.iter().any(|line| is_wanted(&line.step)))
}
