//! The identity of the node that this host is: its key is made here, its certificate comes from elsewhere, and both go
//! into one file.
//!
//! What is in the making is one small record, replaced as a whole. A key is in it before anybody hears of it, and stays
//! until the file with its certificate is in place. The file itself is a link to one of a name of its own, as kubelet's
//! rotation wants it; so at every instant there is the old identity or the new one, whole.

use std::path::{Path, PathBuf};

use seaworthy_api::host::translate::is_object_name;
use seaworthy_api::host::wire::{Answer, CertificateFile, CertificateRequest, Command, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::certificate::{Certificate, HostIdentity, PendingRequest};
use seaworthy_model::digest::Digest;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::Host;
use crate::disk;
use crate::failure::{self, Result};
use crate::journal::{Journal, Step};
use crate::keys::{self, Found};
use crate::links;
use crate::lock::Lock;
use crate::memory::Verdict;
use crate::order;

/// The longest record: a request has some 400 bytes, a key some 250.
const RECORD_MAX: u64 = 1 << 16;
/// When the journal is begun anew: it has a line or two a year.
const JOURNAL_MAX: u64 = 1 << 20;

/// What is remembered of the identity. Nobody but root may read it.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// The file that the identity belongs in.
    path: String,
    /// The key that waits for its certificate.
    pending: Option<Pending>,
    /// The file that the link at `path` was made to lead to.
    installed: Option<PathBuf>,
    /// The one before it, which may be there still.
    obsolete: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pending {
    /// The node that it is for.
    node: String,
    key: Digest,
    private: String,
    request: String,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.private.zeroize();
    }
}

impl Record {
    /// What is remembered. A record that cannot be read has at most lost a key that nobody has a certificate for.
    fn read(host: &Host<'_>) -> Result<Self> {
        let stored = disk::read(&host.layout.identity(), RECORD_MAX)?.map(Zeroizing::new);
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default())
    }

    fn write(&self, host: &Host<'_>) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|error| failure::host(error.to_string()))?;
        host.disk().replace(&host.layout.identity(), &Zeroizing::new(text), 0o600)
    }
}

/// What is reported of the identity; `None` when nobody ever asked for one.
pub(crate) fn report(host: &Host<'_>) -> Result<Option<HostIdentity>> {
    let record = Record::read(host)?;
    if record.path.is_empty() {
        return Ok(None);
    }
    // Nothing but this depends on the file.
    let certificate = present(host, &record.path).unwrap_or_default();
    let pending = record
        .pending
        .as_ref()
        .map(|pending| PendingRequest { key: pending.key, request: pending.request.as_str().into() });
    Ok(Some(HostIdentity { path: record.path.as_str().into(), certificate, pending }))
}

/// The certificate in the file at `path`, if it is there with a key.
fn present(host: &Host<'_>, path: &str) -> Result<Option<Certificate>> {
    let place = host.layout.on_host(path);
    let Some(contents) = disk::read(&place, keys::LENGTH_MAX)?.map(Zeroizing::new) else { return Ok(None) };
    match keys::look(&contents) {
        Found::Certificate(certificate) => Ok(Some(certificate)),
        Found::Remains => Ok(None),
        Found::Other => {
            let place = place.display();
            Err(failure::invalid(format!(
                "{place} is in the way: it is there, and no certificate with a key"
            )))
        }
    }
}

impl Host<'_> {
    /// Sees to it that a key waits for a certificate, unless there is one already; that host is not claimed for it.
    pub(crate) fn request_certificate(
        &self,
        request: &Request,
        wanted: &CertificateRequest,
    ) -> Result<Answer> {
        let node = self.check_identity(request, &wanted.path)?;
        self.make_places()?;
        let _lock = Lock::take(&self.layout.admission_lock(), crate::host::PATIENCE, self.system)?;
        let mut memory = self.idle_memory()?;
        let present = present(self, &wanted.path)?;
        let is_there = present.is_some_and(|present| Some(present.key) != wanted.replaces);
        let verdict = memory.judge(&request.fence, if is_there { &Command::Facts } else { &request.command });
        match verdict {
            Verdict::Refuse(cause) => return Err(cause),
            Verdict::Answer => return self.done(request, &memory, memory.latest),
            Verdict::Remember => memory.write(self.disk(), &self.layout)?,
        }
        let mut record = Record::read(self)?;
        let is_kept = record.pending.as_ref().is_some_and(|pending| pending.node == node) && !is_there;
        if record.path != *wanted.path || is_kept == is_there {
            record.path = wanted.path.to_string();
            if !is_kept {
                record.pending = if is_there { None } else { Some(self.make_key(node)?) };
            }
            record.write(self)?;
        }
        self.done(request, &memory, memory.latest)
    }

    fn make_key(&self, node: &str) -> Result<Pending> {
        let keys::Made { key, private, request } = keys::make(node)?;
        self.note(Step::KeyMade { key })?;
        Ok(Pending { node: node.to_owned(), key, private: private.to_string(), request })
    }

    /// Puts a certificate into its place, if it is for the key that waits.
    pub(crate) fn install_certificate(&self, request: &Request, file: &CertificateFile) -> Result<Answer> {
        let node = self.check_identity(request, &file.path)?;
        self.make_places()?;
        let _lock = Lock::take(&self.layout.admission_lock(), crate::host::PATIENCE, self.system)?;
        let mut memory = self.idle_memory()?;
        let verdict = memory.judge(&request.fence, &request.command);
        if let Verdict::Refuse(cause) = verdict {
            return Err(cause);
        }
        let offered = keys::offered(&file.certificate).map_err(refused)?;
        if !offered.is_of_node(node) {
            return Err(refused(format!("it is for {:?}, not for node {node:?}", offered.common_name)));
        }
        let mut record = Record::read(self)?;
        let is_waited_for = |pending: &Pending| pending.key == offered.key && pending.node == node;
        let waits = record.path == *file.path && record.pending.as_ref().is_some_and(is_waited_for);
        let is_there = || present(self, &file.path).is_ok_and(|present| present.as_ref() == Some(&offered));
        if !waits && !is_there() {
            return Err(refused(format!("its key {} is not one that waits here", offered.key.short())));
        }
        if verdict == Verdict::Remember {
            memory.write(self.disk(), &self.layout)?;
        }
        if let Some(pending) = record.pending.take_if(|_| waits) {
            self.put(&mut record, &pending, &file.certificate)?;
            // Before the key is forgotten, by which this would be done once more.
            self.note(Step::CertificateInstalled { key: offered.key, not_after: offered.not_after })?;
            record.write(self)?;
        }
        if let Some(obsolete) = &record.obsolete {
            self.disk().remove(obsolete)?;
        }
        self.done(request, &memory, memory.latest)
    }

    /// Writes certificate and key into a new file, and makes the link lead there.
    fn put(&self, record: &mut Record, pending: &Pending, certificate: &str) -> Result<()> {
        let link = self.layout.on_host(&record.path);
        links::check_above(self, &link)?;
        links::make_parent(self, &link)?;
        let name = own_name(&link, pending.key);
        let place = link.with_file_name(&name);
        let both = Zeroizing::new(format!("{}\n{}", certificate.trim_end(), pending.private));
        self.disk().replace(&place, both.as_bytes(), 0o600)?;
        self.disk().point(&link, Path::new(&name))?;
        record.obsolete = record.installed.take().filter(|before| *before != place);
        record.installed = Some(place);
        Ok(())
    }

    /// Removes the identity that was put here, and the key that waits for one.
    pub(crate) fn remove_identity(&self) -> Result<()> {
        let record = Record::read(self)?;
        if let Some(installed) = &record.installed {
            let link = self.layout.on_host(&record.path);
            // Where the link leads by now, rotation may have put the successor of ours.
            let target = disk::target(&link).filter(|target| target.components().count() == 1);
            for place in target.map(|target| link.with_file_name(target)).iter().chain(&record.obsolete) {
                self.disk().remove(place)?;
            }
            self.disk().remove(installed)?;
            self.disk().remove(&link)?;
            self.disk().remove_temporary(&link)?;
        }
        if !record.path.is_empty() {
            self.note(Step::IdentityRemoved)?;
        }
        self.disk().remove(&self.layout.identity())
    }

    /// The name of the node that an order is about, if the order makes sense.
    fn check_identity<'r>(&self, request: &'r Request, path: &str) -> Result<&'r str> {
        order::check_host_path("identity", path, &self.layout)?;
        let node = &request.fence.machine_name;
        if !is_object_name(node) {
            return Err(failure::invalid(format!("{node:?} is not the name of a node")));
        }
        Ok(node)
    }

    fn note(&self, step: Step) -> Result<()> {
        let path = self.layout.identity_journal();
        if std::fs::metadata(&path).is_ok_and(|journal| journal.len() > JOURNAL_MAX) {
            self.disk().remove(&path)?;
        }
        Journal::open(self.disk(), path, self.system.boot()?)?.write(self.disk(), step)
    }
}

/// The name of the file for a key: `kubelet-client-current.pem` leads to `kubelet-client-0123456789ab.pem`.
fn own_name(link: &Path, key: Digest) -> String {
    let stem = link.file_stem().unwrap_or_default().to_string_lossy();
    format!("{}-{}.pem", stem.strip_suffix("-current").unwrap_or(&stem), key.short())
}

fn refused(why: String) -> Cause {
    Cause::new(CauseKind::CertificateRefused, format!("the certificate is refused: {why}"))
}
