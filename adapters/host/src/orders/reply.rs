//! The answers to orders that were accepted.

use std::time::Duration;

use seaworthy_api::host::wire::{Answer, Request};
use seaworthy_model::host::{OperationId, OperationState};

use crate::facts;
use crate::failure::{self, Result};
use crate::memory::Memory;
use crate::operations;
use crate::site::Site;

/// How often the journal of a running operation is looked at.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// The order was carried out: the facts as they are now, with what became of `operation`.
pub(super) fn done(
    site: &Site<'_>,
    request: &Request,
    memory: &Memory,
    operation: Option<OperationId>,
) -> Result<Answer> {
    let facts = facts::gather(site, memory, &request.fence.cluster, operation)?;
    Ok(Answer::Done(Box::new(facts)))
}

/// Waits as long as an operation is in a state that `is_followed`, and answers with its outcome.
pub(super) fn follow(
    site: &Site<'_>,
    request: &Request,
    id: OperationId,
    is_followed: impl Fn(&OperationState) -> bool,
) -> Result<Answer> {
    loop {
        match operations::state(site, id)? {
            state if is_followed(&state) => {}
            OperationState::Running | OperationState::Unconfirmed | OperationState::Succeeded => {
                let memory = Memory::read(&site.layout)?;
                return done(site, request, &memory, Some(id));
            }
            OperationState::Failed(cause) => return Ok(Answer::Refused(cause)),
            OperationState::Interrupted => {
                let detail = format!("operation {id} was interrupted, and what it had done was undone");
                return Ok(Answer::Later(failure::host(detail)));
            }
        }
        if !site.is_executing()? && is_followed(&operations::state(site, id)?) {
            return Ok(Answer::Pending);
        }
        site.system.wait(POLL);
    }
}
