//! The words of a Machine's conditions: types, reasons, and the explanation of each reason.

use std::borrow::Cow;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};

use crate::prefix::prefix;

/// Longest detail that is kept, in bytes: a host's own words are not trusted to be short.
const DETAIL_MAX: usize = 2048;

/// The `status` of a condition.
pub(crate) const fn truth(truth: Truth) -> &'static str {
    match truth {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    }
}

/// The `type` of a condition.
pub(crate) const fn kind(kind: ConditionKind) -> &'static str {
    match kind {
        ConditionKind::Ready => "Ready",
        ConditionKind::Reachable => "Reachable",
        ConditionKind::InSync => "InSync",
        ConditionKind::Paused => "Paused",
    }
}

/// The condition whose type this is.
pub(crate) fn kind_from(name: &str) -> Option<ConditionKind> {
    ConditionKind::ALL.into_iter().find(|&known| kind(known) == name)
}

/// The `reason` of a condition. A cause has the name of its class. Two classes share their names with reasons of our
/// own that mean the same, and are read back as those: `Reason::from` maps them likewise.
#[must_use]
pub const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::AsDesired => "AsDesired",
        Reason::Connected => "Connected",
        Reason::NotYetKnown => "NotYetKnown",
        Reason::Drifted => "Drifted",
        Reason::Contested => "Contested",
        Reason::OperationLost => "OperationLost",
        Reason::IdentityMismatch => "IdentityMismatch",
        Reason::DuplicateHost => "DuplicateHost",
        Reason::Paused => "Paused",
        Reason::PolicyPaused => "PolicyPaused",
        Reason::PolicyInvalid => "PolicyInvalid",
        Reason::Frozen => "Frozen",
        Reason::OutsideWindow => "OutsideWindow",
        Reason::InvalidSpec => "InvalidSpec",
        Reason::UnknownVersion => "UnknownVersion",
        Reason::NoArtefact => "NoArtefact",
        Reason::MissingParameter => "MissingParameter",
        Reason::Dependency => "Dependency",
        Reason::DependencyCycle => "DependencyCycle",
        Reason::VersionSkew => "VersionSkew",
        Reason::ApiServerUnknown => "ApiServerUnknown",
        Reason::StoreRegressed => "StoreRegressed",
        Reason::HostAhead => "HostAhead",
        Reason::Terminating => "Terminating",
        Reason::AwaitingCertificate => "AwaitingCertificate",
        Reason::CertificateDenied => "CertificateDenied",
        Reason::ForeignIdentity => "ForeignIdentity",
        Reason::Draining => "Draining",
        Reason::DrainForbidden => "DrainForbidden",
        Reason::DrainOverdue => "DrainOverdue",
        Reason::NodeConflict => "NodeConflict",
        Reason::LastSchedulableNode => "LastSchedulableNode",
        Reason::HostReleased => "HostReleased",
        Reason::Cause(cause) => cause.name(),
    }
}

/// The reason whose name this is.
pub(crate) fn reason_from(name: &str) -> Option<Reason> {
    let own = Reason::OWN.into_iter().find(|&known| reason(known) == name);
    own.or_else(|| CauseKind::from_name(name).map(Reason::Cause))
}

/// The explanation of a host that was lost at work.
const OPERATION_LOST: &str = "the host was lost in the middle of an operation, or may have been: what came of that is \
                              seen when it answers again; until then a rollout counts it like a machine at work";

/// The explanation of a reason for which people have nothing changed, here or by a `DisruptionPolicy`.
const fn pause(reason: Reason) -> &'static str {
    if matches!(reason, Reason::Paused) {
        "paused; nothing new is started until spec.paused is unset on the Machine and the fleet"
    } else if matches!(reason, Reason::PolicyPaused) {
        "a DisruptionPolicy that selects it is paused; nothing new is started until its spec.paused is unset"
    } else if matches!(reason, Reason::PolicyInvalid) {
        "the spec of a DisruptionPolicy is not acceptable, so no machine is disrupted until it is corrected"
    } else if matches!(reason, Reason::Frozen) {
        "a freeze of a DisruptionPolicy that selects it counts; it is changed when that is over"
    } else {
        "a DisruptionPolicy that selects it lets it be disrupted in windows only; it is changed in the next one"
    }
}

/// The explanation of a reason: what is wrong, and what to do about it.
pub(crate) const fn explanation(reason: Reason) -> &'static str {
    match reason {
        Reason::AsDesired => "everything that is wanted is installed and runs",
        Reason::Connected => "the host answers and lets us work",
        Reason::NotYetKnown => "not looked at yet",
        Reason::Drifted => "the host differs from what is wanted there and is being brought back",
        Reason::Contested => CONTESTED,
        Reason::OperationLost => OPERATION_LOST,
        Reason::IdentityMismatch => {
            "the host has another machine-id than status.identity.machineID: if the address is wrong, correct \
             spec.address.ip; if the host was installed anew, delete the Machine, release its host with the annotation \
             seaworthy.dev/release-host, and create it again"
        }
        Reason::DuplicateHost => {
            "the host belongs to another Machine, which is left undisturbed: correct spec.address.ip, or delete one \
             of the two Machines"
        }
        Reason::Paused
        | Reason::PolicyPaused
        | Reason::PolicyInvalid
        | Reason::Frozen
        | Reason::OutsideWindow => pause(reason),
        Reason::InvalidSpec => "the spec is not acceptable and nothing is done until it is corrected",
        Reason::UnknownVersion => {
            "there is no usable MachineComponent for a version that is wanted: create it, or correct the version"
        }
        Reason::NoArtefact => {
            "a version that is wanted has no artefact for the architecture of the host: choose another version"
        }
        Reason::MissingParameter => {
            "a version that is wanted needs a parameter that is not in spec.parameters of the Machine, or a fact that \
             its host does not tell: set the parameter, or choose another version"
        }
        Reason::Dependency => {
            "a component is not changed because of another one: one that it depends on is not there as it is wanted, or \
             one that is there depends on it"
        }
        Reason::DependencyCycle => DEPENDENCY_CYCLE,
        Reason::VersionSkew => VERSION_SKEW,
        Reason::ApiServerUnknown => API_SERVER_UNKNOWN,
        Reason::StoreRegressed => STORE_REGRESSED,
        Reason::HostAhead => HOST_AHEAD,
        Reason::Terminating => "the Machine is being deleted and its software removed from the host",
        Reason::AwaitingCertificate => {
            "the node's certificate was asked for and has not come: see the CertificateSigningRequest, and whether \
             kube-controller-manager runs, which signs it"
        }
        Reason::CertificateDenied => {
            "somebody has denied the request for the node's certificate, or it could not be signed: see the conditions \
             of the CertificateSigningRequest; once it is deleted, a new one is made"
        }
        Reason::ForeignIdentity => {
            "the host has the identity of another node, or one from another cluster, and is left as it is: if the \
             address is wrong, correct spec.address.ip; if the host may be taken over, remove the file at \
             spec.nodeIdentity.path"
        }
        Reason::Draining => "pods are leaving the Node before it is worked on",
        Reason::DrainForbidden => {
            "the Node is not drained, because a pod there would be lost with it: move or delete the pod, or allow it with \
             spec.drain.force or spec.drain.deleteEmptyDirData of the ClusterPackageVersion"
        }
        Reason::DrainOverdue => {
            "the Node was not empty within spec.drain.timeoutSeconds of the ClusterPackageVersion; it takes pods again, and \
             is tried later"
        }
        Reason::NodeConflict => NODE_CONFLICT,
        Reason::LastSchedulableNode => LAST_SCHEDULABLE_NODE,
        Reason::HostReleased => HOST_RELEASED,
        Reason::Cause(cause) => cause_explanation(cause),
    }
}

/// What to do when hosts know of an operator that the store has lost.
pub(crate) const STORE_REGRESSED: &str = "hosts have worked for a newer operator than the API server remembers (the Lease was deleted, or etcd restored), \
     so nothing is done; make sure that no other operator runs, then adopt the hosts with kubectl --namespace \
     seaworthy-system annotate --overwrite lease seaworthy seaworthy.dev/adopt-epoch=EPOCH, where EPOCH is the \
     highest epoch that was seen; if nobody knows it, begin with 1: too low a number does no harm, the hosts then \
     tell theirs";

const HOST_RELEASED: &str = "a person has recorded that the host is gone for good: the Machine goes without it, and nothing is removed there";

/// What to do about a host that alone reports a newer operator.
const HOST_AHEAD: &str = "the host reports a newer operator than the Lease, and the other hosts do not: nothing is changed there until it \
     reports none, and the other machines are not affected. Either another operator with the same cluster id works there, \
     or the state of the host is damaged or forged; if no such operator is left, kubectl annotate --overwrite machine \
     NAME seaworthy.dev/reset-fences=EPOCH with the epoch that it reports";

const NODE_CONFLICT: &str = "somebody else has set a label or taint of the Node to another value: correct spec.nodeLabels \
                             or spec.nodeTaints, or take it off the Node";
const CONTESTED: &str = "what was repaired has been changed again, several times in a row, so each further repair waits longer: find \
     out who else changes it there; after a change of spec.retry the next repair does not wait";

const VERSION_SKEW: &str = "versions that are wanted must not be together, or not with what is there on the way, so none of them is \
     changed: see requires of their MachineComponents and choose others, or upgrade kube-apiserver first";

const API_SERVER_UNKNOWN: &str = "a version that is wanted has a rule about kube-apiserver, which has not told its version lately: see the \
     operator's log, and whether it may get /version";

const DEPENDENCY_CYCLE: &str = "components that are wanted depend on each other in a circle, so none of them can be the first: correct \
     dependsOn in new versions";

const LAST_SCHEDULABLE_NODE: &str = "other Nodes are being emptied and no Node besides takes pods, so this one is emptied after them: if it \
     takes long, see what keeps the others, or give their pods another Node";

const NOT_CONFIRMED: &str = "nobody could reach the host anew with the new release, so it took it back; what was there before is back. Look for what \
     the release does to the network, the firewall or SSH; change spec.retry to try it once more";

const RELOAD_REFUSED: &str = "the version says disruption: Reload, and a reload of the service would not do; nothing was touched: publish \
     a new version that says disruption: Restart";

const REMOVAL_FAILED: &str = "a command of the component's removal failed on the host, so it is not removed yet; it is tried \
     again by itself: see what it said in the journal of the operation";

const DISRUPTION_BUDGET: &str = "a pod may not leave the Node now, because a PodDisruptionBudget does not allow it: give it more \
     replicas, or allow the disruption; it is tried again by itself";

/// The explanation of a cause.
pub(crate) const fn cause_explanation(cause: CauseKind) -> &'static str {
    match cause {
        CauseKind::ConnectionFailed => {
            "no SSH connection to the host: check that it is up, and spec.address.ip, spec.ssh.port, the network and \
             the firewall; it is tried again by itself"
        }
        CauseKind::HostKeyMismatch => {
            "the host showed a key that is not accepted: if it was installed anew, put its new public key into \
             spec.ssh.hostKeys; if not, somebody may be in between"
        }
        CauseKind::HostKeyUnknown => {
            "no host key is known: put the host's public key (/etc/ssh/ssh_host_ed25519_key.pub) into \
             spec.ssh.hostKeys, or set spec.ssh.hostKeyPolicy to TrustOnFirstUse"
        }
        CauseKind::AuthenticationFailed => {
            "the host refuses the login: check spec.ssh.user, and that the public key of the Secret in \
             spec.ssh.secretName is in that user's authorized_keys"
        }
        CauseKind::SecretMissing => {
            "the Secret of spec.ssh.secretName does not exist in the namespace seaworthy-system: create it"
        }
        CauseKind::SecretInvalid => {
            "the Secret of spec.ssh.secretName holds no usable private key: it must be of type \
             kubernetes.io/ssh-auth with an unencrypted key in ssh-privatekey"
        }
        CauseKind::PrivilegeDenied => {
            "the login works, but sudo -n does not: allow it for spec.ssh.user, or use root"
        }
        CauseKind::DeliveryFailed => "the host program could not be put onto the host or does not run there",
        CauseKind::ProtocolError => "the host program answered something that is not understood",
        CauseKind::OwnedByAnother => explanation(Reason::DuplicateHost),
        CauseKind::FenceRefused => HOST_AHEAD,
        CauseKind::HostBusy => "another operation is running on the host; it is tried again by itself",
        CauseKind::NoSpace => "too little disk space, or too few inodes, on the host: make room there",
        CauseKind::DownloadFailed => {
            "the host cannot fetch the artefact: check its url in the MachineComponent, and the network of the host"
        }
        CauseKind::DigestMismatch => {
            "the artefact behind the url is not the one that sha256 promises; nothing was installed: publish the \
             right file, or create a version with the right digest"
        }
        CauseKind::ArchiveRefused => {
            "the archive is malformed, too large, or leaves its directory; nothing was installed: repair the archive"
        }
        CauseKind::TemplateFailed => {
            "a template does not render; nothing was installed: correct it in a new version"
        }
        CauseKind::CertificateRefused => "the host refuses a certificate that is not for its own key",
        CauseKind::OperationInvalid => "the host refuses a path, name or unit of the release as unacceptable",
        CauseKind::PreflightFailed => {
            "the new release failed its preflight on the host; nothing was touched: see what it said in the journal of \
             the operation, and correct it in a new version"
        }
        CauseKind::RemovalFailed => REMOVAL_FAILED,
        CauseKind::ProbeFailed => {
            "the new release did not become healthy; what was there before is back. Look at the log of its unit on \
             the host; change spec.retry to try it once more"
        }
        CauseKind::RollbackFailed => {
            "the new release did not become healthy, and the previous one could not be restored: repair the host by \
             hand, then change spec.retry"
        }
        CauseKind::NotConfirmed => NOT_CONFIRMED,
        CauseKind::ReloadRefused => RELOAD_REFUSED,
        CauseKind::HostFailed => "the host's systemd or file system failed: look at its journal",
        CauseKind::ApiRefused => "the API server refused a request of the operator: see the operator's log",
        CauseKind::ApiUnavailable => "the API server does not answer",
        CauseKind::DisruptionBudget => DISRUPTION_BUDGET,
        CauseKind::Guard => "the operator's own safety check refused to go on: see its log, and report a bug",
    }
}

/// The message of a condition: the explanation, and the detail if there is one.
pub(crate) fn message(explanation: &'static str, detail: &str) -> Cow<'static, str> {
    if detail.is_empty() {
        return explanation.into();
    }
    format!("{explanation}: {}", prefix(detail, DETAIL_MAX)).into()
}

/// The detail in a message. A message that another build has worded differently is all detail.
pub(crate) fn detail<'m>(explanation: &str, message: &'m str) -> &'m str {
    let rest = message.strip_prefix(explanation);
    match rest.map(|rest| rest.strip_prefix(": ").or(rest.is_empty().then_some(""))) {
        Some(Some(detail)) => detail,
        Some(None) | None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_name_and_an_explanation() {
        let mut names = std::collections::BTreeMap::new();
        let causes = CauseKind::ALL.into_iter().map(Reason::Cause);
        for known in Reason::OWN.into_iter().chain(causes) {
            assert!(!explanation(known).is_empty());
            assert!(explanation(known).len() < 512, "{known:?} is too long to be read");
            names.entry(reason(known)).or_insert(known);
        }
        assert_eq!(names.len(), Reason::OWN.len() + CauseKind::ALL.len() - 2, "two causes share their names");
        for (name, known) in names {
            assert_eq!(reason_from(name), Some(known));
        }
        assert_eq!(reason_from("Nonsense"), None);
    }

    #[test]
    fn shared_names_are_read_as_our_own_reasons() {
        for cause in CauseKind::ALL {
            assert_eq!(reason_from(reason(Reason::Cause(cause))), Some(Reason::from(cause)));
        }
    }

    #[test]
    fn a_regressed_store_is_explained_with_the_real_names() {
        use crate::v1alpha1::{ADOPT_ANNOTATION, LEASE, NAMESPACE};
        for part in [ADOPT_ANNOTATION, &format!("lease {LEASE} "), &format!("--namespace {NAMESPACE} ")] {
            assert!(STORE_REGRESSED.contains(part), "{part}");
        }
    }

    #[test]
    fn a_host_that_is_ahead_is_explained_with_the_real_annotation() {
        assert!(HOST_AHEAD.contains(crate::v1alpha1::RESET_ANNOTATION));
    }

    #[test]
    fn details_come_back() {
        for text in ["", "connection refused", "a: b", ": ", "the spec"] {
            assert_eq!(detail("the spec", &message("the spec", text)), text);
        }
        assert_eq!(detail("the spec", "another build's words"), "another build's words");
        assert_eq!(detail("the spec", "the spectre"), "the spectre");
    }

    #[test]
    fn long_details_are_cut_between_characters() {
        let long = "é".repeat(DETAIL_MAX);
        let cut = message("x", &long);
        assert_eq!(cut.len(), "x: ".len() + DETAIL_MAX);
        assert_eq!(message("x", &format!("a{long}")).len(), "x: ".len() + DETAIL_MAX - 1);
    }
}
