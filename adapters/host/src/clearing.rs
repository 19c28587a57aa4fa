//! Deletes what a component made while it ran. Root does that on every host of a fleet, because of an object that people
//! wrote. So nothing is deleted that the rule of the model protects, wherever links lead, and nothing that is mounted
//! there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::failure::{self, Result};
use crate::links;
use crate::site::Site;
use crate::validation;

/// Unmounts whatever is mounted at `path` or below it, and deletes it with all that is in it, if it is there.
pub(crate) fn clear(site: &Site<'_>, path: &str) -> Result<()> {
    validation::check_removed(path, &site.layout)?;
    let Some(place) = real_place(site, path)? else { return Ok(()) };
    // The last one first: what was mounted later lies on top of it, or inside.
    for mount in mounts_below(site, &place)?.iter().rev() {
        site.system.unmount(mount)?;
        site.disk().step(&format!("unmount {}", mount.display()));
    }
    if let Some(mount) = mounts_below(site, &place)?.first() {
        return Err(failure::host(format!("{} is mounted still, or again", mount.display())));
    }
    site.disk().remove_tree(&place)
}

/// The real path of a path of the host; `None` when nothing is there. Links above it may lead elsewhere, but not to a
/// protected place, and only root may be able to change them.
fn real_place(site: &Site<'_>, path: &str) -> Result<Option<PathBuf>> {
    let place = site.layout.on_host(path);
    if fs::symlink_metadata(&place).is_err_and(|error| disk::is_absent(&error)) {
        return Ok(None);
    }
    links::check_above(site, &place)?;
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Ok(None) };
    let real = |path: &Path| path.canonicalize().map_err(|error| failure::on("look at", path, &error));
    let (above, prefix) = (real(parent)?, real(site.layout.prefix())?);
    let place = above.join(name);
    let inside = place.strip_prefix(&prefix).ok().and_then(Path::to_str);
    match inside.map(|inside| validation::check_removed(&format!("/{inside}"), &site.layout)) {
        Some(Ok(())) => Ok(Some(place)),
        Some(Err(_)) | None => {
            Err(failure::invalid(format!("{path:?} leads to {}, which is not deleted", place.display())))
        }
    }
}

fn mounts_below(site: &Site<'_>, place: &Path) -> Result<Vec<PathBuf>> {
    let mut mounts = site.system.mounts()?;
    mounts.retain(|mount| mount.starts_with(place));
    Ok(mounts)
}
