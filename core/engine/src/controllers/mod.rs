//! The controllers: plain functions from (world, subject) to a draft, one per kind.

mod certificate_request;
mod leadership;
mod machine;
mod package_version;
mod version;

use seaworthy_model::report::Subject;

use crate::draft::Draft;
use crate::world::World;

/// Decides about one subject. The whole list of controllers.
pub(crate) fn reconcile(world: &World, subject: Subject, draft: &mut Draft<'_>) {
    match subject {
        Subject::Leadership => leadership::reconcile(world, draft),
        Subject::PackageVersion => package_version::reconcile(world, draft),
        Subject::Version(id) => version::reconcile(world, id, draft),
        Subject::Machine(id) => machine::reconcile(world, id, draft),
        Subject::CertificateRequest(id) => certificate_request::reconcile(world, id, draft),
    }
}
