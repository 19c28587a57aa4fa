//! Details of conditions in words. [`parse`](crate::parse) reads them back. If a text changes here, a new build does
//! not recognize the old text, and each such status is written once more.

use std::borrow::Cow;
use std::fmt::Write as _;

use seaworthy_model::detail::{
    Dependency, DependencyState, Detail, FleetDetail, Found, GateName, IdentityFlaw, Pod, Regress, Skew,
    Stranger, VersionDetail, Wait,
};
use seaworthy_model::gate_check::{GateCheck, Silence};
use seaworthy_model::meta::SpecError;
use seaworthy_model::pod::PodLoss;
use seaworthy_model::requirement::{API_SERVER, VersionNumber};
use seaworthy_model::strategy::Evidence;

use crate::rfc3339;

/// The detail of a condition of a Machine.
#[must_use]
pub fn detail(detail: &Detail) -> Cow<'_, str> {
    match detail {
        Detail::Reported(words) => (**words).into(),
        Detail::Version(version) => (**version).into(),
        Detail::Policy { policy, until: None } => format!("{POLICY}{policy}").into(),
        Detail::Policy { policy, until: Some(until) } => {
            format!("{POLICY}{policy}{UNTIL}{}", rfc3339::format(*until)).into()
        }
        Detail::Failed(version, words) if words.is_empty() => format!("{RELEASE}{version}").into(),
        Detail::Failed(version, words) => format!("{RELEASE}{version}: {words}").into(),
        Detail::SessionLost
        | Detail::ChangeNotShown
        | Detail::NoAnswer
        | Detail::NodeChanged
        | Detail::PodsNotListed
        | Detail::AwaitsSlot => fixed(detail).unwrap_or_default().into(),
        Detail::Missing { version, inputs } => format!("{version} needs {}", inputs.join(", ")).into(),
        Detail::Dependency(found) => dependency(found).into(),
        Detail::Cycle(components) => components.join(" -> ").into(),
        Detail::Skew(found) => skew(found).into(),
        Detail::Regress(found) => regress(*found),
        Detail::HostAhead(seen) => format!("{HOST_TELLS}{}", seen.0).into(),
        Detail::Contested { component, times, minutes } => {
            let name = component.as_deref().unwrap_or(ON_NODE);
            format!(
                "{name} was repaired {times} times in a row; the next repair waits for {minutes} min after the last"
            )
            .into()
        }
        Detail::Stranger(found) => stranger(found).into(),
        Detail::ForeignIdentity { common_name, flaw } => format!("{common_name}{}", suffix(*flaw)).into(),
        Detail::PodsLeft { count, first, refused } => pods_left(*count, first, refused.as_ref()).into(),
        Detail::PodRefused(pod, words) => format!("pod {}: {words}", path(pod)).into(),
        Detail::PodLost(pod, loss) => format!("pod {}{}", path(pod), of_loss(*loss)).into(),
        Detail::ForeignLabel(key) => format!("label {key}").into(),
        Detail::ForeignTaint(key, effect) => format!("taint {key}:{}", effect.name()).into(),
    }
}

/// The detail of a condition of the `ClusterPackageVersion`.
pub(crate) fn fleet_detail(detail: &FleetDetail) -> Cow<'_, str> {
    match detail {
        FleetDetail::Other(words) => (**words).into(),
        FleetDetail::Regress(found) => regress(*found),
        FleetDetail::Skew(found) => skew(found).into(),
        FleetDetail::Failures { failed, limit } => format!("{failed} failed, {limit} may").into(),
        FleetDetail::Lost { lost, failed, limit } => {
            format!("{lost} were lost at work, {failed} failed, {limit} may fail").into()
        }
        FleetDetail::Reach { component, machines, limit } => {
            format!("{component} reaches {machines} machines, {limit} need no confirmation").into()
        }
        FleetDetail::Unavailable { unavailable, limit } => {
            format!("{unavailable} are unavailable, {limit} may be").into()
        }
        FleetDetail::Undrained { machines, limit } => {
            format!("{machines} cannot be drained, {limit} are left out").into()
        }
        FleetDetail::Overlap { component, other, decides: true } => {
            format!("it decides about {component} on those that {other} selects, too").into()
        }
        FleetDetail::Overlap { component, other, decides: false } => {
            format!("{other} decides about {component} on those that both select").into()
        }
        FleetDetail::LeftOut { left, failed: 0 } => format!("{left} left").into(),
        FleetDetail::LeftOut { left, failed } => format!("{left} left, {failed} of them failed").into(),
        FleetDetail::Waits(waits) => {
            let wait =
                |Wait { component, first }: &Wait| format!("{component} waits until {first} was rolled out");
            waits.iter().map(wait).collect::<Vec<_>>().join("; ").into()
        }
        FleetDetail::Bake { gate, until, is_last } => {
            let then = if *is_last { THEN_COMPLETE } else { THEN_NEXT };
            format!("{}{UNTIL}{}{then}", gate_name(gate), rfc3339::format(*until)).into()
        }
        FleetDetail::Gate(gate, evidence) => {
            format!("{}: {}", gate_name(gate), self::evidence(evidence)).into()
        }
        FleetDetail::Unanswered(gate, check, why) => {
            format!("{}: {}: {}", gate_name(gate), unanswered(*check), silence(why)).into()
        }
        FleetDetail::Unfetched { version, failed, asked, why } => {
            format!("{version}: {failed} of {asked} machines {UNFETCHED}{why}").into()
        }
    }
}

/// Why a check was not answered.
pub(crate) fn silence(why: &Silence) -> &str {
    match why {
        Silence::Told(words) => words,
        Silence::NoAnswer => "no answer came in time",
        Silence::NothingToProbe => "no changed machine has a Node that is ready",
    }
}

/// What is said of a check that was not answered.
pub(crate) const fn unanswered(check: GateCheck) -> &'static str {
    match check {
        GateCheck::Query => "the query was not answered",
        GateCheck::ProbePods => "the probe pods tell nothing",
    }
}

/// The text before the reason why machines do not have an artefact.
pub(crate) const UNFETCHED: &str = "could not fetch it: ";

/// The text before the end of a bake.
pub(crate) const UNTIL: &str = " until ";

/// The text after the end of a bake that another batch follows.
pub(crate) const THEN_NEXT: &str = ", before the next batch starts";

/// The text after the end of the last bake.
pub(crate) const THEN_COMPLETE: &str = ", before it is complete";

/// As the annotation that overrides a gate names it.
fn gate_name(gate: &GateName) -> String {
    format!("{}/{}/{}", gate.component, gate.generation, gate.batch)
}

/// What the evidence of a gate says.
#[must_use]
pub fn evidence(evidence: &Evidence) -> String {
    let Evidence { changed, failed, unavailable, silent, untouched, untouched_unavailable, .. } = evidence;
    let mut words = format!(
        "{changed} changed, {failed} failed, {unavailable} went down, {silent} silent; of {untouched} others \
         {untouched_unavailable} went down"
    );
    let Evidence { series, probes, unstarted, .. } = evidence;
    // Writing to a String cannot fail.
    if *series > 0 {
        let _ = write!(words, "; the query found {series} series");
    }
    if *probes > 0 {
        let _ = write!(words, "; of {probes} probe pods {unstarted} did not start");
    }
    words
}

/// The detail of a condition of a `MachineComponent`.
pub(crate) fn version_detail(detail: &VersionDetail) -> Cow<'_, str> {
    match detail {
        VersionDetail::Other(words) => (**words).into(),
        VersionDetail::Faults(faults) => faults.iter().map(fault).collect::<Vec<_>>().join("; ").into(),
        VersionDetail::Leaving { users, machine: None } => format!("{LEAVING}{users}").into(),
        VersionDetail::Leaving { users, machine: Some(machine) } => {
            format!("{LEAVING}{users}{ONE_OF_THEM}{machine}").into()
        }
    }
}

fn fault(SpecError { field, message }: &SpecError) -> String {
    format!("{field}: {message}")
}

/// The text before the number of users that a deletion waits for.
pub(crate) const LEAVING: &str = "its deletion waits for that; users when last counted: ";
/// The text before the name of a machine that is one of them.
pub(crate) const ONE_OF_THEM: &str = ", one of them Machine ";

/// The repaired part, if it is not a component.
pub(crate) const ON_NODE: &str = "what is set on its Node";

/// The text before the name of a policy.
pub(crate) const POLICY: &str = "DisruptionPolicy ";

/// The text before a version that failed.
pub(crate) const RELEASE: &str = "release ";

/// Details with a fixed text.
pub(crate) const FIXED: [Detail; 6] = [
    Detail::SessionLost,
    Detail::ChangeNotShown,
    Detail::NoAnswer,
    Detail::NodeChanged,
    Detail::PodsNotListed,
    Detail::AwaitsSlot,
];

/// The text of a detail with a fixed text.
pub(crate) const fn fixed(detail: &Detail) -> Option<&'static str> {
    Some(match detail {
        Detail::SessionLost => "the session was lost",
        Detail::ChangeNotShown => "the host reported success, and still is not as it should be",
        Detail::NoAnswer => "no answer",
        Detail::NodeChanged => "the Node has changed meanwhile",
        Detail::PodsNotListed => "the pods of the Node could not be listed",
        Detail::AwaitsSlot => "it waits until fewer machines are unavailable",
        Detail::Reported(_)
        | Detail::Version(_)
        | Detail::Policy { .. }
        | Detail::Failed(..)
        | Detail::Missing { .. }
        | Detail::Dependency(_)
        | Detail::Cycle(_)
        | Detail::Skew(_)
        | Detail::Regress(_)
        | Detail::HostAhead(_)
        | Detail::Contested { .. }
        | Detail::Stranger(_)
        | Detail::ForeignIdentity { .. }
        | Detail::PodsLeft { .. }
        | Detail::PodRefused(..)
        | Detail::PodLost(..)
        | Detail::ForeignLabel(_)
        | Detail::ForeignTaint(..) => return None,
    })
}

/// The text between the two components of a dependency, and the text after them.
pub(crate) const fn of_state(state: DependencyState) -> (&'static str, &'static str) {
    match state {
        DependencyState::Pending => (" needs ", ", which has to change first"),
        DependencyState::Failed => (" needs ", ", which failed here"),
        DependencyState::Obstructed => (" needs ", ", in whose way something stands"),
        DependencyState::Unwanted => (" needs ", ", which is not there, and nobody wants it there"),
        DependencyState::Leaving => (" needs ", ", which is to be removed"),
        DependencyState::Depending => (" is what ", " needs, which is there"),
    }
}

fn dependency(Dependency { component, other, state }: &Dependency) -> String {
    let (between, after) = of_state(*state);
    format!("{component}{between}{other}{after}")
}

fn skew(Skew { version, at_least, below, found }: &Skew) -> String {
    let rule = bounds(*at_least, *below);
    match found {
        Found::Version { component, version: other } => {
            format!("{version} requires {component} {rule}, and {other} would be with it")
        }
        Found::ApiServer(found) => {
            format!("{version} requires {API_SERVER} {rule}, and there is one of {found}")
        }
        Found::UnknownApiServer => {
            format!("{version} requires {API_SERVER} {rule}, whose version is not known")
        }
    }
}

fn bounds(at_least: Option<VersionNumber>, below: Option<VersionNumber>) -> String {
    match (at_least, below) {
        (Some(least), Some(end)) => format!("at least {least} and below {end}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(end)) => format!("below {end}"),
        (None, None) => String::new(),
    }
}

fn regress(regress: Regress) -> Cow<'static, str> {
    match regress {
        Regress::HostsAhead(seen) => format!("{HOSTS_TELL}{}", seen.0).into(),
        Regress::LeaseGone(ours) => format!("the Lease of epoch {} is gone", ours.0).into(),
        Regress::NoLease => NO_LEASE.into(),
        Regress::AdoptionRefused(asked) => format!("{NO_ROOM}{}", asked.0).into(),
    }
}

pub(crate) const NO_LEASE: &str = "machines are recorded, but no Lease";

/// The text before the epoch that several hosts report.
pub(crate) const HOSTS_TELL: &str = "hosts have seen an operator of epoch ";

/// The text before the epoch that one host reports.
pub(crate) const HOST_TELLS: &str = "it reports an operator of epoch ";

/// The text before the epoch of an adoption that is refused.
pub(crate) const NO_ROOM: &str =
    "the adoption is refused, since only 2146435070 or less leaves room for later operators: adopt-epoch is ";

fn stranger(stranger: &Stranger) -> String {
    match stranger {
        Stranger::OtherHost { found, recorded } => {
            format!("machine-id {found}, recorded is {recorded}")
        }
        Stranger::OfCluster { cluster, machine } => format!("Machine {machine} of cluster {cluster}"),
        Stranger::OfMachine(name) => format!("Machine {name}"),
        Stranger::OfGone(uid) => format!("a Machine with uid {uid}, which does not exist any more"),
    }
}

/// The text after the name of an identity.
pub(crate) const fn suffix(flaw: IdentityFlaw) -> &'static str {
    match flaw {
        IdentityFlaw::Authority => ", from another authority",
        IdentityFlaw::NoNode => ", which is no Node of this cluster",
    }
}

fn pods_left(count: usize, first: &[Pod], refused: Option<&(Pod, Box<str>)>) -> String {
    let mut words = format!("{count} pods left");
    for (index, pod) in first.iter().enumerate() {
        words.push_str(if index == 0 { ": " } else { ", " });
        words.push_str(&path(pod));
    }
    if let Some((pod, reported)) = refused {
        let written = write!(words, "; {}: {reported}", path(pod));
        debug_assert!(written.is_ok(), "a string takes every write");
    }
    words
}

/// The text after the name of a pod.
pub(crate) const fn of_loss(loss: PodLoss) -> &'static str {
    match loss {
        PodLoss::Pod => " has no controller that makes another one",
        PodLoss::LocalStorage => " has an emptyDir volume",
    }
}

fn path(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
