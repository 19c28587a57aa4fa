//! Blockers in words: for logs, metrics and `explain`.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::id::{ComponentId, Interned as _, Kind, PolicyId, VersionId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::Reason;
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::requirement::API_SERVER;
use seaworthy_model::time::Timestamp;

use super::certificate;
use super::words;
use crate::names::Names;
use crate::rfc3339;

/// Why something waits, in one word and in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One word: stable, for metrics and for searching logs.
    pub reason: &'static str,
    /// A sentence for a person, without a final dot.
    pub message: String,
}

const AWAITING_GRANT: &str = "it waits for its turn in the rollout; the ClusterPackageVersion, or the MachineComponentSet that selects it, says what the rollout waits for";

const SUPERSEDING: &str = "the fleet's defaults were changed; what is under way for the previous ones ends";

const HOST_NOT_READ: &str = "the host whose certificate it is about was not read by this operator yet";

/// A blocker in words. An id that is not in `names` is written as a number.
#[must_use]
pub fn blocker(blocker: &Blocker, names: &Names) -> Explanation {
    let version = |id| names.version_object_name(id).map_or_else(|_| format!("{id:?}"), String::from);
    let (reason, message) = match *blocker {
        Blocker::NotLeading
        | Blocker::Standby { .. }
        | Blocker::RenewalOverdue { .. }
        | Blocker::SteppedDown { .. }
        | Blocker::Stopping
        | Blocker::NotSynced(_) => (blocker.name(), leadership_words(*blocker)),
        Blocker::StoreRegressed { seen } => own(Reason::StoreRegressed, &regress(seen)),
        Blocker::AdoptionRefused { asked } => ("AdoptionRefused", adoption_refused(asked)),
        Blocker::EpochsExhausted { last } => ("EpochsExhausted", exhausted(last)),
        Blocker::HostAhead { seen } => own(Reason::HostAhead, &format!("it reports epoch {}", seen.0)),
        Blocker::AwaitingOwnWrite => ("AwaitingOwnWrite", "our own last write was not seen back yet".into()),
        Blocker::InFlight => ("InFlight", "an action on it is under way".into()),
        Blocker::BackOff { until } => ("BackOff", again(until)),
        Blocker::SessionLimit
        | Blocker::MaxUnavailable { .. }
        | Blocker::MaxFailures { .. }
        | Blocker::TooManyFailures { .. }
        | Blocker::AwaitingGrant
        | Blocker::TooManyUnavailable { .. } => (blocker.name(), limit_words(*blocker)),
        Blocker::Baking { .. }
        | Blocker::GateInconclusive
        | Blocker::AwaitingArtefact
        | Blocker::ArtefactUnavailable
        | Blocker::GateFailed { .. }
        | Blocker::TooDisruptive { .. }
        | Blocker::TooManyUndrained { .. } => strategy(*blocker),
        Blocker::RollbackUnsafe { .. } | Blocker::SetEmptied { .. } => {
            (blocker.name(), unconfirmed(*blocker, names))
        }
        Blocker::Superseding => ("Superseding", SUPERSEDING.into()),
        Blocker::Paused => own(Reason::Paused, ""),
        Blocker::PolicyPaused { policy: id }
        | Blocker::PolicyInvalid { policy: id }
        | Blocker::Frozen { policy: id, .. }
        | Blocker::OutsideWindow { policy: id, .. }
        | Blocker::InFlightLimit { policy: id }
        | Blocker::RateLimit { policy: id, .. } => (blocker.name(), policy(*blocker, id, names)),
        Blocker::InvalidSpec => own(Reason::InvalidSpec, ""),
        Blocker::UnknownVersion(id) => own(Reason::UnknownVersion, &version(id)),
        Blocker::NoArtefact(id) => own(Reason::NoArtefact, &version(id)),
        Blocker::MissingParameter(id) => own(Reason::MissingParameter, &version(id)),
        Blocker::Dependency { component } => own(Reason::Dependency, &component_name(component, names)),
        Blocker::DependencyCycle { component } => {
            own(Reason::DependencyCycle, &component_name(component, names))
        }
        Blocker::VersionSkew { .. } | Blocker::ApiServerSkew { .. } | Blocker::ApiServerUnknown { .. } => {
            skew(*blocker, &version)
        }
        Blocker::Unreachable { until } => ("Unreachable", unreachable(until)),
        Blocker::IdentityMismatch => own(Reason::IdentityMismatch, ""),
        Blocker::DuplicateHost => own(Reason::DuplicateHost, ""),
        Blocker::ReleaseFailed { version: id, cause } => (blocker.name(), failed(&version(id), cause)),
        Blocker::InUse(count) => ("InUse", format!("still in use by {count}")),
        Blocker::AwaitingCertificate => own(Reason::AwaitingCertificate, ""),
        Blocker::CertificateDenied => own(Reason::CertificateDenied, ""),
        Blocker::ForeignIdentity => own(Reason::ForeignIdentity, ""),
        Blocker::HostNotRead => (blocker.name(), HOST_NOT_READ.into()),
        Blocker::NotApproved(refusal) => (refusal.name(), certificate::refusal(refusal).into()),
        Blocker::Draining { .. }
        | Blocker::DisruptionBudget { .. }
        | Blocker::DrainForbidden { .. }
        | Blocker::DrainOverdue { .. }
        | Blocker::AwaitingNode { .. }
        | Blocker::LastSchedulableNode { .. } => drain(*blocker),
        Blocker::NodeConflict { .. } => own(Reason::NodeConflict, ""),
    };
    Explanation { reason, message }
}

/// The blockers that a person has to confirm.
fn unconfirmed(blocker: Blocker, names: &Names) -> String {
    if let Blocker::RollbackUnsafe { version } = blocker {
        let version =
            names.version_object_name(version).map_or_else(|_| format!("{version:?}"), String::from);
        format!("{version} says rollback: Unsafe, so a person has to confirm that an older version follows")
    } else if let Blocker::SetEmptied { set } = blocker {
        let set = names.name(set.named()).map_or_else(|_| format!("{set:?}"), String::from);
        format!("the MachineComponentSet {set} selects no machine any more, and a person has to confirm that")
    } else {
        String::new()
    }
}

fn failed(version: &str, cause: CauseKind) -> String {
    format!("{version} failed here and is not tried again: {}", words::cause_explanation(cause))
}

/// The blockers that a rule about versions makes.
fn skew(blocker: Blocker, version: &impl Fn(VersionId) -> String) -> (&'static str, String) {
    if let Blocker::VersionSkew { version: id, other, .. } = blocker {
        own(Reason::VersionSkew, &format!("{} and {}", version(id), version(other)))
    } else if let Blocker::ApiServerSkew { version: id, found, .. } = blocker {
        let (_, message) = own(Reason::VersionSkew, &format!("{} and {API_SERVER} {found}", version(id)));
        (blocker.name(), message)
    } else if let Blocker::ApiServerUnknown { version: id } = blocker {
        own(Reason::ApiServerUnknown, &version(id))
    } else {
        own(Reason::VersionSkew, "")
    }
}

/// The blockers that a `DisruptionPolicy` makes.
fn policy(blocker: Blocker, id: PolicyId, names: &Names) -> String {
    let name = names.name(id.named()).map_or_else(|_| format!("{id:?}"), String::from);
    let until = |until| rfc3339::format(until);
    if let Blocker::Frozen { until: end, .. } = blocker {
        format!("a freeze of the DisruptionPolicy {name} counts until {}", until(end))
    } else if let Blocker::OutsideWindow { until: opens, .. } = blocker {
        format!("no window of the DisruptionPolicy {name} is open for long enough before {}", until(opens))
    } else if let Blocker::RateLimit { until: free, .. } = blocker {
        format!(
            "as many began as the DisruptionPolicy {name} allows in that time; the next may at {}",
            until(free)
        )
    } else if matches!(blocker, Blocker::InFlightLimit { .. }) {
        format!(
            "as many of its failure domain are at work, or unavailable, as the DisruptionPolicy {name} allows at once"
        )
    } else if matches!(blocker, Blocker::PolicyPaused { .. }) {
        format!("the DisruptionPolicy {name} is paused; nothing is started until its spec.paused is unset")
    } else {
        format!(
            "the spec of the DisruptionPolicy {name} is not acceptable: nothing is disrupted until it is corrected"
        )
    }
}

fn again(until: Timestamp) -> String {
    format!("it failed and is tried again at {}", rfc3339::format(until))
}

fn component_name(id: ComponentId, names: &Names) -> String {
    names.component_name(id).map_or_else(|_| format!("{id:?}"), String::from)
}

fn standby(of: Epoch) -> String {
    format!("another operator, of epoch {}, holds the Lease; this one waits for its silence", of.0)
}

fn adoption_refused(asked: Epoch) -> String {
    let most = Epoch::ADOPTABLE.0;
    format!(
        "the annotation adopt-epoch of the Lease says {}, and only {most} or less leaves room for later operators: \
         record the epoch that most hosts have seen",
        asked.0
    )
}

fn exhausted(last: Epoch) -> String {
    format!(
        "the Lease has epoch {}, the last one there is: stop every operator, delete the Lease, reset the fences of the \
         hosts, and adopt epoch 1",
        last.0
    )
}

fn unreachable(until: Timestamp) -> String {
    format!("the host cannot be reached; it is tried again at {}", rfc3339::format(until))
}

fn overdue(since: Timestamp) -> String {
    format!("the Lease was last renewed at {}; nothing is started until it is", rfc3339::format(since))
}

fn stepped_down(by: Epoch) -> String {
    format!("another operator, of epoch {}, has taken the Lease; this process ends", by.0)
}

/// The blockers that the state of our leadership makes.
fn leadership_words(blocker: Blocker) -> String {
    if let Blocker::Standby { of } = blocker {
        standby(of)
    } else if let Blocker::RenewalOverdue { since } = blocker {
        overdue(since)
    } else if let Blocker::SteppedDown { by } = blocker {
        stepped_down(by)
    } else if let Blocker::NotSynced(kind) = blocker {
        format!("not every {} was seen since this operator took the Lease", kind.name())
    } else if blocker == Blocker::Stopping {
        "this process was asked to stop; what is under way may end".into()
    } else {
        "this operator has not taken the Lease yet".into()
    }
}

/// The blockers that a limit of the fleet's defaults makes.
fn limit_words(blocker: Blocker) -> String {
    if let Blocker::MaxUnavailable { occupied, limit } = blocker {
        unavailable(occupied, limit)
    } else if let Blocker::MaxFailures { at_work, limit } = blocker {
        unproven(at_work, limit)
    } else if let Blocker::TooManyFailures { failed, limit } = blocker {
        too_many(failed, limit)
    } else if let Blocker::TooManyUnavailable { unavailable, limit } = blocker {
        too_many_unavailable(unavailable, limit)
    } else if blocker == Blocker::SessionLimit {
        "as many sessions to hosts are open as may be".into()
    } else {
        AWAITING_GRANT.into()
    }
}

/// The blockers that the strategy of a rollout makes.
fn strategy(blocker: Blocker) -> (&'static str, String) {
    let words = if let Blocker::Baking { until } = blocker {
        format!("the machines of the batch are watched until {}", rfc3339::format(until))
    } else if matches!(blocker, Blocker::AwaitingArtefact) {
        "it begins once some of its machines have fetched the artefact".into()
    } else if matches!(blocker, Blocker::ArtefactUnavailable) {
        "most of the machines that were asked cannot fetch the artefact; they are asked again every minute"
            .into()
    } else if let Blocker::GateFailed { batch } = blocker {
        format!("the gate after batch {batch} has failed: correct the version in spec.components")
    } else if let Blocker::TooDisruptive { limit } = blocker {
        let limit = limit.name();
        format!("the change would do more to its workloads than strategy.disruption.atMost allows: {limit}")
    } else if let Blocker::TooManyUndrained { machines, limit } = blocker {
        format!(
            "the batch waits for {machines} machines that cannot be drained, and ends without {limit} of them"
        )
    } else {
        "too little is known of the machines that were changed, or more of them became unavailable than usual"
            .into()
    };
    (blocker.name(), words)
}

fn unavailable(occupied: u32, limit: u32) -> String {
    format!("{occupied} of {limit} machines that may be unavailable at once are; one must come back first")
}

fn too_many(failed: u32, limit: u32) -> String {
    format!(
        "{failed} machines failed, each keeps its unit of maxUnavailable, and {limit} may fail: correct the version, or \
         raise maxFailures and maxUnavailable"
    )
}

fn too_many_unavailable(unavailable: u32, limit: u32) -> String {
    format!(
        "{unavailable} machines are unavailable for reasons of their own and spec.pauseWhenUnavailable is {limit}: \
         nothing that disrupts is started"
    )
}

/// The blockers of a drain. The pod and the disruption budget are in the conditions of the Machine.
fn drain(blocker: Blocker) -> (&'static str, String) {
    if let Blocker::Draining { pods } = blocker {
        (blocker.name(), format!("{pods} pods have not left the Node yet"))
    } else if let Blocker::AwaitingNode { until } = blocker {
        (blocker.name(), format!("its kubelet may register a Node until {}", rfc3339::format(until)))
    } else if let Blocker::DrainOverdue { until } = blocker {
        own(Reason::DrainOverdue, &rfc3339::format(until))
    } else if let Blocker::LastSchedulableNode { emptied } = blocker {
        own(Reason::LastSchedulableNode, &format!("{emptied} of them"))
    } else if matches!(blocker, Blocker::DrainForbidden { .. }) {
        own(Reason::DrainForbidden, "")
    } else {
        own(Reason::Cause(CauseKind::DisruptionBudget), "")
    }
}

fn regress(seen: Epoch) -> String {
    if seen.0 == 0 { "no host has told its epoch yet".into() } else { format!("that is epoch {}", seen.0) }
}

/// A release that may fail on all machines that are at work on it.
fn unproven(at_work: u32, limit: u32) -> String {
    format!(
        "{at_work} machines are at work on an unproven release, and maxFailures lets {limit} be; one must end first"
    )
}

/// The words of a condition's reason, with a detail.
fn own(reason: Reason, detail: &str) -> (&'static str, String) {
    (words::reason(reason), words::message(words::explanation(reason), detail).into_owned())
}

/// A subject in words: `Machine m-17`.
#[must_use]
pub fn subject(subject: Subject, names: &Names) -> String {
    let target = subject.target();
    let kind = target.kind().map_or("", Kind::name);
    match target.named() {
        None if subject == Subject::Leadership => "the operator".into(),
        None => format!("{kind} {SINGLETON}"),
        Some(id) => match names.name(id) {
            Ok(name) => format!("{kind} {name}"),
            Err(_) => format!("{kind} {}", id.place().1),
        },
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::cause::CauseKind;
    use seaworthy_model::id::MachineId;
    use seaworthy_model::requirement::VersionNumber;

    use super::*;

    #[test]
    fn blockers_are_explained_with_names_times_and_numbers() {
        let mut names = Names::new();
        let version = names.version("webd", "1.1.0");
        let until = Timestamp::from_millis(1_795_162_200_000);
        let table = [
            (Blocker::NotSynced(Kind::Node), "NotSynced", "not every Node was seen"),
            (Blocker::SteppedDown { by: Epoch(4) }, "SteppedDown", "epoch 4"),
            (Blocker::Standby { of: Epoch(4) }, "Standby", "epoch 4, holds the Lease"),
            (Blocker::RenewalOverdue { since: until }, "RenewalOverdue", "at 2026-11-20T08:10:00Z"),
            (Blocker::StoreRegressed { seen: Epoch(41) }, "StoreRegressed", "that is epoch 41"),
            (
                Blocker::AdoptionRefused { asked: Epoch(4_294_967_295) },
                "AdoptionRefused",
                "says 4294967295, and only 2146435070 or less",
            ),
            (Blocker::EpochsExhausted { last: Epoch::LAST }, "EpochsExhausted", "epoch 2147483646, the last"),
            (Blocker::HostAhead { seen: Epoch(9) }, "HostAhead", "it reports epoch 9"),
            (Blocker::StoreRegressed { seen: Epoch(0) }, "StoreRegressed", "no host has told its epoch yet"),
            (Blocker::BackOff { until }, "BackOff", "at 2026-11-20T08:10:00Z"),
            (Blocker::MaxUnavailable { occupied: 3, limit: 3 }, "MaxUnavailable", "3 of 3"),
            (
                Blocker::MaxFailures { at_work: 2, limit: 2 },
                "MaxFailures",
                "2 machines are at work on an unproven release, and maxFailures lets 2 be",
            ),
            (Blocker::Draining { pods: 3 }, "Draining", "3 pods have not left the Node yet"),
            (
                Blocker::DisruptionBudget { pod: 7 },
                "DisruptionBudget",
                "a PodDisruptionBudget does not allow it",
            ),
            (Blocker::DrainForbidden { pod: 7 }, "DrainForbidden", "spec.drain.force"),
            (Blocker::DrainOverdue { until }, "DrainOverdue", ": 2026-11-20T08:10:00Z"),
            (Blocker::AwaitingNode { until }, "AwaitingNode", "until 2026-11-20T08:10:00Z"),
            (Blocker::LastSchedulableNode { emptied: 2 }, "LastSchedulableNode", ": 2 of them"),
            (Blocker::UnknownVersion(version), "UnknownVersion", ": webd-1.1.0"),
            (Blocker::MissingParameter(version), "MissingParameter", "spec.parameters"),
            (Blocker::Dependency { component: names.component("runc") }, "Dependency", ": runc"),
            (
                Blocker::VersionSkew { version, rule: 0, other: names.version("runc", "1.3.0") },
                "VersionSkew",
                ": webd-1.1.0 and runc-1.3.0",
            ),
            (
                Blocker::ApiServerSkew { version, rule: 0, found: VersionNumber::parse("1.35.4").unwrap() },
                "ApiServerSkew",
                ": webd-1.1.0 and kube-apiserver 1.35.4",
            ),
            (Blocker::ApiServerUnknown { version }, "ApiServerUnknown", ": webd-1.1.0"),
            (Blocker::UnknownVersion(VersionId(9)), "UnknownVersion", ": VersionId(9)"),
            (
                Blocker::ReleaseFailed { version, cause: CauseKind::ProbeFailed },
                "ReleaseFailed",
                "webd-1.1.0 failed here and is not tried again: the new release did not become healthy",
            ),
        ];
        for (given, reason, part) in table {
            let words = blocker(&given, &names);
            assert_eq!(words.reason, reason);
            assert!(words.message.contains(part), "{:?} should contain {part:?}", words.message);
        }
    }

    #[test]
    fn subjects_have_names() {
        let mut names = Names::new();
        let machine = names.machine("m-17");
        assert_eq!(subject(Subject::Machine(machine), &names), "Machine m-17");
        assert_eq!(subject(Subject::Machine(MachineId(5)), &names), "Machine 5");
    }
}
