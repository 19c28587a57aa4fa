//! What people do on a host that no operator can or will do: repair what is damaged, and forget who gave orders.

use std::collections::BTreeMap;

use seaworthy_api::host::translate::is_object_name;
use seaworthy_model::cause::{Cause, CauseKind};

use crate::disk;
use crate::execution;
use crate::failure::Result;
use crate::journal::{self, Journal, Step};
use crate::manifest::Manifest;
use crate::memory::{Memory, SeenFence};
use crate::operations;
use crate::site::Site;

/// Puts right what is damaged of the program's own files, and ends the operation that was interrupted. Returns what it found,
/// a sentence each.
///
/// # Errors
/// When the memory of owner and fences is damaged, which only a person can decide about, or an operation is under way.
pub(crate) fn repair(site: &Site<'_>) -> Result<Vec<String>> {
    let _lock = site.admit()?;
    let memory = Memory::read(&site.layout)?;
    if site.is_executing()? {
        return Err(Cause::new(
            CauseKind::HostBusy,
            "an operation is under way; repair the host when it has ended",
        ));
    }
    let mut found = Vec::new();
    for id in operations::ids(site)? {
        let path = site.layout.journal(id);
        if journal::is_damaged(&path) {
            operations::journal(site, id)?;
            let aside = journal::damaged(&path);
            found.push(format!(
                "the journal of operation {id} was damaged; it lies in {} now",
                aside.display()
            ));
        }
        if let Err(cause) = operations::order(site, id) {
            found.push(format!("the order of operation {id} is lost: {}", cause.detail));
        }
    }
    if let Some(id) = operations::unfinished(site, &memory)? {
        execution::execute(site, id)?;
        found.push(format!("operation {id} had been interrupted, and was finished or undone"));
    }
    for name in disk::names(&site.layout.staging())? {
        site.disk().remove_tree(&site.layout.staging().join(&name))?;
        found.push(format!("what was left in staging of operation {name} was removed"));
    }
    for name in disk::names(&site.layout.currents())?.into_iter().filter(|name| is_object_name(name)) {
        match Manifest::current(&site.layout, &name) {
            None => found
                .push(format!("the manifest of {name} is lost: whoever manages this host installs it again")),
            Some(manifest) if !manifest.inspect(&site.layout, site.system)?.drift.is_none() => {
                found.push(format!(
                    "{name} is not as it was installed: whoever manages this host puts it right"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(found)
}

/// Makes the host forget its owner. The fences stay. Returns the memory as it was; `None` when it was damaged.
///
/// # Errors
/// When the memory cannot be written.
pub(crate) fn forget_owner(site: &Site<'_>) -> Result<Option<Memory>> {
    let _lock = site.admit()?;
    let before = Memory::read(&site.layout).ok();
    let owner = before.as_ref().and_then(|memory| memory.owner.clone());
    note(site, Step::OwnerForgotten { owner })?;
    let after = Memory { owner: None, ..before.clone().unwrap_or_default() };
    if before.is_none() {
        // It may be anything, even a directory.
        site.disk().remove_tree(&site.layout.memory())?;
    }
    after.write(site.disk(), &site.layout)?;
    Ok(before)
}

/// Makes the host forget the fences that it has seen, so that it obeys an operator whose epoch is lower. Returns the memory as
/// it was.
///
/// # Errors
/// When the memory is damaged, or cannot be written.
pub(crate) fn forget_fences(site: &Site<'_>) -> Result<Memory> {
    let _lock = site.admit()?;
    let before = Memory::read(&site.layout)?;
    note_forgotten(site, before.seen.clone())?;
    let after = Memory { seen: Default::default(), ..before.clone() };
    after.write(site.disk(), &site.layout)?;
    Ok(before)
}

/// Records that these fences, by cluster, are about to be forgotten.
///
/// # Errors
/// When that cannot be written.
pub(crate) fn note_forgotten(site: &Site<'_>, fences: BTreeMap<String, SeenFence>) -> Result<()> {
    note(site, Step::FencesForgotten { fences })
}

/// Recorded before it is done, so that nothing is forgotten without a trace.
fn note(site: &Site<'_>, step: Step) -> Result<()> {
    Journal::open(site.disk(), site.layout.people_journal(), site.system.boot()?)?.write(site.disk(), step)
}
