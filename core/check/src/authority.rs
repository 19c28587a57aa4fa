//! Nobody acts who may not: no work on a host, and no threshold raised, before the Lease is ours, everything was seen,
//! and while the store is set back.

use alloc::format;

use seaworthy_engine::World;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::report::{Blocker, Turn};

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "authority", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let Some(gate) = world.leadership.gate() else { return };
    let is_regressed = matches!(gate, Blocker::StoreRegressed { .. });
    for action in &turn.actions {
        let is_allowed = match (&action.target, &action.effect) {
            (Target::Driver | Target::Lease, _) => true,
            // Reporting that nothing is done is not acting.
            (Target::Machine(_), Effect::WriteMachineStatus(_)) => is_regressed,
            (Target::PackageVersion, Effect::WritePackageVersionStatus(status)) => {
                let recorded = world.fleet.object.as_ref().map(|object| &object.status.rollouts);
                is_regressed && recorded == Some(&status.rollouts)
            }
            (
                Target::Machine(_)
                | Target::Version(_)
                | Target::PackageVersion
                | Target::Host(_)
                | Target::Node(_)
                | Target::NewCertificateRequest(_)
                | Target::CertificateRequest(_),
                _,
            ) => false,
        };
        if !is_allowed {
            findings.against(action, format!("{:?} ordered although {}", action.target, gate.name()));
        }
    }
}
