//! The controllers: plain functions from (world, subject) to a draft, one per kind.

mod certificates;
pub(crate) mod finish;
mod leadership;
pub(crate) mod machine;
mod observe;
mod rollout;
mod version;

use seaworthy_model::report::Subject;

use crate::runtime::draft::Draft;
use crate::world::World;

/// Decides about one subject. The whole list of controllers.
pub(crate) fn reconcile(world: &World, subject: Subject, draft: &mut Draft<'_>) {
    match subject {
        Subject::Leadership => leadership::reconcile(world, draft),
        Subject::PackageVersion => rollout::reconcile(world, draft),
        Subject::Version(id) => version::reconcile(world, id, draft),
        Subject::Machine(id) => machine::reconcile(world, id, draft),
        Subject::CertificateRequest(id) => certificates::reconcile(world, id, draft),
    }
}
