//! Deleting what a component made while it ran. It is done by root, on every host of a fleet, by the word of an object
//! that people wrote: so nothing is deleted that the rule of the model protects, wherever links lead, and nothing that
//! is mounted there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Host;
use crate::disk;
use crate::failure::{self, Result};
use crate::links;
use crate::order;

/// Unmounts whatever is mounted at `path` or below it, and deletes it with all that is in it, if it is there.
pub(crate) fn clear(host: &Host<'_>, path: &str) -> Result<()> {
    order::check_removed(path, &host.layout)?;
    let Some(place) = real_place(host, path)? else { return Ok(()) };
    // The last one first: what was mounted later lies on top, or below.
    for mount in mounts_below(host, &place)?.iter().rev() {
        host.system.unmount(mount)?;
        host.disk().step(&format!("unmount {}", mount.display()));
    }
    if let Some(mount) = mounts_below(host, &place)?.first() {
        return Err(failure::host(format!("{} is mounted still, or again", mount.display())));
    }
    host.disk().remove_tree(&place)
}

/// Where a path of the host really is; `None` when nothing is there. Links above it may lead elsewhere, but not to what
/// is protected, and nobody else may be able to turn them.
fn real_place(host: &Host<'_>, path: &str) -> Result<Option<PathBuf>> {
    let place = host.layout.on_host(path);
    if fs::symlink_metadata(&place).is_err_and(|error| disk::is_absent(&error)) {
        return Ok(None);
    }
    links::check_above(host, &place)?;
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Ok(None) };
    let real = |path: &Path| path.canonicalize().map_err(|error| failure::on("look at", path, &error));
    let (above, prefix) = (real(parent)?, real(host.layout.prefix())?);
    let place = above.join(name);
    let inside = place.strip_prefix(&prefix).ok().and_then(Path::to_str);
    match inside.map(|inside| order::check_removed(&format!("/{inside}"), &host.layout)) {
        Some(Ok(())) => Ok(Some(place)),
        Some(Err(_)) | None => {
            Err(failure::invalid(format!("{path:?} leads to {}, which is not deleted", place.display())))
        }
    }
}

fn mounts_below(host: &Host<'_>, place: &Path) -> Result<Vec<PathBuf>> {
    let mut mounts = host.system.mounts()?;
    mounts.retain(|mount| mount.starts_with(place));
    Ok(mounts)
}
