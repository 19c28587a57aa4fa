//! Links on the host that lead through `current/` into whatever release is the current one. The unit of a component is
//! one of them, so swapping the current release changes nothing here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use seaworthy_model::component::Content;

use crate::digest::digest_of_file;
use crate::disk;
use crate::failure::{self, Result};
use crate::layout::OWN;
use crate::manifest::{HostLink, Manifest};
use crate::place;
use crate::site::Site;
use crate::validation;

/// Where systemd looks for units that an administrator made.
const UNITS: &str = "/etc/systemd/system";
/// What is linked here is started at boot.
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// The links of a component with this content.
pub(crate) fn of(site: &Site<'_>, component: &str, content: &Content) -> Vec<HostLink> {
    let current = site.layout.current(component);
    let through = |inside: &str| current.join(inside).display().to_string();
    let mut links: Vec<HostLink> = content
        .links
        .iter()
        .map(|link| HostLink { path: link.path.clone(), target: through(&link.target) })
        .collect();
    if let Some(unit) = &content.unit {
        let name = &unit.name;
        let file = through(&format!("{}/{name}", OWN));
        links.push(HostLink { path: unit_path(name), target: file });
        links.push(HostLink { path: format!("{WANTED}/{name}"), target: format!("../{name}") });
    }
    links
}

/// Where the file of a unit is.
pub(crate) fn unit_path(name: &str) -> String {
    format!("{UNITS}/{name}")
}

/// Makes those of the release's links that are missing on the host, and changes nothing that is there. Returns the paths
/// of files that are not ours and have the contents that the release would put there: these are adopted. A file with other
/// contents that belongs neither to this component nor to its release `before` is in the way: then it fails.
pub(crate) fn add_missing(
    site: &Site<'_>,
    release: &Manifest,
    before: Option<&Manifest>,
) -> Result<Vec<String>> {
    let mut found_alike = Vec::new();
    for link in &release.links {
        place::real(site, &link.path, validation::check_link)?;
        let place = site.layout.on_host(&link.path);
        site.disk().remove_temporary(&place)?;
        match fs::symlink_metadata(&place) {
            Err(error) if disk::is_absent(&error) => {
                make_parent(site, &place)?;
                site.disk().create_link(&place, Path::new(&link.target))?;
                sync_parent(site, &place)?;
            }
            Err(error) => return Err(failure::on("look at", &place, &error)),
            Ok(_) if link.is_intact(&site.layout) => {}
            Ok(found) => {
                let ours = before.is_some_and(|manifest| has(&manifest.links, &link.path));
                if !ours && is_alike(site, link, release) {
                    found_alike.push(link.path.clone());
                } else if !ours || found.is_dir() {
                    return Err(failure::invalid(format!(
                        "{} is in the way: it is there already, and neither a link of this component nor what this \
                         release would put there",
                        place.display()
                    )));
                }
            }
        }
    }
    Ok(found_alike)
}

/// Whether what is in the place of a link has the same contents as what the link will lead to. Of the link that has a unit
/// started at boot: whether it is one for the same unit, however it is written.
fn is_alike(site: &Site<'_>, link: &HostLink, release: &Manifest) -> bool {
    let place = site.layout.on_host(&link.path);
    let current = site.layout.current(&release.component);
    let Ok(inside) = Path::new(&link.target).strip_prefix(&current) else {
        let Some(name) = place.file_name() else { return false };
        let unit = site.layout.on_host(UNITS).join(name);
        return place.canonicalize().is_ok_and(|found| unit.canonicalize().is_ok_and(|unit| unit == found));
    };
    let wanted = inside.to_str().and_then(|inside| release.file(inside));
    wanted.is_some()
        && fs::metadata(&place).is_ok_and(|found| found.is_file())
        && digest_of_file(&place).ok() == wanted
}

/// Replaces adopted `links` by the files that they lead to, as they were before the adoption.
pub(crate) fn give_back(site: &Site<'_>, links: &[HostLink], paths: &[String]) -> Result<()> {
    let found = links.iter().filter(|link| paths.contains(&link.path) && link.is_intact(&site.layout));
    for place in found.map(|link| site.layout.on_host(&link.path)) {
        let on = |error| failure::on("read", &place, &error);
        let metadata = fs::metadata(&place).map_err(on)?;
        if place.canonicalize().map_err(on)?.starts_with(site.layout.root()) {
            let contents = fs::read(&place).map_err(on)?;
            site.disk().replace(&place, &contents, metadata.permissions().mode() & 0o7777)?;
        }
    }
    Ok(())
}

/// Makes all of `links` what they should be, whatever is there in their place.
pub(crate) fn put_right(site: &Site<'_>, links: &[HostLink]) -> Result<()> {
    for link in links {
        let place = site.layout.on_host(&link.path);
        site.disk().remove_temporary(&place)?;
        if !link.is_intact(&site.layout) {
            make_parent(site, &place)?;
            site.disk().point(&place, Path::new(&link.target))?;
        }
    }
    Ok(())
}

/// Removes those of `links` that are not among `kept` and lead to where we made them lead.
pub(crate) fn remove(site: &Site<'_>, links: &[HostLink], kept: &[HostLink]) -> Result<()> {
    for link in links.iter().filter(|link| !has(kept, &link.path)) {
        let place = site.layout.on_host(&link.path);
        site.disk().remove_temporary(&place)?;
        if link.is_intact(&site.layout) {
            site.disk().remove(&place)?;
        }
    }
    Ok(())
}

fn has(links: &[HostLink], path: &str) -> bool {
    links.iter().any(|link| link.path == path)
}

pub(crate) fn make_parent(site: &Site<'_>, place: &Path) -> Result<()> {
    place.parent().map_or(Ok(()), |parent| site.disk().make_dir(parent, 0o755))
}

fn sync_parent(site: &Site<'_>, place: &Path) -> Result<()> {
    place.parent().map_or(Ok(()), |parent| site.disk().sync_dir(parent))
}
