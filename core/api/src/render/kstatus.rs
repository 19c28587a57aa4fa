//! What kstatus, Argo CD, Flux and the like ask of an object: is it as it should be, on its way there, or stuck until a
//! person does something? Two conditions say so, `Reconciling` and `Stalled`, and `Paused` of the fleet; each is there only
//! while it is true.
//!
//! They follow from the reason of another condition, and nothing reads them back. They are as old as that condition.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{VersionCondition, VersionConditionKind, VersionReason};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::machine::{ConditionKind, Conditions, Reason, Truth};
use seaworthy_model::package_version::{FleetCondition, FleetConditionKind, FleetReason};

use crate::v1alpha1;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is to be done.
    Current,
    /// It gets there by itself.
    Reconciling,
    /// It does not get there unless a person does something.
    Stalled,
}

impl State {
    /// The `type` of the condition that says so.
    pub(super) const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Current => None,
            Self::Reconciling => Some("Reconciling"),
            Self::Stalled => Some("Stalled"),
        }
    }

    /// The condition that says so, with the reason and the message of the condition that it follows from.
    pub(super) fn condition(self, from: &v1alpha1::Condition) -> Option<v1alpha1::Condition> {
        self.kind().map(|kind| v1alpha1::Condition {
            r#type: kind.into(),
            status: "True".into(),
            ..from.clone()
        })
    }
}

/// The condition that says whether a machine is on its way or stuck. Nothing is under way on a paused machine.
pub(super) fn of_machine(conditions: &Conditions) -> Option<v1alpha1::Condition> {
    let ready = conditions.get(ConditionKind::Ready)?;
    let state = state_of_machine(ready.truth, ready.reason);
    let is_paused = conditions.get(ConditionKind::Paused).is_some();
    let state = Some(state).filter(|state| !is_paused || *state == State::Stalled)?;
    state.condition(&super::status::condition(ready))
}

/// The condition that says whether rollouts are on their way, stuck or paused.
pub(super) fn of_fleet(conditions: &[FleetCondition]) -> Option<v1alpha1::Condition> {
    let progressing = conditions.iter().find(|told| told.kind == FleetConditionKind::Progressing)?;
    let from = super::status::fleet_condition(progressing);
    if matches!(progressing.reason, FleetReason::Paused | FleetReason::PolicyPaused) {
        return Some(v1alpha1::Condition { r#type: "Paused".into(), status: "True".into(), ..from });
    }
    // Machines that are lost or wait for people have conditions of their own. Those that failed wait for another version.
    if let Some(FleetDetail::LeftOut { failed: 1.., .. }) = progressing.detail {
        return State::Stalled.condition(&from);
    }
    state_of_fleet(progressing.reason).condition(&from)
}

/// The condition that says whether a version is stuck.
pub(super) fn of_version(conditions: &[VersionCondition]) -> Option<v1alpha1::Condition> {
    let accepted = conditions.iter().find(|told| told.kind == VersionConditionKind::Accepted)?;
    state_of_version(accepted.reason).condition(&super::status::version_condition(accepted))
}

/// The state of a machine whose condition `Ready` is this.
pub(super) const fn state_of_machine(truth: Truth, reason: Reason) -> State {
    if matches!(truth, Truth::True) {
        return State::Current;
    }
    match reason {
        // A paused machine has a condition that says so. It is neither on its way nor stuck.
        Reason::AsDesired | Reason::Connected | Reason::Contested | Reason::Paused | Reason::PolicyPaused => {
            State::Current
        }
        Reason::NotYetKnown
        | Reason::Drifted
        | Reason::Frozen
        | Reason::OutsideWindow
        | Reason::OperationLost
        | Reason::Dependency
        | Reason::Terminating
        | Reason::AwaitingCertificate
        | Reason::Draining
        | Reason::DrainOverdue
        | Reason::LastSchedulableNode
        | Reason::HostReleased => State::Reconciling,
        Reason::IdentityMismatch
        | Reason::DuplicateHost
        | Reason::InvalidSpec
        | Reason::PolicyInvalid
        | Reason::UnknownVersion
        | Reason::NoArtefact
        | Reason::MissingParameter
        | Reason::DependencyCycle
        | Reason::VersionSkew
        | Reason::ApiServerUnknown
        | Reason::StoreRegressed
        | Reason::HostAhead
        | Reason::CertificateDenied
        | Reason::ForeignIdentity
        | Reason::DrainForbidden
        | Reason::NodeConflict => State::Stalled,
        Reason::Cause(cause) => of_cause(cause),
    }
}

/// The state of an object that something outside the engine keeps from what is wanted.
const fn of_cause(cause: CauseKind) -> State {
    match cause {
        CauseKind::HostBusy | CauseKind::ApiUnavailable | CauseKind::DisruptionBudget => State::Reconciling,
        CauseKind::ConnectionFailed
        | CauseKind::HostKeyMismatch
        | CauseKind::HostKeyUnknown
        | CauseKind::AuthenticationFailed
        | CauseKind::SecretMissing
        | CauseKind::SecretInvalid
        | CauseKind::PrivilegeDenied
        | CauseKind::DeliveryFailed
        | CauseKind::ProtocolError
        | CauseKind::OwnedByAnother
        | CauseKind::FenceRefused
        | CauseKind::NoSpace
        | CauseKind::DownloadFailed
        | CauseKind::DigestMismatch
        | CauseKind::ArchiveRefused
        | CauseKind::TemplateFailed
        | CauseKind::CertificateRefused
        | CauseKind::OperationInvalid
        | CauseKind::PreflightFailed
        | CauseKind::RemovalFailed
        | CauseKind::ProbeFailed
        | CauseKind::RollbackFailed
        | CauseKind::NotConfirmed
        | CauseKind::ReloadRefused
        | CauseKind::HostFailed
        | CauseKind::ApiRefused
        | CauseKind::Guard => State::Stalled,
    }
}

/// The state of the fleet whose conditions have this reason.
pub(super) const fn state_of_fleet(reason: FleetReason) -> State {
    match reason {
        FleetReason::AllUpdated
        | FleetReason::MachinesLeftOut
        | FleetReason::Paused
        | FleetReason::PolicyPaused
        | FleetReason::Promoted
        | FleetReason::Aborted => State::Current,
        FleetReason::RollingOut
        | FleetReason::Frozen
        | FleetReason::OutsideWindow
        | FleetReason::Baking
        | FleetReason::GateInconclusive
        | FleetReason::Superseding
        | FleetReason::Overlap
        | FleetReason::Terminating => State::Reconciling,
        FleetReason::ArtefactUnavailable
        | FleetReason::GateFailed
        | FleetReason::RolledBack
        | FleetReason::TooManyFailures
        | FleetReason::TooManyLost
        | FleetReason::NoMachines
        | FleetReason::ConfirmationNeeded
        | FleetReason::TooManyUnavailable
        | FleetReason::TooDisruptive
        | FleetReason::RollbackUnsafe
        | FleetReason::SetEmptied
        | FleetReason::TooManyUndrained
        | FleetReason::InvalidSpec
        | FleetReason::PolicyInvalid
        | FleetReason::UnknownVersion
        | FleetReason::VersionSkew
        | FleetReason::StoreRegressed => State::Stalled,
    }
}

/// The state of a version whose condition `Accepted` has this reason. Whether anything uses it makes no difference.
pub(super) const fn state_of_version(reason: VersionReason) -> State {
    match reason {
        VersionReason::InvalidSpec => State::Stalled,
        VersionReason::Accepted
        | VersionReason::Default
        | VersionReason::Machines
        | VersionReason::NotInUse => State::Current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads `Stalled` has to be told what to do.
    #[test]
    fn what_passes_by_itself_is_not_stalled_and_what_needs_a_person_is() {
        let of = |reason| state_of_machine(Truth::False, reason);
        assert_eq!(of(Reason::Drifted), State::Reconciling);
        assert_eq!(of(Reason::Cause(CauseKind::HostBusy)), State::Reconciling);
        assert_eq!(of(Reason::Cause(CauseKind::ProbeFailed)), State::Stalled);
        assert_eq!(of(Reason::Paused), State::Current);
        assert_eq!(state_of_machine(Truth::True, Reason::Contested), State::Current);
        assert_eq!(state_of_machine(Truth::Unknown, Reason::NotYetKnown), State::Reconciling);
        assert_eq!(state_of_fleet(FleetReason::TooManyFailures), State::Stalled);
        assert_eq!(state_of_fleet(FleetReason::MachinesLeftOut), State::Current);
        assert_eq!(state_of_version(VersionReason::InvalidSpec), State::Stalled);
        assert_eq!(state_of_version(VersionReason::NotInUse), State::Current);
    }
}
