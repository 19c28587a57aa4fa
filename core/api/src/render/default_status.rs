//! The status that the API server gives an object until the operator writes one: the default in the schema. So people see,
//! and `kubectl wait` and the like know, that nothing is known yet, and nobody has to write that.
//!
//! To the operator it is no status at all: whoever reads one passes such conditions over.

use seaworthy_model::component::VersionConditionKind;
use seaworthy_model::id::Kind;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::package_version::FleetConditionKind;
use seaworthy_model::policy::PolicyConditionKind;
use seaworthy_model::time::Timestamp;

use super::kstatus::state_of_machine;
use super::{fleet_words, policy_words, version_words, words};
use crate::object::Status;
use crate::v1alpha1::{
    CanaryReleaseStatus, ClusterPackageVersionStatus, Condition, DisruptionPolicyStatus,
    MachineComponentStatus, MachineStatus,
};

/// No operator writes this time.
const SINCE: Timestamp = Timestamp::ZERO;

/// The default status of a kind; `None` if it has none.
#[must_use]
pub fn default_status(kind: Kind) -> Option<Status> {
    Some(match kind {
        Kind::Machine => {
            let kinds = [ConditionKind::Ready, ConditionKind::Reachable, ConditionKind::InSync];
            let conditions = conditions(kinds.map(words::kind));
            let reason = words::reason(Reason::NotYetKnown).into();
            Status::Machine(MachineStatus { reason, conditions, ..MachineStatus::default() })
        }
        Kind::MachineComponent => {
            let conditions = conditions(VersionConditionKind::ALL.map(version_words::kind));
            let status = MachineComponentStatus { conditions, ..MachineComponentStatus::default() };
            Status::MachineComponent(status)
        }
        Kind::ClusterPackageVersion => Status::ClusterPackageVersion(of_owner()),
        Kind::MachineComponentSet => Status::MachineComponentSet(of_owner()),
        Kind::CanaryRelease => {
            Status::CanaryRelease(CanaryReleaseStatus { record: of_owner(), machines: Vec::new() })
        }
        Kind::DisruptionPolicy => {
            let conditions = conditions(PolicyConditionKind::ALL.map(policy_words::kind));
            let status = DisruptionPolicyStatus { conditions, ..DisruptionPolicyStatus::default() };
            Status::DisruptionPolicy(status)
        }
        Kind::Node | Kind::Lease | Kind::CertificateSigningRequest | Kind::Event => return None,
    })
}

/// That of an object that owns rollouts.
fn of_owner() -> ClusterPackageVersionStatus {
    let kinds = [FleetConditionKind::Complete, FleetConditionKind::Progressing];
    let conditions = conditions(kinds.map(fleet_words::kind));
    ClusterPackageVersionStatus { conditions, ..ClusterPackageVersionStatus::default() }
}

/// Whether nobody has written a condition: it is to be read as if it were not there.
pub(crate) fn is_by_default(condition: &Condition) -> bool {
    condition.reason == words::reason(Reason::NotYetKnown)
        && condition.last_transition_time.get() == Some(SINCE)
}

fn conditions<const N: usize>(kinds: [&'static str; N]) -> Vec<Condition> {
    let unknown = kinds.map(|kind| condition(kind, Truth::Unknown));
    // What is unknown is on its way, for every kind.
    let on_its_way = state_of_machine(Truth::Unknown, Reason::NotYetKnown).kind();
    let on_its_way = on_its_way.map(|kind| condition(kind, Truth::True));
    unknown.into_iter().chain(on_its_way).collect()
}

fn condition(kind: &'static str, truth: Truth) -> Condition {
    Condition {
        r#type: kind.into(),
        status: words::truth(truth).into(),
        reason: words::reason(Reason::NotYetKnown).into(),
        message: "The operator has not looked at it yet.".into(),
        last_transition_time: SINCE.into(),
        observed_generation: 0,
    }
}
