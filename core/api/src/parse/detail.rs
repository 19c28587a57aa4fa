//! Details of conditions, read back from the text that [`render`](crate::render) gives them.
//!
//! A text that is not one of ours under its reason is kept as it is, for instance one of another build. In both cases
//! rendering gives the same text again.

use std::sync::Arc;

use seaworthy_model::attributes::TaintEffect;
use seaworthy_model::component::VersionReason;
use seaworthy_model::detail::{
    Dependency, DependencyState, Detail, FleetDetail, Found, GateName, IdentityFlaw, Pod, Regress, Skew,
    Stranger, VersionDetail, Wait,
};
use seaworthy_model::gate_check::{GateCheck, Silence};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{HostId, Reason};
use seaworthy_model::meta::SpecError;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::pod::PodLoss;
use seaworthy_model::requirement::{API_SERVER, VersionNumber};
use seaworthy_model::strategy::Evidence;

use crate::render::detail::{
    FIXED, HOST_TELLS, HOSTS_TELL, LEAVING, NO_LEASE, NO_ROOM, ON_NODE, ONE_OF_THEM, POLICY, RELEASE,
    THEN_COMPLETE, THEN_NEXT, UNFETCHED, UNTIL, detail, fixed, fleet_detail, of_loss, of_state, silence,
    suffix, unanswered, version_detail as version_words,
};
use crate::rfc3339;

/// The detail of a condition of a Machine.
pub(super) fn machine_detail(reason: Reason, words: &str) -> Option<Arc<Detail>> {
    if words.is_empty() {
        return None;
    }
    // Older builds gave a condition that kept its reason the detail of another one, so texts about hosts are read under
    // any reason.
    let known = FIXED.into_iter().find(|known| fixed(known) == Some(words));
    let read = known.or_else(|| typed(reason, words)).filter(|read| detail(read) == words);
    Some(Arc::new(read.unwrap_or_else(|| Detail::Reported(words.into()))))
}

fn typed(reason: Reason, words: &str) -> Option<Detail> {
    match reason {
        Reason::UnknownVersion | Reason::NoArtefact => {
            (!words.contains(' ')).then(|| Detail::Version(words.into()))
        }
        Reason::PolicyPaused | Reason::PolicyInvalid | Reason::Frozen | Reason::OutsideWindow => {
            policy(words)
        }
        Reason::MissingParameter => missing(words),
        Reason::Dependency => dependency(words).map(Detail::Dependency),
        Reason::DependencyCycle => {
            words.contains(" -> ").then(|| Detail::Cycle(words.split(" -> ").map(Arc::from).collect()))
        }
        Reason::VersionSkew | Reason::ApiServerUnknown => skew(words).map(Detail::Skew),
        Reason::StoreRegressed => regress(words).map(Detail::Regress),
        Reason::HostAhead => {
            words.strip_prefix(HOST_TELLS)?.parse().ok().map(|seen| Detail::HostAhead(Epoch(seen)))
        }
        Reason::Contested => contested(words),
        Reason::IdentityMismatch | Reason::DuplicateHost => stranger(words).map(Detail::Stranger),
        Reason::ForeignIdentity => foreign_identity(words),
        Reason::Draining | Reason::DrainOverdue => pods_left(words),
        Reason::DrainForbidden => pod_lost(words),
        Reason::NodeConflict => foreign_attribute(words),
        Reason::Cause(_) => pod_refused(words).or_else(|| failed(words)),
        Reason::AsDesired
        | Reason::Connected
        | Reason::NotYetKnown
        | Reason::Drifted
        | Reason::OperationLost
        | Reason::Paused
        | Reason::InvalidSpec
        | Reason::Terminating
        | Reason::AwaitingCertificate
        | Reason::CertificateDenied
        | Reason::LastSchedulableNode
        | Reason::HostReleased => None,
    }
}

/// The detail of a condition of the `ClusterPackageVersion`.
pub(super) fn package_version_detail(reason: FleetReason, words: &str) -> Option<FleetDetail> {
    if words.is_empty() {
        return None;
    }
    let read = match reason {
        FleetReason::StoreRegressed => regress(words).map(FleetDetail::Regress),
        FleetReason::VersionSkew => skew(words).map(FleetDetail::Skew),
        FleetReason::TooManyFailures => failures(words),
        FleetReason::TooManyLost => lost(words),
        FleetReason::ConfirmationNeeded => reach(words),
        FleetReason::TooManyUnavailable => unavailable(words),
        FleetReason::TooManyUndrained => undrained(words),
        FleetReason::Overlap => overlap(words),
        FleetReason::MachinesLeftOut => left_out(words),
        FleetReason::RollingOut => waits(words),
        FleetReason::Baking => bake(words),
        FleetReason::ArtefactUnavailable => unfetched(words),
        FleetReason::GateInconclusive | FleetReason::GateFailed | FleetReason::RolledBack => gate(words),
        FleetReason::AllUpdated
        | FleetReason::TooDisruptive
        | FleetReason::RollbackUnsafe
        | FleetReason::SetEmptied
        | FleetReason::Superseding
        | FleetReason::Paused
        | FleetReason::PolicyPaused
        | FleetReason::PolicyInvalid
        | FleetReason::Frozen
        | FleetReason::OutsideWindow
        | FleetReason::InvalidSpec
        | FleetReason::UnknownVersion
        | FleetReason::Terminating
        | FleetReason::NoMachines
        | FleetReason::Promoted
        | FleetReason::Aborted => None,
    };
    let read = read.filter(|read| fleet_detail(read) == words);
    Some(read.unwrap_or_else(|| FleetDetail::Other(words.into())))
}

/// The detail of a condition of a `MachineComponent`.
pub(super) fn version_detail(reason: VersionReason, words: &str) -> Option<VersionDetail> {
    if words.is_empty() {
        return None;
    }
    let read = match reason {
        VersionReason::InvalidSpec => faults(words),
        VersionReason::Default | VersionReason::Machines => leaving(words),
        VersionReason::Accepted | VersionReason::NotInUse => None,
    };
    let read = read.filter(|read| version_words(read) == words);
    Some(read.unwrap_or_else(|| VersionDetail::Other(words.into())))
}

fn policy(words: &str) -> Option<Detail> {
    let rest = words.strip_prefix(POLICY)?;
    let (policy, until) = match rest.split_once(UNTIL) {
        Some((policy, until)) => (policy, Some(rfc3339::parse(until)?)),
        None => (rest, None),
    };
    Some(Detail::Policy { policy: policy.into(), until })
}

fn bake(words: &str) -> Option<FleetDetail> {
    let (gate, rest) = words.split_once(UNTIL)?;
    let (until, is_last) = match rest.strip_suffix(THEN_COMPLETE) {
        Some(until) => (until, true),
        None => (rest.strip_suffix(THEN_NEXT)?, false),
    };
    Some(FleetDetail::Bake { gate: gate_name(gate)?, until: rfc3339::parse(until)?, is_last })
}

fn unfetched(words: &str) -> Option<FleetDetail> {
    let (version, rest) = words.split_once(": ")?;
    let (counts, why) = rest.split_once(UNFETCHED)?;
    let (failed, asked) = counts.strip_suffix(" machines ")?.split_once(" of ")?;
    Some(FleetDetail::Unfetched {
        version: version.into(),
        failed: failed.parse().ok()?,
        asked: asked.parse().ok()?,
        why: why.into(),
    })
}

fn gate(words: &str) -> Option<FleetDetail> {
    let (gate, found) = words.split_once(": ")?;
    let gate = gate_name(gate)?;
    let why = |check: GateCheck| {
        let why = found.strip_prefix(unanswered(check))?.strip_prefix(": ")?;
        let known = [Silence::NoAnswer, Silence::NothingToProbe].into_iter().find(|it| silence(it) == why);
        Some((check, known.unwrap_or_else(|| Silence::Told(why.into()))))
    };
    if let Some((check, why)) = GateCheck::ALL.into_iter().find_map(why) {
        return Some(FleetDetail::Unanswered(gate, check, why));
    }
    let mut parts = found.split("; ");
    let (mut of_changed, mut of_others) = (numbers(parts.next()?), numbers(parts.next()?));
    let mut evidence = Evidence {
        changed: of_changed.next()?,
        failed: of_changed.next()?,
        unavailable: of_changed.next()?,
        silent: of_changed.next()?,
        untouched: of_others.next()?,
        untouched_unavailable: of_others.next()?,
        ..Evidence::default()
    };
    for part in parts {
        let mut found = numbers(part);
        match found.next()? {
            series if part.ends_with("series") => evidence.series = series,
            probes => (evidence.probes, evidence.unstarted) = (probes, found.next()?),
        }
    }
    Some(FleetDetail::Gate(gate, evidence))
}

/// The numbers in a text.
fn numbers(words: &str) -> impl Iterator<Item = u32> {
    words.split_ascii_whitespace().filter_map(|word| word.parse().ok())
}

fn gate_name(words: &str) -> Option<GateName> {
    let mut parts = words.split('/');
    let (component, generation, batch) = (parts.next()?, parts.next()?, parts.next()?);
    Some(GateName {
        component: component.into(),
        generation: generation.parse().ok()?,
        batch: batch.parse().ok()?,
    })
}

fn faults(words: &str) -> Option<VersionDetail> {
    let fault = |words: &str| {
        let (field, message) = words.split_once(": ").filter(|(field, _)| is_field(field))?;
        Some(SpecError { field: field.into(), message: message.into() })
    };
    words.split("; ").map(fault).collect::<Option<_>>().map(VersionDetail::Faults)
}

/// Whether a text is the path of a field. Anything may stand before a colon in the words of another build.
fn is_field(path: &str) -> bool {
    let rest = path.strip_prefix("spec").or_else(|| path.strip_prefix("metadata"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn leaving(words: &str) -> Option<VersionDetail> {
    let rest = words.strip_prefix(LEAVING)?;
    let (users, machine) =
        rest.split_once(ONE_OF_THEM).map_or((rest, None), |(users, name)| (users, Some(name)));
    Some(VersionDetail::Leaving { users: users.parse().ok()?, machine: machine.map(Arc::from) })
}

fn unavailable(words: &str) -> Option<FleetDetail> {
    let (unavailable, limit) = words.strip_suffix(" may be")?.split_once(" are unavailable, ")?;
    Some(FleetDetail::Unavailable { unavailable: unavailable.parse().ok()?, limit: limit.parse().ok()? })
}

fn undrained(words: &str) -> Option<FleetDetail> {
    let (machines, limit) = words.strip_suffix(" are left out")?.split_once(" cannot be drained, ")?;
    Some(FleetDetail::Undrained { machines: machines.parse().ok()?, limit: limit.parse().ok()? })
}

fn overlap(words: &str) -> Option<FleetDetail> {
    let of = |component: &str, other: &str, decides| FleetDetail::Overlap {
        component: component.into(),
        other: other.into(),
        decides,
    };
    if let Some(rest) = words.strip_suffix(" selects, too") {
        let (component, other) = rest.strip_prefix("it decides about ")?.split_once(" on those that ")?;
        return Some(of(component, other, true));
    }
    let rest = words.strip_suffix(" on those that both select")?;
    let (other, component) = rest.split_once(" decides about ")?;
    Some(of(component, other, false))
}

fn reach(words: &str) -> Option<FleetDetail> {
    let (component, rest) = words.strip_suffix(" need no confirmation")?.split_once(" reaches ")?;
    let (machines, limit) = rest.split_once(" machines, ")?;
    Some(FleetDetail::Reach {
        component: component.into(),
        machines: machines.parse().ok()?,
        limit: limit.parse().ok()?,
    })
}

fn lost(words: &str) -> Option<FleetDetail> {
    let (lost, rest) = words.strip_suffix(" may fail")?.split_once(" were lost at work, ")?;
    let (failed, limit) = rest.split_once(" failed, ")?;
    Some(FleetDetail::Lost {
        lost: lost.parse().ok()?,
        failed: failed.parse().ok()?,
        limit: limit.parse().ok()?,
    })
}

fn left_out(words: &str) -> Option<FleetDetail> {
    let (left, failed) = match words.strip_suffix(" of them failed") {
        Some(words) => words.split_once(" left, ")?,
        None => (words.strip_suffix(" left")?, "0"),
    };
    Some(FleetDetail::LeftOut { left: left.parse().ok()?, failed: failed.parse().ok()? })
}

fn missing(words: &str) -> Option<Detail> {
    let (version, inputs) = words.split_once(" needs ")?;
    let inputs = inputs.split(", ").filter(|input| !input.is_empty()).map(Arc::from).collect();
    Some(Detail::Missing { version: version.into(), inputs })
}

fn dependency(words: &str) -> Option<Dependency> {
    DependencyState::ALL.into_iter().find_map(|state| {
        let (between, after) = of_state(state);
        let (component, other) = words.strip_suffix(after)?.split_once(between)?;
        Some(Dependency { component: component.into(), other: other.into(), state })
    })
}

fn skew(words: &str) -> Option<Skew> {
    let (version, rest) = words.split_once(" requires ")?;
    let (party, rest) = rest.split_once(' ')?;
    let (rule, found) = if party != API_SERVER {
        let (rule, other) = rest.strip_suffix(" would be with it")?.split_once(", and ")?;
        (rule, Found::Version { component: party.into(), version: other.into() })
    } else if let Some(rule) = rest.strip_suffix(", whose version is not known") {
        (rule, Found::UnknownApiServer)
    } else {
        let (rule, found) = rest.split_once(", and there is one of ")?;
        (rule, Found::ApiServer(VersionNumber::parse(found)?))
    };
    let (at_least, below) = bounds(rule)?;
    Some(Skew { version: version.into(), at_least, below, found })
}

fn bounds(words: &str) -> Option<(Option<VersionNumber>, Option<VersionNumber>)> {
    let (at_least, below) = match words.strip_prefix("at least ") {
        Some(rest) => match rest.split_once(" and below ") {
            Some((least, end)) => (Some(least), Some(end)),
            None => (Some(rest), None),
        },
        None => (None, words.strip_prefix("below ")),
    };
    let number = |text: Option<&str>| text.map(VersionNumber::parse);
    let (at_least, below) = (number(at_least), number(below));
    (at_least != Some(None) && below != Some(None)).then_some((at_least.flatten(), below.flatten()))
}

fn regress(words: &str) -> Option<Regress> {
    if words == NO_LEASE {
        return Some(Regress::NoLease);
    }
    if let Some(epoch) = words.strip_prefix(HOSTS_TELL) {
        return epoch.parse().ok().map(|epoch| Regress::HostsAhead(Epoch(epoch)));
    }
    if let Some(epoch) = words.strip_prefix(NO_ROOM) {
        return epoch.parse().ok().map(|epoch| Regress::AdoptionRefused(Epoch(epoch)));
    }
    let epoch = words.strip_prefix("the Lease of epoch ")?.strip_suffix(" is gone")?;
    epoch.parse().ok().map(|epoch| Regress::LeaseGone(Epoch(epoch)))
}

fn contested(words: &str) -> Option<Detail> {
    let (name, rest) = words.split_once(" was repaired ")?;
    let (times, rest) = rest.split_once(" times in a row; the next repair waits for ")?;
    let minutes = rest.strip_suffix(" min after the last")?.parse().ok()?;
    let component = (name != ON_NODE).then(|| name.into());
    Some(Detail::Contested { component, times: times.parse().ok()?, minutes })
}

fn stranger(words: &str) -> Option<Stranger> {
    if let Some(rest) = words.strip_prefix("machine-id ") {
        let (found, recorded) = rest.split_once(", recorded is ")?;
        let id = |text| u128::from_str_radix(text, 16).ok().map(HostId);
        return Some(Stranger::OtherHost { found: id(found)?, recorded: id(recorded)? });
    }
    if let Some(rest) = words.strip_prefix("a Machine with uid ") {
        let uid = rest.strip_suffix(", which does not exist any more")?;
        return Uid::parse(uid).map(Stranger::OfGone);
    }
    let rest = words.strip_prefix("Machine ")?;
    match rest.split_once(" of cluster ") {
        Some((machine, cluster)) => {
            Some(Stranger::OfCluster { cluster: cluster.into(), machine: Uid::parse(machine)? })
        }
        None => Some(Stranger::OfMachine(rest.into())),
    }
}

fn foreign_identity(words: &str) -> Option<Detail> {
    [IdentityFlaw::Authority, IdentityFlaw::NoNode].into_iter().find_map(|flaw| {
        let common_name = words.strip_suffix(suffix(flaw))?.into();
        Some(Detail::ForeignIdentity { common_name, flaw })
    })
}

fn pods_left(words: &str) -> Option<Detail> {
    let (count, rest) = words.split_once(" pods left")?;
    let (pods, refused) = match rest.split_once("; ") {
        Some((pods, refused)) => (pods, Some(refused_pod(refused)?)),
        None => (rest, None),
    };
    let first = match pods.strip_prefix(": ") {
        Some(pods) => pods.split(", ").map(pod).collect::<Option<_>>()?,
        None => Box::default(),
    };
    Some(Detail::PodsLeft { count: count.parse().ok()?, first, refused })
}

fn failed(words: &str) -> Option<Detail> {
    let rest = words.strip_prefix(RELEASE)?;
    let (version, words) = rest.split_once(": ").unwrap_or((rest, ""));
    (!version.contains(' ')).then(|| Detail::Failed(version.into(), words.into()))
}

fn pod_refused(words: &str) -> Option<Detail> {
    let (pod, reported) = refused_pod(words.strip_prefix("pod ")?)?;
    Some(Detail::PodRefused(pod, reported))
}

fn refused_pod(words: &str) -> Option<(Pod, Box<str>)> {
    let (path, reported) = words.split_once(": ")?;
    Some((pod(path)?, reported.into()))
}

fn pod_lost(words: &str) -> Option<Detail> {
    let rest = words.strip_prefix("pod ")?;
    [PodLoss::Pod, PodLoss::LocalStorage]
        .into_iter()
        .find_map(|loss| Some(Detail::PodLost(pod(rest.strip_suffix(of_loss(loss))?)?, loss)))
}

fn pod(path: &str) -> Option<Pod> {
    let (namespace, name) = path.split_once('/')?;
    Some(Pod { namespace: namespace.into(), name: name.into() })
}

fn foreign_attribute(words: &str) -> Option<Detail> {
    if let Some(key) = words.strip_prefix("label ") {
        return Some(Detail::ForeignLabel(key.into()));
    }
    let (key, effect) = words.strip_prefix("taint ")?.rsplit_once(':')?;
    Some(Detail::ForeignTaint(key.into(), TaintEffect::named(effect)?))
}

fn failures(words: &str) -> Option<FleetDetail> {
    let (failed, limit) = words.strip_suffix(" may")?.split_once(" failed, ")?;
    Some(FleetDetail::Failures { failed: failed.parse().ok()?, limit: limit.parse().ok()? })
}

fn waits(words: &str) -> Option<FleetDetail> {
    let wait = |words: &str| {
        let (component, first) = words.strip_suffix(" was rolled out")?.split_once(" waits until ")?;
        Some(Wait { component: component.into(), first: first.into() })
    };
    words.split("; ").map(wait).collect::<Option<_>>().map(FleetDetail::Waits)
}
