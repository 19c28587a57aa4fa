//! Deletes what a component made while it ran. Root does that on every host of a fleet, because of an object that people
//! wrote. So nothing is deleted that the rule of the model protects, wherever links lead, and nothing that is mounted
//! there.

use std::fs;
use std::path::{Path, PathBuf};

use seaworthy_model::cause::Cause;

use crate::disk;
use crate::failure::{self, Result};
use crate::place;
use crate::site::Site;
use crate::validation;

/// What people can do about a path that is not deleted.
const WAY_OUT: &str = "install a version whose removal does not list it, then remove that";

/// Unmounts whatever is mounted at `path` or below it, and deletes it with all that is in it, if it is there. The paths that
/// are `spared` stay, with the directories above them.
pub(crate) fn clear(site: &Site<'_>, path: &str, spared: &[String]) -> Result<()> {
    let place = place::real(site, path, validation::check_removed)
        .map_err(|cause| Cause::new(cause.kind, format!("{}; {WAY_OUT}", cause.detail)))?;
    let found = match fs::symlink_metadata(&place) {
        Ok(found) => found,
        Err(error) if disk::is_absent(&error) => return Ok(()),
        Err(error) => return Err(failure::on("look at", &place, &error)),
    };
    if !found.is_dir() && place.parent() == Some(&site.layout.on_host("/etc")) {
        let detail = format!("{path:?} is a file directly in /etc, and those are not deleted; {WAY_OUT}");
        return Err(failure::invalid(detail));
    }
    let spared: Vec<PathBuf> = spared.iter().map(|path| site.layout.on_host(path)).collect();
    // The last one first: what was mounted later lies on top of it, or inside.
    for mount in mounts_below(site, &place, &spared)?.iter().rev() {
        site.system.unmount(mount)?;
        site.disk().step(&format!("unmount {}", mount.display()));
    }
    if let Some(mount) = mounts_below(site, &place, &spared)?.first() {
        return Err(failure::host(format!("{} is mounted still, or again", mount.display())));
    }
    remove_around(site, &place, &spared)
}

/// Removes a directory with all that is in it but for the places that are `spared`, and what is in those.
fn remove_around(site: &Site<'_>, place: &Path, spared: &[PathBuf]) -> Result<()> {
    if spared.iter().any(|spared| spared == place) {
        return Ok(());
    }
    if !spared.iter().any(|spared| spared.starts_with(place)) {
        return site.disk().remove_tree(place);
    }
    disk::names(place)?.iter().try_for_each(|name| remove_around(site, &place.join(name), spared))
}

/// What is mounted at a place or below it, without what is in the `spared` ones.
fn mounts_below(site: &Site<'_>, place: &Path, spared: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut mounts = site.system.mounts()?;
    let is_spared =
        |mount: &Path| spared.iter().any(|spared| spared.starts_with(place) && mount.starts_with(spared));
    mounts.retain(|mount| mount.starts_with(place) && !is_spared(mount));
    Ok(mounts)
}
