//! Where a path of the host really leads. Links may lie above it; what they lead to has to keep the same rule as the path
//! itself, and nobody but root may be able to change them.

use std::path::{Path, PathBuf};

use crate::disk;
use crate::failure::{self, Result};
use crate::layout::Layout;
use crate::site::Site;

/// A rule for paths on the host, in [`crate::validation`].
pub(crate) type Rule = fn(&str, &Layout) -> Result<()>;

/// The real place of `path`, of which the last part is not followed. Directories above it that are missing yet are no links.
///
/// # Errors
/// When `path` or the real place does not keep the rule, or others than root may write to a directory above it: they could
/// lead root to any place.
pub(crate) fn real(site: &Site<'_>, path: &str, rule: Rule) -> Result<PathBuf> {
    rule(path, &site.layout)?;
    let place = site.layout.on_host(path);
    let Some(above) = place.ancestors().skip(1).find(|above| above.exists()) else { return Ok(place) };
    let (prefix, root) = (canonical(site.layout.prefix())?, canonical_or_itself(site.layout.root()));
    let real_above = canonical(above)?;
    real_above.ancestors().take_while(|above| above.starts_with(&prefix)).try_for_each(disk::check_access)?;
    let real = place.strip_prefix(above).map_or_else(|_| real_above.clone(), |rest| real_above.join(rest));
    let inside = real.strip_prefix(&prefix).ok().and_then(Path::to_str);
    let is_fine = !real.starts_with(&root)
        && inside.is_some_and(|inside| rule(&format!("/{inside}"), &site.layout).is_ok());
    if !is_fine {
        let detail = format!("{path:?} leads to {}, where no component may have anything", real.display());
        return Err(failure::invalid(detail));
    }
    Ok(real)
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| failure::on("look at", path, &error))
}

fn canonical_or_itself(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
