//! Judges disruption policies on the true state: whenever an operation begins, no policy that selects the machine may forbid it,
//! no more machines of its failure domain may be at work than `inFlight`, and work may not have begun on more of them within
//! an hour or a day than `perHour` and `perDay`.
//!
//! A change of a policy needs time to arrive. So an operation is judged by every spec that the operator may have known when it
//! gave the order: a breach is what all of them forbid. Work on machines that are out of service anyway is only forbidden by
//! a pause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::object::{Machine, Resource};
use seaworthy_api::parse;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::labels::Labels;
use seaworthy_model::lease::Epoch;
use seaworthy_model::policy::{Domain, PolicySpec, Stop};
use seaworthy_model::quantity::CountOrPercent;

use crate::vocabulary::since_start;
use crate::world::api_server::{ApiServer, Stored, Written};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// So long after it was counted a machine may begin.
const LATE: Duration = Duration::from_secs(600);
/// The operator tries again after so long at the latest: three times its longest back-off.
const PATIENCE: Duration = Duration::from_secs(5_400);

/// The specs of one policy, each with the time from which it was the stored one, oldest first. `None`: there was none, or one
/// that is not acceptable.
type Specs = Vec<(Timestamp, Option<Arc<PolicySpec>>)>;

/// The failure domain of one policy.
type Place = (Arc<str>, Arc<str>);

/// The work on one host.
#[derive(Clone, Copy, Debug)]
struct Begun {
    host: u32,
    /// The operator that began it.
    epoch: Epoch,
    /// When it began.
    first: Timestamp,
    /// When it last began anew.
    last: Timestamp,
}

/// The policies, and when work began in their failure domains.
#[derive(Clone, Debug, Default)]
pub(super) struct Policies {
    specs: BTreeMap<Arc<str>, Specs>,
    /// By failure domain: the hosts on which work began within the last day.
    begun: BTreeMap<Place, Vec<Begun>>,
    /// By process: how many milliseconds its clock is ahead, as of its last turn. A window opens by the clock of the operator.
    ahead: BTreeMap<u32, i64>,
}

/// The start of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    /// The host.
    pub(super) host: u32,
    /// The name of its Machine.
    pub(super) machine: &'a str,
    /// The operator.
    pub(super) epoch: Epoch,
    /// Up to when the operator knew everything that was written.
    pub(super) known: Timestamp,
    /// Nothing could be disrupted there.
    pub(super) is_spared: bool,
}

/// The spec of a stored policy, if it is acceptable.
pub(super) fn spec_of(object: &Stored) -> Option<Arc<PolicySpec>> {
    let resource = object.resource();
    let Resource::DisruptionPolicy(policy) = &resource else { return None };
    let (_, read) = parse::disruption_policy(policy, &mut Names::new()).ok()?;
    read.spec.ok()
}

impl Policies {
    /// Whether there never was one.
    pub(super) fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// A process has decided at a time of its own clock.
    pub(super) fn turned(&mut self, process: u32, clock: Timestamp, now: Timestamp) {
        if !self.specs.is_empty() {
            let milliseconds = |at: Timestamp| i64::try_from(at.millis()).unwrap_or(i64::MAX);
            self.ahead.insert(process, milliseconds(clock) - milliseconds(now));
        }
    }

    /// How far the clocks of two processes are apart, or one from the right time.
    fn spread(&self) -> Duration {
        let ahead = || self.ahead.values().copied().chain([0]);
        let (most, least) = (ahead().max().unwrap_or(0), ahead().min().unwrap_or(0));
        Duration::from_millis((most - least).unsigned_abs())
    }

    /// What the clock of any process may have shown at a time.
    fn shown(&self, at: Timestamp) -> impl Iterator<Item = Timestamp> {
        let ahead: BTreeSet<i64> = self.ahead.values().copied().chain([0]).collect();
        ahead.into_iter().map(move |ahead| Timestamp::from_millis(at.millis().saturating_add_signed(ahead)))
    }

    /// A policy was written, or removed.
    pub(super) fn written(&mut self, written: &Written, now: Timestamp) {
        let object = &written.object;
        let spec = if written.removed { None } else { spec_of(object) };
        let specs = self.specs.entry(Arc::clone(object.name())).or_default();
        if specs.last().is_none_or(|(_, last)| *last != spec) {
            specs.push((now, spec));
        }
    }

    /// An operation begins. Gives what the policies have against it.
    pub(super) fn began(&mut self, start: &Start<'_>, api: &ApiServer, now: Timestamp) -> Vec<String> {
        let Some(machine) = machine(api, start.machine) else { return Vec::new() };
        // Nothing can be disrupted on a machine that was never set up.
        let start = &Start { is_spared: start.is_spared || !was_set_up(&machine), ..*start };
        let labels = labels(&machine);
        let is_rollback = || is_any_reverted(api);
        let mut objections = Vec::new();
        let spread = self.spread();
        let times: Vec<Timestamp> = self.shown(start.known).chain(self.shown(now)).collect();
        for (name, specs) in &self.specs {
            let known = known(specs, start.known);
            if known.iter().all(|spec| forbids(spec, &labels, (start, &times), &is_rollback)) {
                objections.push(format!("the policy {name} forbids it"));
            }
            let Some(domain) = known.iter().flatten().find_map(|spec| domain_of(spec, &machine, &labels))
            else {
                continue;
            };
            // Who is out of service anyway takes no place.
            if start.is_spared {
                continue;
            }
            let begun = self.begun.entry((Arc::clone(name), Arc::clone(&domain))).or_default();
            begun.retain(|work| work.last + DAY > now);
            // What failed is tried again under the same grant: that is no new beginning.
            match begun.iter_mut().find(|work| work.host == start.host) {
                Some(work) if work.last + PATIENCE > now => work.last = now,
                Some(work) => (work.first, work.last, work.epoch) = (now, now, start.epoch),
                None => {
                    let (host, epoch) = (start.host, start.epoch);
                    begun.push(Begun { host, epoch, first: now, last: now });
                }
            }
            for (span, limit) in [(HOUR, per_hour as Limit), (DAY, per_day as Limit)] {
                // An hour of an operator whose clock is ahead of its predecessor's ends sooner. And a host that answers late
                // begins after the grant that was counted.
                let span = span.saturating_sub(spread + LATE);
                let of_span = specs_since(specs, now - span);
                // What a predecessor began is in no record, but for the grants, and a machine may begin long after its grant.
                let own = begun.iter().filter(|work| work.epoch == start.epoch);
                let count = own.filter(|work| work.first + span > now).count();
                let most = most(of_span, limit, (api, &domain));
                if most.is_some_and(|most| count > most as usize) {
                    objections.push(format!(
                        "the policy {name} allows {most:?} in {span:?}, and work began on {count} of {domain} by {}",
                        since_start(now)
                    ));
                }
            }
        }
        objections
    }

    /// Whether too many machines of a failure domain of this one are at work, this one included.
    pub(super) fn crowd(
        &self,
        start: &Start<'_>,
        api: &ApiServer,
        may_disrupt: impl Fn(u32) -> bool,
    ) -> Option<String> {
        let machine = machine(api, start.machine)?;
        let labels = labels(&machine);
        self.specs.iter().find_map(|(name, specs)| {
            let known = known(specs, start.known);
            let domain = known.iter().flatten().find_map(|spec| domain_of(spec, &machine, &labels))?;
            let begun = self.begun.get(&(Arc::clone(name), Arc::clone(&domain)))?;
            let others =
                begun.iter().map(|work| work.host).filter(|host| *host != start.host && may_disrupt(*host));
            let others: Vec<u32> = others.collect();
            // Who is out of service anyway takes no place, also if it was counted for earlier work.
            let is_counted = !start.is_spared && begun.iter().any(|work| work.host == start.host);
            let count = others.len() + usize::from(is_counted);
            let most = most(known.iter(), |spec| spec.in_flight, (api, &domain))?;
            (is_counted && count > most as usize).then(|| {
                format!(
                    "the policy {name} allows {most} at once, and in {domain} hosts {others:?} are at work"
                )
            })
        })
    }
}

type Limit = fn(&PolicySpec) -> Option<CountOrPercent>;

fn per_hour(spec: &PolicySpec) -> Option<CountOrPercent> {
    spec.per_hour
}

fn per_day(spec: &PolicySpec) -> Option<CountOrPercent> {
    spec.per_day
}

/// The specs that an operator may have gone by that knew everything up to a time.
fn known(specs: &Specs, at: Timestamp) -> Vec<Option<Arc<PolicySpec>>> {
    specs_since(specs, at).cloned().collect()
}

/// The spec that was stored at a time, and all later ones. Before the first there was none.
fn specs_since(specs: &Specs, at: Timestamp) -> impl Iterator<Item = &Option<Arc<PolicySpec>>> {
    const NONE: &Option<Arc<PolicySpec>> = &None;
    let later = specs.partition_point(|(since, _)| *since <= at);
    let at_first = (later == 0).then_some(NONE);
    at_first.into_iter().chain(specs[later.saturating_sub(1)..].iter().map(|(_, spec)| spec))
}

/// The largest limit of these specs in a failure domain; `None` if one of them has none.
fn most<'a>(
    specs: impl Iterator<Item = &'a Option<Arc<PolicySpec>>>,
    limit: impl Fn(&PolicySpec) -> Option<CountOrPercent>,
    (api, domain): (&ApiServer, &Arc<str>),
) -> Option<u32> {
    let limits = specs.map(|spec| {
        let spec = spec.as_ref()?;
        Some(limit(spec)?.of(machines_in(spec, domain, api)))
    });
    limits.collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// How many machines of a failure domain there are.
fn machines_in(spec: &PolicySpec, domain: &Arc<str>, api: &ApiServer) -> u32 {
    let objects = api.collection(Kind::Machine).objects();
    let those = objects.into_iter().filter(|object| {
        let resource = object.resource();
        let Resource::Machine(machine) = &resource else { return false };
        domain_of(spec, machine, &labels(machine)).as_ref() == Some(domain)
    });
    u32::try_from(those.count()).unwrap_or(u32::MAX)
}

fn forbids(
    spec: &Option<Arc<PolicySpec>>,
    labels: &Labels,
    (start, times): (&Start<'_>, &[Timestamp]),
    is_rollback: &impl Fn() -> bool,
) -> bool {
    let Some(spec) = spec.as_ref().filter(|spec| spec.selector.matches(labels)) else { return false };
    times.iter().all(|at| match spec.stop(*at, Duration::ZERO).0 {
        Some(Stop::Paused) => true,
        Some(Stop::Frozen(_)) => !start.is_spared,
        Some(Stop::OutsideWindow(_)) => !start.is_spared && !is_rollback(),
        Some(Stop::Invalid) | None => false,
    })
}

fn machine(api: &ApiServer, name: &str) -> Option<Box<Machine>> {
    let resource = api.get(Kind::Machine, name)?.resource();
    let Resource::Machine(machine) = &resource else { return None };
    Some(machine.clone())
}

fn labels(machine: &Machine) -> Labels {
    let labels = machine.metadata.labels.iter();
    labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

fn domain_of(spec: &PolicySpec, machine: &Machine, labels: &Labels) -> Option<Arc<str>> {
    if !spec.selector.matches(labels) {
        return None;
    }
    let address = &machine.spec.address;
    let of_address = |value: &Option<Arc<str>>| value.clone().filter(|value| !value.is_empty());
    match &spec.per {
        Domain::Fleet => Some("the fleet".into()),
        Domain::Idc => of_address(&address.idc),
        Domain::Rack => of_address(&address.rack),
        Domain::Label(key) => labels.get(key).cloned(),
    }
}

/// Whether anything was recorded as installed: before that nothing can be disrupted.
fn was_set_up(machine: &Machine) -> bool {
    machine
        .status
        .as_ref()
        .is_some_and(|status| !status.installed.is_empty() && status.observed_generation > 0)
}

/// Whether any rollout gives back what machines had before, whoever owns it.
fn is_any_reverted(api: &ApiServer) -> bool {
    let kinds = [Kind::ClusterPackageVersion, Kind::MachineComponentSet, Kind::CanaryRelease];
    kinds.into_iter().flat_map(|kind| api.collection(kind).objects()).any(|owner| has_reverted(owner))
}

/// Whether a rollout in the record of an object gives back what machines had before, by itself or because people want it.
fn has_reverted(owner: &Stored) -> bool {
    let Some((_, Some(status))) = owner.charter() else { return false };
    status.rollouts.iter().any(|rollout| {
        let is_reverted = rollout.course.as_ref().is_some_and(|course| course.reverted_at.is_some());
        is_reverted || rollout.from.as_ref() == Some(&rollout.to)
    })
}
