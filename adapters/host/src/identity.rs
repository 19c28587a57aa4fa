//! The identity of the node that this host is: its key is made here, its certificate comes from elsewhere, and both go
//! into one file.
//!
//! The state is one small record, replaced as a whole. A key is in it before it is reported, and stays until the file with
//! its certificate is in place. The file itself is a link to one with a name of its own, as kubelet's rotation wants it; so
//! at every instant there is the complete old identity or the complete new one.

use std::path::{Path, PathBuf};

use seaworthy_model::certificate::{Certificate, HostIdentity, NODE_PREFIX, PendingRequest};
use seaworthy_model::digest::Digest;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::disk;
use crate::failure::{self, Result};
use crate::journal::{Journal, Step};
use crate::keys::{self, Found};
use crate::links;
use crate::place;
use crate::site::Site;
use crate::validation;

/// The longest record: a request has some 400 bytes, a key some 250.
const RECORD_MAX: u64 = 1 << 16;
/// When the journal is begun anew: it has a line or two a year.
const JOURNAL_MAX: u64 = 1 << 20;

/// What is remembered of the identity. Nobody but root may read it.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// The file that the identity belongs in.
    pub(crate) path: String,
    /// The key that waits for its certificate.
    pub(crate) pending: Option<Pending>,
    /// The file that the link at `path` was made to lead to.
    installed: Option<PathBuf>,
    /// The one before it, which may be there still.
    pub(crate) obsolete: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pending {
    /// The node that it is for.
    pub(crate) node: String,
    pub(crate) key: Digest,
    private: String,
    request: String,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.private.zeroize();
    }
}

impl Pending {
    /// Makes a key for a node, and its request.
    pub(crate) fn make(site: &Site<'_>, node: &str) -> Result<Self> {
        let keys::Made { key, private, request } = keys::make(node)?;
        note(site, Step::KeyMade { key })?;
        Ok(Self { node: node.to_owned(), key, private: private.to_string(), request })
    }
}

impl Record {
    /// Reads the record. One that cannot be read has lost at most a key that has no certificate yet.
    pub(crate) fn read(site: &Site<'_>) -> Result<Self> {
        let stored = disk::read(&site.layout.identity(), RECORD_MAX)?.map(Zeroizing::new);
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default())
    }

    pub(crate) fn write(&self, site: &Site<'_>) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|error| failure::host(error.to_string()))?;
        site.disk().replace(&site.layout.identity(), &Zeroizing::new(text), 0o600)
    }
}

/// What is reported of the identity; `None` when none was ever asked for.
pub(crate) fn report(site: &Site<'_>) -> Result<Option<HostIdentity>> {
    let record = Record::read(site)?;
    if record.path.is_empty() {
        return Ok(None);
    }
    // Nothing but this depends on the file.
    let certificate = present(site, &record.path).unwrap_or_default();
    let pending = record
        .pending
        .as_ref()
        .map(|pending| PendingRequest { key: pending.key, request: pending.request.as_str().into() });
    Ok(Some(HostIdentity { path: record.path.as_str().into(), certificate, pending }))
}

/// The certificate of a node in the file at `path`, if it is there with its key.
///
/// # Errors
/// When anything is there that is neither a node's nor the rest of a rotation: it may be replaced by nothing of ours.
pub(crate) fn present(site: &Site<'_>, path: &str) -> Result<Option<Certificate>> {
    let place = site.layout.on_host(path);
    let Some(contents) = disk::read(&place, keys::LENGTH_MAX)?.map(Zeroizing::new) else { return Ok(None) };
    match keys::look(&contents) {
        Found::Certificate(certificate) if certificate.common_name.starts_with(NODE_PREFIX) => {
            Ok(Some(certificate))
        }
        Found::Remains if rotated(site, &place).is_some() => Ok(None),
        Found::Certificate(_) | Found::Remains | Found::Other => {
            let place = place.display();
            Err(failure::invalid(format!(
                "{place} is in the way: it is there, and no certificate of a node with its key"
            )))
        }
    }
}

/// Writes certificate and key into a new file, and makes the link lead there.
pub(crate) fn put(site: &Site<'_>, record: &mut Record, pending: &Pending, certificate: &str) -> Result<()> {
    let link = site.layout.on_host(&record.path);
    place::real(site, &record.path, validation::check_identity)?;
    links::make_parent(site, &link)?;
    let name = own_name(&link, pending.key);
    let place = link.with_file_name(&name);
    let both = Zeroizing::new(format!("{}\n{}", certificate.trim_end(), pending.private));
    site.disk().replace(&place, both.as_bytes(), 0o600)?;
    site.disk().point(&link, Path::new(&name))?;
    record.obsolete = record.installed.take().filter(|before| *before != place);
    record.installed = Some(place);
    Ok(())
}

/// Removes the identity that was put here, and the key that waits for one.
pub(crate) fn remove(site: &Site<'_>) -> Result<()> {
    let record = Record::read(site)?;
    if let Some(installed) = &record.installed {
        let link = site.layout.on_host(&record.path);
        // Rotation may have put the successor of ours where the link leads by now.
        if let Some(place) = rotated(site, &link) {
            site.disk().remove(&place)?;
            site.disk().remove(&link)?;
        }
        for place in record.obsolete.iter().chain([installed]) {
            site.disk().remove(place)?;
        }
        site.disk().remove_temporary(&link)?;
    }
    if !record.path.is_empty() {
        note(site, Step::IdentityRemoved)?;
    }
    site.disk().remove(&site.layout.identity())
}

/// Adds a line to the journal of the identity, which is begun anew when it is too long.
pub(crate) fn note(site: &Site<'_>, step: Step) -> Result<()> {
    let path = site.layout.identity_journal();
    if std::fs::metadata(&path).is_ok_and(|journal| journal.len() > JOURNAL_MAX) {
        site.disk().remove(&path)?;
    }
    Journal::open(site.disk(), path, site.system.boot()?)?.write(site.disk(), step)
}

/// The name of the file for a key: `kubelet-client-current.pem` leads to `kubelet-client-0123456789ab.pem`.
fn own_name(link: &Path, key: Digest) -> String {
    format!("{}-{}.pem", stem(link), key.short())
}

/// What `link` leads to, if that is a file such as we or kubelet's rotation put beside it. Kubelet makes links with absolute
/// targets.
fn rotated(site: &Site<'_>, link: &Path) -> Option<PathBuf> {
    let target = disk::target(link)?;
    let name = target.file_name()?.to_str()?;
    let directory = target.parent()?.to_str()?;
    let is_beside = directory.is_empty() || Some(&*site.layout.on_host(directory)) == link.parent();
    let inner = name.strip_prefix(&*stem(link))?.strip_prefix('-')?.strip_suffix(".pem")?;
    (is_beside && inner != "current").then(|| link.with_file_name(name))
}

/// What the names of the files of an identity begin with: `kubelet-client` for `kubelet-client-current.pem`.
fn stem(link: &Path) -> String {
    let stem = link.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_suffix("-current").unwrap_or(&stem).to_owned()
}
