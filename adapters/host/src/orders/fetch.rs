//! The order to fetch an artefact that an operation may need later. It is no operation: nothing of it is in a journal, and
//! when it is killed, it was never given.

use seaworthy_api::host::wire::{Answer, Request};
use seaworthy_model::component::Artefact;

use super::{admission, reply};
use crate::artefacts;
use crate::facts;
use crate::failure::Result;
use crate::memory::Verdict;
use crate::site::Site;
use crate::validation;

/// Fetches an artefact, if no operation is under way. Other orders are taken meanwhile: the operation of a newer operator does
/// not wait for it.
pub(super) fn fetch(site: &Site<'_>, request: &Request, artefact: &Artefact) -> Result<Answer> {
    validation::check_artefact(artefact, facts::architecture()?)?;
    let memory = {
        let _lock = site.admit()?;
        let mut memory = admission::idle_memory(site)?;
        match memory.judge(&request.fence, &request.command) {
            Verdict::Refuse(cause) => return Err(cause),
            Verdict::Remember => memory.write(site.disk(), &site.layout)?,
            Verdict::Answer => {}
        }
        memory
    };
    artefacts::fetch(site, artefact)?;
    reply::done(site, request, &memory, memory.latest)
}
