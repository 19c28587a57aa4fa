//! The words of the conditions of the `ClusterPackageVersion`.

use seaworthy_model::package_version::{DeferralReason, FleetConditionKind, FleetReason};

use super::words::STORE_REGRESSED;

/// The explanation of a gate that failed.
const GATE_FAILED: &str = "too many of the machines that were changed went wrong, so no more are changed: correct the \
                           version in spec.components; or go on in spite of it with the annotation \
                           seaworthy.dev/resume-rollout and the first word of what follows";

/// The `type` of a condition.
pub(crate) const fn kind(kind: FleetConditionKind) -> &'static str {
    match kind {
        FleetConditionKind::Complete => "Complete",
        FleetConditionKind::Progressing => "Progressing",
        FleetConditionKind::Overlapping => "Overlapping",
    }
}

/// The condition whose type this is.
pub(crate) fn kind_from(name: &str) -> Option<FleetConditionKind> {
    FleetConditionKind::ALL.into_iter().find(|&known| kind(known) == name)
}

/// The `reason` of a condition.
pub(crate) const fn reason(reason: FleetReason) -> &'static str {
    match reason {
        FleetReason::AllUpdated => "AllUpdated",
        FleetReason::MachinesLeftOut => "MachinesLeftOut",
        FleetReason::RollingOut => "RollingOut",
        FleetReason::Baking => "Baking",
        FleetReason::ArtefactUnavailable => "ArtefactUnavailable",
        FleetReason::GateInconclusive => "GateInconclusive",
        FleetReason::GateFailed => "GateFailed",
        FleetReason::RolledBack => "RolledBack",
        FleetReason::TooManyFailures => "TooManyFailures",
        FleetReason::TooManyLost => "TooManyLost",
        FleetReason::ConfirmationNeeded => "ConfirmationNeeded",
        FleetReason::Overlap => "Overlap",
        FleetReason::NoMachines => "NoMachines",
        FleetReason::Promoted => "Promoted",
        FleetReason::Aborted => "Aborted",
        FleetReason::TooManyUnavailable => "TooManyUnavailable",
        FleetReason::TooDisruptive => "TooDisruptive",
        FleetReason::RollbackUnsafe => "RollbackUnsafe",
        FleetReason::SetEmptied => "SetEmptied",
        FleetReason::TooManyUndrained => "TooManyUndrained",
        FleetReason::Superseding => "Superseding",
        FleetReason::Paused => "Paused",
        FleetReason::PolicyPaused => "PolicyPaused",
        FleetReason::PolicyInvalid => "PolicyInvalid",
        FleetReason::Frozen => "Frozen",
        FleetReason::OutsideWindow => "OutsideWindow",
        FleetReason::InvalidSpec => "InvalidSpec",
        FleetReason::UnknownVersion => "UnknownVersion",
        FleetReason::VersionSkew => "VersionSkew",
        FleetReason::StoreRegressed => "StoreRegressed",
        FleetReason::Terminating => "Terminating",
    }
}

/// The reason whose name this is.
pub(crate) fn reason_from(name: &str) -> Option<FleetReason> {
    FleetReason::ALL.into_iter().find(|&known| reason(known) == name)
}

/// The explanation of `ConfirmationNeeded`.
const CONFIRMATION_NEEDED: &str = "a change reaches more machines than spec.strategy.confirmAbove allows without a confirmation, or a set more than twice \
     as many as it had: set the annotation \
     seaworthy.dev/confirm-rollout to metadata.generation, or run seaworthy rollout confirm";

/// The explanation of `Overlap`.
const OVERLAP: &str = "another MachineComponentSet selects some of the same machines and mentions the same component; the one with the \
     higher spec.priority decides, or else the one whose name comes first";

/// The explanation of `NoMachines`.
const NO_MACHINES: &str = "no Machine that spec.selector selects can be picked: they are paused, not reachable, in another \
     CanaryRelease, pin one of the components, or lack a label of spec.pick.per";

/// The explanation of `TooManyLost`.
const TOO_MANY_LOST: &str = "so many machines were lost in the middle of an operation that no more are admitted: each of them may have \
     failed; bring them back, delete their Machines, or raise spec.maxFailures";

/// The explanation of `TooDisruptive`.
const TOO_DISRUPTIVE: &str = "every machine that is left would be disrupted more than spec.strategy.disruption.atMost allows: raise it, \
     or correct the version in spec.components";

/// The explanation of `RollbackUnsafe`.
const ROLLBACK_UNSAFE: &str = "every machine that is left would go back from a version whose MachineComponent says rollback: Unsafe, and the \
     older one may not read its data: correct the version in spec.components or, if it is meant, run seaworthy rollout \
     confirm";

/// The explanation of `SetEmptied`.
const SET_EMPTIED: &str = "a MachineComponentSet had machines, and since its last edit it selects none, so what it has brought is left as it \
     is: correct its spec.selector or, if it is meant, delete it or run seaworthy rollout confirm --set";

/// The explanation of `TooManyUndrained`.
const TOO_MANY_UNDRAINED: &str = "so many machines cannot be drained that the batch waits for them: kubectl get machines shows them with the pods \
     that stay; see spec.strategy.disruption.undrainable";

/// The explanation of `ArtefactUnavailable`.
const ARTEFACT_UNAVAILABLE: &str = "machines that were asked before the first batch cannot fetch the artefact, so no machine is changed; they are asked \
     again every minute, and the rollout begins once most of them can; see spec.artefacts of the MachineComponent";

/// The explanation of a reason.
pub(crate) const fn explanation(reason: FleetReason) -> &'static str {
    match reason {
        FleetReason::AllUpdated => "every machine has the defaults",
        FleetReason::MachinesLeftOut => {
            "every machine that can be worked on has the defaults; some failed to get them, are unreachable, paused, \
             blocked or only just back: kubectl get machines shows them"
        }
        FleetReason::RollingOut => "machines are being changed, at most maxUnavailable of them at once",
        FleetReason::Baking => "the machines of a batch are watched",
        FleetReason::ArtefactUnavailable => ARTEFACT_UNAVAILABLE,
        FleetReason::GateInconclusive => {
            "too little is known of the machines that were changed, or more of them became unavailable than usual, so the \
             rollout waits: kubectl get machines shows them"
        }
        FleetReason::GateFailed => GATE_FAILED,
        FleetReason::RolledBack => {
            "the gate after a batch has failed, so the machines get back what they had before; correct the version in \
             spec.components"
        }
        FleetReason::TooManyFailures => {
            "as many machines failed as spec.maxFailures allows, or they hold every unit of spec.maxUnavailable, so no \
             more are admitted: kubectl get machines shows them; correct the version in spec.components, or raise these \
             limits"
        }
        FleetReason::TooManyLost => TOO_MANY_LOST,
        FleetReason::TooManyUnavailable => {
            "more machines are unavailable, for reasons of their own, than spec.pauseWhenUnavailable allows, so nothing \
             that disrupts is started until fewer than four fifths of it are, or no more than one is; repairs go on"
        }
        FleetReason::TooDisruptive => TOO_DISRUPTIVE,
        FleetReason::RollbackUnsafe => ROLLBACK_UNSAFE,
        FleetReason::SetEmptied => SET_EMPTIED,
        FleetReason::TooManyUndrained => TOO_MANY_UNDRAINED,
        FleetReason::Superseding => {
            "the defaults were changed; what is under way for the previous ones ends first"
        }
        FleetReason::Paused => "paused; nothing new is started until spec.paused is unset",
        FleetReason::PolicyPaused => {
            "a DisruptionPolicy without a selector is paused; nothing new is started until its spec.paused is unset"
        }
        FleetReason::PolicyInvalid => {
            "the spec of a DisruptionPolicy is not acceptable, so no machine is disrupted until it is corrected"
        }
        FleetReason::Frozen => {
            "a freeze of a DisruptionPolicy keeps back every machine that could be changed"
        }
        FleetReason::OutsideWindow => {
            "the windows of a DisruptionPolicy keep back every machine that could be changed"
        }
        FleetReason::InvalidSpec => {
            "the spec is not acceptable and nothing is rolled out until it is corrected"
        }
        FleetReason::UnknownVersion => {
            "there is no usable MachineComponent for a version that is wanted: create it, or correct the version"
        }
        FleetReason::VersionSkew => {
            "defaults must not be together, or not with the API servers that there are, so nothing is rolled out of \
             them: see requires of their MachineComponents and choose others, or upgrade kube-apiserver first"
        }
        FleetReason::StoreRegressed => STORE_REGRESSED,
        FleetReason::Terminating => "being deleted; nothing is removed from any host",
        FleetReason::ConfirmationNeeded => CONFIRMATION_NEEDED,
        FleetReason::Overlap => OVERLAP,
        FleetReason::NoMachines => NO_MACHINES,
        FleetReason::Promoted => {
            "its machines get the same versions without it, so nothing is left to try: it can be deleted"
        }
        FleetReason::Aborted => {
            "aborted; its machines get what their MachineComponentSet or the ClusterPackageVersion says"
        }
    }
}

/// Why machines cannot be worked on.
pub(crate) const fn deferral(reason: DeferralReason) -> &'static str {
    match reason {
        DeferralReason::Unreachable => "Unreachable",
        DeferralReason::Paused => "Paused",
        DeferralReason::Undrained => "Undrained",
        DeferralReason::Blocked => "Blocked",
    }
}

/// The reason whose name this is.
pub(crate) fn deferral_from(name: &str) -> Option<DeferralReason> {
    DeferralReason::ALL.into_iter().find(|&known| deferral(known) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for known in FleetReason::ALL {
            assert_eq!(reason_from(reason(known)), Some(known));
            assert!(!explanation(known).is_empty());
        }
        for known in FleetConditionKind::ALL {
            assert_eq!(kind_from(kind(known)), Some(known));
        }
        assert_eq!(kind_from("Ready"), None);
        assert!(GATE_FAILED.contains(crate::v1alpha1::RESUME_ANNOTATION));
    }
}
