//! The order to apply an operation: it is accepted, or attached to when it was accepted before, and followed.

use seaworthy_api::host::wire::{Answer, Change, Operation, Request};
use seaworthy_model::cause::Cause;
use seaworthy_model::host::{OperationId, OperationState};

use super::{admission, reply};
use crate::claims;
use crate::facts;
use crate::failure::{self, Result};
use crate::journal::Step;
use crate::lock::PATIENCE;
use crate::memory::{Memory, Verdict};
use crate::operations;
use crate::resume;
use crate::site::Site;
use crate::validation;

/// So many operations are remembered. An operator asks for its last one, or for that of its predecessor.
const OPERATIONS_KEPT: usize = 100;

pub(super) fn apply(site: &Site<'_>, request: &Request, operation: &Operation) -> Result<Answer> {
    let id = operation.id;
    {
        let _lock = site.admit()?;
        let mut memory = Memory::read(&site.layout)?;
        let verdict = memory.judge(&request.fence, &request.command);
        if let Verdict::Refuse(cause) = verdict {
            return Err(cause);
        }
        let ours = memory.operations_of.as_ref() == Some(&request.fence.cluster);
        if ours && operations::lines(site, id).is_some() {
            if attach(site, &memory, &verdict).is_err() {
                return Ok(Answer::Pending);
            }
        } else {
            if let Some(other) = operations::resume_unfinished(site, &memory)? {
                return Err(admission::busy(other));
            }
            check_number(request, id)?;
            operations::forget(site, if ours { OPERATIONS_KEPT } else { 0 })?;
            memory.operations_of = Some(request.fence.cluster.clone());
            accept(site, memory, operation)?;
        }
    }
    // The operation was accepted, now or before. An error from here on must not look as if it had not begun.
    let is_followed = |state: &OperationState| *state == OperationState::Running;
    Ok(reply::follow(site, request, id, is_followed).unwrap_or(Answer::Pending))
}

/// A new operation has the number of the order that brings it. Otherwise it could pass for one that an operator remembers.
fn check_number(request: &Request, id: OperationId) -> Result<()> {
    let number = OperationId { epoch: request.fence.epoch, sequence: request.fence.sequence };
    if id != number {
        return Err(failure::invalid(format!("operation {id} came with the order {number}")));
    }
    Ok(())
}

/// Resumes an operation that was accepted before.
fn attach(site: &Site<'_>, memory: &Memory, verdict: &Verdict) -> Result<()> {
    if *verdict == Verdict::Remember {
        memory.write(site.disk(), &site.layout)?;
    }
    operations::resume_unfinished(site, memory).map(drop)
}

/// Records an operation, and starts its execution. An error means that it was not accepted.
fn accept(site: &Site<'_>, mut memory: Memory, operation: &Operation) -> Result<()> {
    let id = operation.id;
    validation::check(operation, facts::architecture()?, &site.layout)?;
    if let Change::Install(release) = &operation.change {
        claims::check(site, &operation.component, &release.recipe.content)?;
    }
    let order = serde_json::to_vec(operation).map_err(|error| failure::host(error.to_string()))?;
    resume::arm(site)?;
    // In this order: the first line of the journal makes the operation known, so its order has to be stored by then.
    memory.latest = Some(id);
    memory.write(site.disk(), &site.layout)?;
    site.disk().replace(&site.layout.order(id), &order, 0o600)?;
    operations::journal(site, id)?.write(site.disk(), Step::Accepted)?;
    // An error from here on is not lost: the next request reads in the journal how far the operation came.
    let _ = match site.system.detach(&site.layout, id, operations::persists(operation)) {
        Ok(()) => await_execution(site, id),
        Err(cause) => give_up(site, id, cause),
    };
    Ok(())
}

/// Ends an operation whose execution could not be started. An execution may have been started although the call failed;
/// then it goes on.
fn give_up(site: &Site<'_>, id: OperationId, cause: Cause) -> Result<()> {
    let Some(_lock) = site.try_lock_execution()? else { return Ok(()) };
    let mut journal = operations::journal(site, id)?;
    if journal.lines().len() > 1 {
        return Ok(());
    }
    journal.write(site.disk(), Step::Ended { state: OperationState::Failed(cause) })
}

/// Waits until the execution has begun, so that the next request does not take it for dead.
fn await_execution(site: &Site<'_>, id: OperationId) -> Result<()> {
    let deadline = site.system.now() + PATIENCE;
    while site.system.now() < deadline {
        let begun = operations::lines(site, id).is_some_and(|lines| lines.len() > 1);
        if begun || site.is_executing()? {
            break;
        }
        site.system.wait(reply::POLL);
    }
    Ok(())
}
