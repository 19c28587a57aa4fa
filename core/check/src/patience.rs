//! Patience: no contact and no write is retried before its back-off has passed. So a thing that keeps failing costs a
//! bounded number of attempts.

use alloc::format;

use seaworthy_engine::{Retry, World};
use seaworthy_model::effect::Target;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "patience", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let retry: Option<Retry> = match action.target {
            Target::Driver => None,
            Target::Lease => Some(world.leadership.retry),
            Target::Host(id) => Some(world.machine(id).progress.contact.retry),
            Target::Node(id) => world.machine(id).drain.as_ref().map(|drain| drain.write.retry),
            Target::Machine(id) => Some(world.machine(id).progress.writes.retry),
            Target::Version(id) => world.version(id).map(|version| version.tracked.writes.retry),
            Target::PackageVersion => Some(world.fleet.tracked.writes.retry),
            Target::NewCertificateRequest(id) => Some(world.machine(id).progress.writes.retry),
            Target::CertificateRequest(id) => {
                world.certificates.request(id).map(|request| request.tracked.writes.retry)
            }
        };
        if let Some(retry) = retry.filter(|retry| retry.not_before > world.now()) {
            findings.against(
                action,
                format!("tried again before {:?}, after {} failures", retry.not_before, retry.failures),
            );
        }
    }
}
