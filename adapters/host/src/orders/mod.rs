//! The orders that the program takes: each is judged, carried out, and answered.

mod admission;
mod apply;
mod certificates;
mod confirmation;
mod fetch;
mod reply;

use seaworthy_api::host::wire::{Answer, Command, Facts, PROTOCOL, Reply, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationId;

use crate::artefacts;
use crate::execution;
use crate::facts;
use crate::failure::{self, Result};
use crate::identity;
use crate::journal::Line;
use crate::memory::{Memory, Verdict};
use crate::operations;
use crate::people;
use crate::resume;
use crate::site::Site;
use crate::validation;

/// A host that takes orders.
pub struct Host<'a> {
    site: Site<'a>,
}

impl<'a> Host<'a> {
    /// Takes orders for `site`.
    #[must_use]
    pub const fn new(site: Site<'a>) -> Self {
        Self { site }
    }

    /// Carries out an order of an operator.
    #[must_use]
    pub fn handle(&self, request: &Request) -> Reply {
        let answer = self.respond(request).unwrap_or_else(|cause| {
            let cause = failure::told(cause);
            let for_good = matches!(
                cause.kind,
                CauseKind::OwnedByAnother
                    | CauseKind::FenceRefused
                    | CauseKind::OperationInvalid
                    | CauseKind::CertificateRefused
                    | CauseKind::ProtocolError
            );
            if for_good { Answer::Refused(cause) } else { Answer::Later(cause) }
        });
        Reply::new(answer)
    }

    fn respond(&self, request: &Request) -> Result<Answer> {
        if request.protocol != PROTOCOL {
            let detail = format!("the request is of protocol {}, not {PROTOCOL}", request.protocol);
            return Err(Cause::new(CauseKind::ProtocolError, detail));
        }
        validation::check_fence(&request.fence)?;
        let site = &self.site;
        match &request.command {
            Command::Apply(operation) => apply::apply(site, request, operation),
            Command::Disown => disown(site, request),
            Command::RequestCertificate(wanted) => certificates::request(site, request, wanted),
            Command::InstallCertificate(file) => certificates::install(site, request, file),
            Command::Facts => report(site, request, None),
            Command::Status(id) => report(site, request, Some(*id)),
            Command::Confirm(id) => confirmation::confirm(site, request, *id),
            Command::ResetFences(_) => reset_fences(site, request),
            Command::Fetch(artefact) => fetch::fetch(site, request, artefact),
        }
    }

    /// The facts for a person who asks on the host itself. Moves no fence.
    ///
    /// # Errors
    /// When the host's own files cannot be read.
    pub fn facts(&self) -> Result<Facts> {
        let memory = Memory::read(&self.site.layout)?;
        facts::gather(&self.site, &memory, "", memory.latest)
    }

    /// The journal of an operation; `None` when the host has never heard of it.
    #[must_use]
    pub fn journal(&self, id: OperationId) -> Option<Vec<Line>> {
        operations::lines(&self.site, id)
    }

    /// Executes an accepted operation in this process, unless another process does already. Resumes one that was interrupted.
    ///
    /// # Errors
    /// When the end of the operation could not be recorded.
    pub fn execute(&self, id: OperationId) -> Result<()> {
        execution::execute(&self.site, id)
    }

    /// Finishes or undoes, in this process, the operation that was interrupted, if there is one; gives its name.
    ///
    /// # Errors
    /// When that cannot be done or found out.
    pub fn resume(&self) -> Result<Option<OperationId>> {
        match operations::unfinished(&self.site, &Memory::read(&self.site.layout)?)? {
            Some(id) => self.execute(id).map(|()| Some(id)),
            None => Ok(None),
        }
    }

    /// Puts right what is damaged of the program's own files: for a person on the host. Returns what it found, a sentence each.
    ///
    /// # Errors
    /// When the memory of owner and fences is damaged, which only a person can decide about, or an operation is under way.
    pub fn repair(&self) -> Result<Vec<String>> {
        people::repair(&self.site)
    }

    /// Makes the host forget its owner, without a fence: for a person who knows that the owner is gone. The fences stay.
    /// Returns the memory as it was; `None` when it was damaged.
    ///
    /// # Errors
    /// When the memory cannot be written.
    pub fn disown_by_force(&self) -> Result<Option<Memory>> {
        people::forget_owner(&self.site)
    }

    /// Makes the host forget the fences that it has seen: for a person who knows that no operator of a higher epoch is left.
    /// Returns the memory as it was.
    ///
    /// # Errors
    /// When the memory is damaged, or cannot be written.
    pub fn forget_fences_by_force(&self) -> Result<Memory> {
        people::forget_fences(&self.site)
    }
}

fn report(site: &Site<'_>, request: &Request, operation: Option<OperationId>) -> Result<Answer> {
    // Also on a host without an owner: the fence is remembered, so that a late order of an older operator cannot claim the
    // host after this one has read it.
    let lock = site.admit()?;
    let memory = admission::judge(site, request)?;
    operations::resume_unfinished(site, &memory)?;
    drop(lock);
    reply::done(site, request, &memory, operation.or(memory.latest))
}

/// Forgets the fences of the cluster, and remembers that of this order. What is forgotten is recorded first.
fn reset_fences(site: &Site<'_>, request: &Request) -> Result<Answer> {
    let _lock = site.admit()?;
    let mut memory = admission::idle_memory(site)?;
    let before = memory.seen.clone();
    if let Verdict::Refuse(cause) = memory.judge(&request.fence, &request.command) {
        return Err(cause);
    }
    people::note_forgotten(site, before)?;
    memory.write(site.disk(), &site.layout)?;
    reply::done(site, request, &memory, memory.latest)
}

fn disown(site: &Site<'_>, request: &Request) -> Result<Answer> {
    let _lock = site.admit()?;
    let mut memory = admission::idle_memory(site)?;
    let verdict = memory.judge(&request.fence, &request.command);
    if let Verdict::Refuse(cause) = verdict {
        return Err(cause);
    }
    // Before the owner is forgotten: after that no operator would come back to remove it.
    identity::remove(site)?;
    artefacts::clear(site)?;
    if verdict == Verdict::Remember {
        memory.write(site.disk(), &site.layout)?;
    }
    resume::disarm(site)?;
    reply::done(site, request, &memory, memory.latest)
}
