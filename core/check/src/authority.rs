//! Authority: the operator acts only while it holds the Lease and has a complete view, and not while the store is set back
//! (restored from an older state). Until then it orders nothing from hosts and raises no threshold.

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
            // To report that nothing is done is not to act.
            (Target::Machine(_), Effect::WriteMachineStatus(_)) => is_regressed,
            (Target::PackageVersion, Effect::WritePackageVersionStatus(status)) => {
                let recorded = world.fleet.object().map(|object| &object.status.rollouts);
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
