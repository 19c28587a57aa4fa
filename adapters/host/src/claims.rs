//! What a component has for itself on a host: its unit, its links, and the directories that go with it. Two components that
//! claim the same would undo each other's work for ever. A directory of one component may be inside that of another one, as
//! the settings of a network are inside `/etc/cni`, which goes with the container runtime.

use seaworthy_api::host::translate::is_object_name;
use seaworthy_model::component::Content;
use seaworthy_model::host_path::is_within;
use seaworthy_model::removal::Removal;

use crate::disk;
use crate::failure::{self, Result};
use crate::layout::Layout;
use crate::links;
use crate::manifest::{HostLink, Manifest};
use crate::site::Site;

/// What one component claims.
struct Claims<'a> {
    unit: Option<&'a str>,
    links: Vec<&'a str>,
    removed: &'a [String],
}

impl<'a> Claims<'a> {
    fn new(unit: Option<&'a str>, links: &'a [HostLink], removal: Option<&'a Removal>) -> Self {
        let links = links.iter().map(|link| link.path.as_str()).collect();
        Self { unit, links, removed: removal.map_or(&[], |removal| &removal.paths) }
    }

    fn of_manifest(manifest: &'a Manifest) -> Self {
        let unit = manifest.unit.as_ref().map(|unit| unit.name.as_str());
        Self::new(unit, &manifest.links, manifest.removal.as_ref())
    }

    /// What both components claim, in words.
    fn contested(&self, other: &Self) -> Option<String> {
        if let Some(unit) = self.unit.filter(|unit| other.unit == Some(*unit)) {
            return Some(format!("unit {unit}"));
        }
        let links = self.links.iter().find(|link| other.links.iter().any(|theirs| overlap(link, theirs)));
        let directory = || self.removed.iter().find(|path| other.removed.contains(path));
        links
            .map(|link| format!("link {link}"))
            .or_else(|| directory().map(|path| format!("directory {path}")))
    }
}

/// Refuses a release of `component` that claims what another component of this host has.
pub(crate) fn check(site: &Site<'_>, component: &str, content: &Content) -> Result<()> {
    let links = links::of(site, component, content);
    let unit = content.unit.as_ref().map(|unit| unit.name.as_str());
    let wanted = Claims::new(unit, &links, content.removal.as_ref());
    for other in others(&site.layout, component)? {
        if let Some(what) = wanted.contested(&Claims::of_manifest(&other)) {
            return Err(failure::invalid(format!(
                "{what} is claimed by component {component}, and by component {} already",
                other.component
            )));
        }
    }
    Ok(())
}

/// What other components have on the host: it stays when a directory around it is deleted with `component`.
pub(crate) fn of_others(site: &Site<'_>, component: &str) -> Result<Vec<String>> {
    let others = others(&site.layout, component)?;
    let claimed = others.iter().flat_map(|other| {
        let Claims { links, removed, .. } = Claims::of_manifest(other);
        links.into_iter().chain(removed.iter().map(String::as_str)).map(str::to_owned).collect::<Vec<_>>()
    });
    Ok(claimed.collect())
}

/// What the other components of the host consist of.
fn others(layout: &Layout, component: &str) -> Result<Vec<Manifest>> {
    let names = disk::names(&layout.currents())?;
    let others = names.iter().filter(|name| *name != component && is_object_name(name));
    Ok(others.filter_map(|name| Manifest::current(layout, name)).collect())
}

fn overlap(a: &str, b: &str) -> bool {
    is_within(a, b) || is_within(b, a)
}
