//! The orders about the certificate of the node that this host is: to make a key and a request, and to install what was
//! issued for it.

use seaworthy_api::host::translate::is_object_name;
use seaworthy_api::host::wire::{Answer, CertificateFile, CertificateRequest, Command, Request};
use seaworthy_model::cause::{Cause, CauseKind};

use super::{admission, reply};
use crate::failure::{self, Result};
use crate::identity::{self, Pending, Record};
use crate::journal::Step;
use crate::keys;
use crate::memory::Verdict;
use crate::site::Site;
use crate::validation;

/// Makes a key that waits for a certificate, unless there is a certificate already: then the host is not claimed either.
pub(super) fn request(site: &Site<'_>, request: &Request, wanted: &CertificateRequest) -> Result<Answer> {
    let node = check(site, request, &wanted.path)?;
    let _lock = site.admit()?;
    let mut memory = admission::idle_memory(site)?;
    let present = identity::present(site, &wanted.path)?;
    let is_there = present.is_some_and(|present| Some(present.key) != wanted.replaces);
    let verdict = memory.judge(&request.fence, if is_there { &Command::Facts } else { &request.command });
    match verdict {
        Verdict::Refuse(cause) => return Err(cause),
        Verdict::Answer => return reply::done(site, request, &memory, memory.latest),
        Verdict::Remember => memory.write(site.disk(), &site.layout)?,
    }
    let mut record = Record::read(site)?;
    let is_kept = record.pending.as_ref().is_some_and(|pending| pending.node == node) && !is_there;
    if record.path != *wanted.path || is_kept == is_there {
        record.path = wanted.path.to_string();
        if !is_kept {
            record.pending = if is_there { None } else { Some(Pending::make(site, node)?) };
        }
        record.write(site)?;
    }
    reply::done(site, request, &memory, memory.latest)
}

/// Installs a certificate, if it is for the key that waits.
pub(super) fn install(site: &Site<'_>, request: &Request, file: &CertificateFile) -> Result<Answer> {
    let node = check(site, request, &file.path)?;
    let _lock = site.admit()?;
    let mut memory = admission::idle_memory(site)?;
    let verdict = memory.judge(&request.fence, &request.command);
    if let Verdict::Refuse(cause) = verdict {
        return Err(cause);
    }
    let offered = keys::offered(&file.certificate).map_err(refused)?;
    if !offered.is_of_node(node) {
        return Err(refused(format!("it is for {:?}, not for node {node:?}", offered.common_name)));
    }
    let mut record = Record::read(site)?;
    let is_waited_for = |pending: &Pending| pending.key == offered.key && pending.node == node;
    let waits = record.path == *file.path && record.pending.as_ref().is_some_and(is_waited_for);
    let is_there =
        || identity::present(site, &file.path).is_ok_and(|present| present.as_ref() == Some(&offered));
    if !waits && !is_there() {
        return Err(refused(format!("its key {} is not one that waits here", offered.key.short())));
    }
    if verdict == Verdict::Remember {
        memory.write(site.disk(), &site.layout)?;
    }
    if let Some(pending) = record.pending.take_if(|_| waits) {
        identity::put(site, &mut record, &pending, &file.certificate)?;
        // Before the key is forgotten: after a crash the key makes this happen again.
        identity::note(site, Step::CertificateInstalled { key: offered.key, not_after: offered.not_after })?;
        record.write(site)?;
    }
    if let Some(obsolete) = &record.obsolete {
        site.disk().remove(obsolete)?;
    }
    reply::done(site, request, &memory, memory.latest)
}

/// The name of the node that an order is about, if the order makes sense.
fn check<'r>(site: &Site<'_>, request: &'r Request, path: &str) -> Result<&'r str> {
    validation::check_identity(path, &site.layout)?;
    let node = &request.fence.machine_name;
    if !is_object_name(node) {
        return Err(failure::invalid(format!("{node:?} is not the name of a node")));
    }
    Ok(node)
}

fn refused(why: String) -> Cause {
    Cause::new(CauseKind::CertificateRefused, format!("the certificate is refused: {why}"))
}
