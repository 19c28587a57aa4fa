//! The words of the conditions of a `MachineComponent`.

use seaworthy_model::component::{VersionConditionKind, VersionReason};

/// The `type` of a condition.
pub(crate) const fn kind(kind: VersionConditionKind) -> &'static str {
    match kind {
        VersionConditionKind::Accepted => "Accepted",
        VersionConditionKind::InUse => "InUse",
    }
}

/// The condition whose type this is.
pub(crate) fn kind_from(name: &str) -> Option<VersionConditionKind> {
    VersionConditionKind::ALL.into_iter().find(|&known| kind(known) == name)
}

/// The `reason` of a condition.
pub(crate) const fn reason(reason: VersionReason) -> &'static str {
    match reason {
        VersionReason::Accepted => "Accepted",
        VersionReason::InvalidSpec => "InvalidSpec",
        VersionReason::Default => "Default",
        VersionReason::Machines => "Machines",
        VersionReason::NotInUse => "NotInUse",
    }
}

/// The reason whose name this is.
pub(crate) fn reason_from(name: &str) -> Option<VersionReason> {
    VersionReason::ALL.into_iter().find(|&known| reason(known) == name)
}

/// The explanation of a reason.
pub(crate) const fn explanation(reason: VersionReason) -> &'static str {
    match reason {
        VersionReason::Accepted => "the spec is acceptable: machines can get this version",
        // It cannot be corrected: a spec never changes.
        VersionReason::InvalidSpec => {
            "the spec is not acceptable and no machine gets this version: create one with a correct spec under another \
             version, or delete this object and create it again"
        }
        VersionReason::Default => {
            "the ClusterPackageVersion or one of its rollouts names it: machines get it, or would get it back"
        }
        VersionReason::Machines => {
            "at the last look some machines had it, or pinned it, and the ClusterPackageVersion does not name it"
        }
        VersionReason::NotInUse => "at the last look nothing used it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for known in VersionReason::ALL {
            assert_eq!(reason_from(reason(known)), Some(known));
            assert!(!explanation(known).is_empty());
        }
        for known in VersionConditionKind::ALL {
            assert_eq!(kind_from(kind(known)), Some(known));
        }
        assert_eq!((kind_from("Ready"), reason_from("NotYetKnown")), (None, None));
    }
}
