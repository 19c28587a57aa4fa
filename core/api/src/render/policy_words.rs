//! The words of the conditions of a `DisruptionPolicy`.

use seaworthy_model::policy::{PolicyConditionKind, PolicyReason};

/// The `type` of a condition.
pub(crate) const fn kind(kind: PolicyConditionKind) -> &'static str {
    match kind {
        PolicyConditionKind::Ready => "Ready",
        PolicyConditionKind::Permitting => "Permitting",
    }
}

/// The condition whose type this is.
pub(crate) fn kind_from(name: &str) -> Option<PolicyConditionKind> {
    PolicyConditionKind::ALL.into_iter().find(|&known| kind(known) == name)
}

/// The `reason` of a condition.
pub(crate) const fn reason(reason: PolicyReason) -> &'static str {
    match reason {
        PolicyReason::InForce => "InForce",
        PolicyReason::InvalidSpec => "InvalidSpec",
        PolicyReason::Open => "Open",
        PolicyReason::PolicyPaused => "PolicyPaused",
        PolicyReason::Frozen => "Frozen",
        PolicyReason::OutsideWindow => "OutsideWindow",
    }
}

/// The reason whose name this is.
pub(crate) fn reason_from(name: &str) -> Option<PolicyReason> {
    PolicyReason::ALL.into_iter().find(|&known| reason(known) == name)
}

/// The explanation of a reason.
pub(crate) const fn explanation(reason: PolicyReason) -> &'static str {
    match reason {
        PolicyReason::InForce => "the spec is acceptable and counts",
        PolicyReason::InvalidSpec => {
            "the spec is not acceptable: the last acceptable one counts if this operator has seen it, or else no machine of \
             the fleet is disrupted until the spec is corrected"
        }
        PolicyReason::Open => "machines may be disrupted now, within the limits",
        PolicyReason::PolicyPaused => {
            "nothing is started on the selected machines until spec.paused is unset"
        }
        PolicyReason::Frozen => "a freeze counts: the selected machines are not disrupted until it is over",
        PolicyReason::OutsideWindow => {
            "no window is open for long enough: the selected machines are not disrupted until the next one opens"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for known in PolicyReason::ALL {
            assert_eq!(reason_from(reason(known)), Some(known));
            assert!(!explanation(known).is_empty());
        }
        for known in PolicyConditionKind::ALL {
            assert_eq!(kind_from(kind(known)), Some(known));
        }
        assert_eq!((kind_from("Accepted"), reason_from("NotYetKnown")), (None, None));
    }
}
