//! The operations that this host has accepted: the order, the journal and the state of each.

use seaworthy_api::host::wire::{Change, Operation};
use seaworthy_model::host::{OperationId, OperationState};

use crate::disk;
use crate::failure::{self, Result};
use crate::journal::{self, Journal, Line};
use crate::memory::Memory;
use crate::site::Site;

/// The longest stored order: a request as JSON, with some room.
const ORDER_MAX: u64 = 64 << 20;

/// The order of an accepted operation.
pub(crate) fn order(site: &Site<'_>, id: OperationId) -> Result<Operation> {
    let path = site.layout.order(id);
    let stored = disk::read(&path, ORDER_MAX)?.unwrap_or_default();
    serde_json::from_slice(&stored)
        .map_err(|error| failure::host(format!("{} cannot be read: {error}", path.display())))
}

/// The journal of an operation; `None` when the host has never heard of it.
pub(crate) fn lines(site: &Site<'_>, id: OperationId) -> Option<Vec<Line>> {
    journal::read(&site.layout.journal(id))
}

/// Opens the journal of an operation, to write to it.
pub(crate) fn journal(site: &Site<'_>, id: OperationId) -> Result<Journal> {
    Journal::open(site.disk(), site.layout.journal(id), site.system.boot()?)
}

/// The state of an operation in this boot.
pub(crate) fn state(site: &Site<'_>, id: OperationId) -> Result<OperationState> {
    let Some(lines) = lines(site, id) else { return Ok(OperationState::Running) };
    Ok(journal::state(&lines, site.system.boot()?))
}

/// Whether an operation waits to be confirmed, and its time is not over: then nothing else is to be done for it.
fn is_waiting(site: &Site<'_>, id: OperationId) -> Result<bool> {
    let lines = lines(site, id).unwrap_or_default();
    let until = journal::confirming(&lines, site.system.boot()?);
    Ok(until.is_some_and(|until| site.system.uptime() < until))
}

/// The latest operation, if it has not ended.
pub(crate) fn unfinished(site: &Site<'_>, memory: &Memory) -> Result<Option<OperationId>> {
    let Some(id) = memory.latest else { return Ok(None) };
    Ok((lines(site, id).is_some() && state(site, id)?.is_open()).then_some(id))
}

/// The latest operation, if it has not ended. Starts its execution again when no process executes it, unless it only
/// waits to be confirmed.
pub(crate) fn resume_unfinished(site: &Site<'_>, memory: &Memory) -> Result<Option<OperationId>> {
    let Some(id) = unfinished(site, memory)? else { return Ok(None) };
    if !site.is_executing()? && !is_waiting(site, id)? {
        let persists = order(site, id).is_ok_and(|operation| persists(&operation));
        site.system.detach(&site.layout, id, persists)?;
    }
    Ok(Some(id))
}

/// Whether the system has to start an execution again that was killed: an operation that is to be confirmed may have cut
/// the host off, and then no operator comes to do it.
pub(crate) fn persists(operation: &Operation) -> bool {
    match &operation.change {
        Change::Install(release) => release.recipe.content.confirm.is_some(),
        Change::Remove => false,
    }
}

/// The operations that are remembered, the oldest first.
pub(crate) fn ids(site: &Site<'_>) -> Result<Vec<OperationId>> {
    let names = disk::names(&site.layout.operations())?;
    let ids = names.iter().filter_map(|name| OperationId::parse(name.strip_suffix(".json")?));
    let mut ids: Vec<OperationId> = ids.collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Forgets all but the last `kept` operations.
pub(crate) fn forget(site: &Site<'_>, kept: usize) -> Result<()> {
    let ids = ids(site)?;
    let surplus = ids.len().saturating_sub(kept);
    for id in &ids[..surplus] {
        let journal = site.layout.journal(*id);
        // Damage may have put a directory in place of any of them.
        for path in [&journal::damaged(&journal), &journal, &site.layout.order(*id)] {
            site.disk().remove_tree(path)?;
        }
    }
    Ok(())
}
