//! An artefact that was fetched before an operation needs it. At most one is kept, under its digest, until the next operation
//! that installs something has ended.

use std::fs;
use std::path::Path;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Artefact;

use crate::digest::digest_of_file;
use crate::disk;
use crate::failure::{self, Result};
use crate::fetch;
use crate::lock::Lock;
use crate::site::Site;

/// Fetches an artefact, unless it is there. Any other goes. If this is killed, what is left of it is in the way of nobody, and
/// goes with the rest.
pub(crate) fn fetch(site: &Site<'_>, artefact: &Artefact) -> Result<()> {
    let (disk, directory) = (site.disk(), site.layout.artefacts());
    let Some(_lock) = Lock::attempt(&site.layout.fetch_lock())? else {
        return Err(Cause::new(CauseKind::HostBusy, "another artefact is being fetched"));
    };
    let name = artefact.sha256.to_string();
    for other in disk::names(&directory)?.iter().filter(|other| **other != name) {
        disk.remove_tree(&directory.join(other))?;
    }
    let place = directory.join(&name);
    if is_intact(&place, artefact) {
        return Ok(());
    }
    disk.remove_tree(&place)?;
    let partial = directory.join(format!("{name}.part"));
    let room = disk::room(&directory)?;
    let fetched = fetch::fetch(disk, artefact, &partial, room).and_then(|_| disk.rename(&partial, &place));
    if fetched.is_err() {
        disk.remove_tree(&partial)?;
    }
    fetched
}

/// Moves an artefact to `place`, if it was fetched and is whole. Gives its size.
pub(crate) fn take(site: &Site<'_>, artefact: &Artefact, place: &Path) -> Result<Option<u64>> {
    let kept = site.layout.artefacts().join(artefact.sha256.to_string());
    if !is_intact(&kept, artefact) {
        return Ok(None);
    }
    site.disk().rename(&kept, place)?;
    let found = fs::symlink_metadata(place).map_err(|error| failure::on("look at", place, &error))?;
    Ok(Some(found.len()))
}

/// Removes what was fetched.
pub(crate) fn clear(site: &Site<'_>) -> Result<()> {
    let directory = site.layout.artefacts();
    disk::names(&directory)?.iter().try_for_each(|name| site.disk().remove_tree(&directory.join(name)))
}

/// Whether an artefact is there as it was promised. What cannot be read is not.
fn is_intact(place: &Path, artefact: &Artefact) -> bool {
    let is_ours =
        fs::symlink_metadata(place).is_ok_and(|found| found.is_file() && disk::is_ours_alone(&found));
    is_ours && digest_of_file(place).is_ok_and(|digest| digest == artefact.sha256)
}
