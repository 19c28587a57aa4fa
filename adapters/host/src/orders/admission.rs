//! The admission of orders: one at a time, and by what the host remembers of its owner and of earlier fences.

use seaworthy_api::host::wire::Request;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationId;

use crate::failure::Result;
use crate::memory::{Memory, Verdict};
use crate::operations;
use crate::site::Site;

/// Judges an order by the memory, and remembers it. The admission lock is held.
pub(super) fn judge(site: &Site<'_>, request: &Request) -> Result<Memory> {
    let mut memory = Memory::read(&site.layout)?;
    match memory.judge(&request.fence, &request.command) {
        Verdict::Answer => Ok(memory),
        Verdict::Remember => memory.write(site.disk(), &site.layout).map(|()| memory),
        Verdict::Refuse(cause) => Err(cause),
    }
}

/// What is remembered, while no operation is under way.
pub(super) fn idle_memory(site: &Site<'_>) -> Result<Memory> {
    let memory = Memory::read(&site.layout)?;
    operations::resume_unfinished(site, &memory)?.map_or(Ok(memory), |id| Err(busy(id)))
}

pub(super) fn busy(id: OperationId) -> Cause {
    Cause::new(CauseKind::HostBusy, format!("operation {id} is under way"))
}
