//! Reports of hosts that are not true.

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Architecture, ReleaseId};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, Drift, HostFacts, OperationState, Owner};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;

use crate::vocabulary::HostLie;

/// Makes one field of a report untrue. The same facts always become the same report.
pub(super) fn tell(lie: HostLie, facts: &mut HostFacts) {
    let invented = HostLie::invented(facts.host.0);
    match lie {
        HostLie::Epoch => facts.epoch = Epoch(facts.epoch.0.saturating_add(3)),
        HostLie::HighestEpoch => facts.epoch = Epoch(u32::MAX),
        HostLie::Owner => facts.owner = Owner::Machine(Uid(invented)),
        HostLie::NoOwner => facts.owner = Owner::Nobody,
        HostLie::Cluster => {
            facts.owner = Owner::Foreign { cluster: "another".into(), machine: Uid(invented) };
        }
        HostLie::MachineId => facts.host = HostId(invented),
        HostLie::Boot => facts.boot = BootId(facts.boot.0 ^ invented),
        HostLie::Architecture => {
            let is_amd64 = facts.architecture == Architecture::Amd64;
            facts.architecture = if is_amd64 { Architecture::Arm64 } else { Architecture::Amd64 };
        }
        HostLie::Nothing => facts.components.clear(),
        HostLie::Releases => {
            for component in &mut facts.components {
                component.release = ReleaseId(Digest::of(&invented.to_le_bytes()));
            }
        }
        HostLie::Drift => facts.components.iter_mut().for_each(|component| component.drift = Drift::FILES),
        HostLie::NoDrift => facts.components.iter_mut().for_each(|component| component.drift = Drift::NONE),
        HostLie::Running => claim(facts, OperationState::Running),
        HostLie::Interrupted => claim(facts, OperationState::Interrupted),
        HostLie::Failed => {
            claim(facts, OperationState::Failed(Cause::new(CauseKind::ProbeFailed, "the operation failed")));
        }
        HostLie::NoIdentity => facts.identity = None,
    }
}

/// Reports another state of the operation, if one is reported.
fn claim(facts: &mut HostFacts, state: OperationState) {
    if let Some(operation) = &mut facts.operation {
        operation.state = state;
    }
}
