//! The limits of the disruption policies: how many machines of each failure domain are at work, and on how many work began
//! lately.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::id::{MachineId, PolicyId};
use seaworthy_model::package_version::Begun;
use seaworthy_model::policy::{Domain, PolicySpec};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::policy::{Place, Places, Policies};
use crate::rows::standing::Derived;
use crate::world::index::recent::{Daily, Hourly, Recent};

/// The value of the only domain of a policy that counts all its machines together.
const FLEET: &str = "fleet";

/// The limits, by policy. Empty when no policy exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    all: Vec<Limit>,
    /// When each machine was last counted, as long as it works or is granted its turn, while a policy limits how many begin.
    counted: BTreeMap<MachineId, Timestamp>,
}

/// The limits of one policy.
#[derive(Clone, Debug, Default)]
struct Limit {
    /// The policy; `None` when it does not exist, or nobody knows what it says.
    spec: Option<Arc<PolicySpec>>,
    /// It exists, and nobody knows what it says: every machine may be meant.
    is_unknown: bool,
    fleet: Arc<str>,
    /// What its hours and its days are called in a record.
    hour: Arc<str>,
    day: Arc<str>,
    usages: BTreeMap<Arc<str>, Usage>,
}

/// The machines of one failure domain.
#[derive(Clone, Debug, Default)]
struct Usage {
    live: u32,
    at_work: u32,
    /// Machines that people have taken out of service, or that are unavailable for reasons of their own.
    foreign: u32,
    hourly: Hourly,
    daily: Daily,
}

impl Usage {
    /// How many machines count against the number that a policy allows at once. What befalls the whole fleet is for
    /// `pauseWhenUnavailable`.
    fn taken(&self, spec: &PolicySpec) -> u32 {
        self.at_work + if spec.per == Domain::Fleet { 0 } else { self.foreign }
    }
}

/// What the limits of a policy count in one of its failure domains, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainUse<'w> {
    /// The policy.
    pub policy: PolicyId,
    /// The value of the failure domain.
    pub domain: &'w str,
    /// Machines that are at work, or unavailable, and how many may be at once.
    pub in_flight: (u32, Option<u32>),
    /// Machines on which work began within the last hour, and on how many it may.
    pub hour: (u32, Option<u32>),
    /// The same of the last day.
    pub day: (u32, Option<u32>),
}

/// How many of these machines are in a domain of a policy.
fn count_in(machines: &[Places], policy: usize, domain: &Arc<str>) -> u32 {
    let those = machines.iter().filter(|places| places.get(policy).and_then(Place::domain) == Some(domain));
    u32::try_from(those.count()).unwrap_or(u32::MAX)
}

impl Limits {
    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes over the policies. No machine may be counted. What began lately stays known while its failure domains are
    /// the same.
    pub(crate) fn configure(&mut self, policies: &Policies) {
        if policies.iter().all(|(_, policy)| policy.tracked.object.is_none()) {
            self.counted.clear();
            return self.all.clear();
        }
        let mut former = core::mem::take(&mut self.all).into_iter();
        let limits = policies.iter().map(|(id, policy)| {
            let former = former.next().unwrap_or_default();
            let spec = policy.in_force.clone().filter(|_| policy.tracked.object.is_some());
            let per = |spec: &Option<Arc<PolicySpec>>| spec.as_ref().map(|spec| spec.per.clone());
            let is_same = per(&spec) == per(&former.spec);
            let name = policies.name(id);
            let usages = if is_same { former.usages } else { BTreeMap::new() };
            Limit {
                spec,
                is_unknown: policy.is_unknown(),
                fleet: FLEET.into(),
                hour: [&*name, "/hour"].concat().into(),
                day: [&*name, "/day"].concat().into(),
                usages,
            }
        });
        self.all = limits.collect();
    }

    /// What the limits count in each failure domain with machines.
    pub(crate) fn uses(&self, now: Timestamp) -> impl Iterator<Item = DomainUse<'_>> {
        let limits = (0..).map(PolicyId).zip(&self.all);
        let limits = limits.filter_map(|(id, limit)| Some((id, limit.spec.as_deref()?, &limit.usages)));
        limits.flat_map(move |(policy, spec, usages)| {
            let usages = usages.iter().filter(|(_, usage)| usage.live > 0);
            usages.map(move |(domain, usage)| {
                let most = |most: Option<CountOrPercent>| most.map(|most| most.of(usage.live));
                DomainUse {
                    policy,
                    domain,
                    in_flight: (usage.taken(spec), most(spec.in_flight)),
                    hour: (usage.hourly.count(now), most(spec.per_hour)),
                    day: (usage.daily.count(now), most(spec.per_day)),
                }
            })
        })
    }

    /// What each policy is to a machine.
    pub(crate) fn places_of(&self, machine: &Machine) -> Option<Places> {
        if self.all.is_empty() {
            return None;
        }
        let address = machine.spec().map(|spec| &spec.connection.address);
        let labels = machine.object.as_ref().map(|object| &object.labels);
        let places = self.all.iter().map(|limit| {
            let (Some(spec), Some(labels)) = (&limit.spec, labels) else {
                return if limit.is_unknown { Place::Selected } else { Place::Outside };
            };
            if !spec.selector.matches(labels) {
                return Place::Outside;
            }
            let value = match &spec.per {
                Domain::Fleet => Some(&limit.fleet),
                Domain::Idc => address.map(|address| &address.idc).filter(|idc| !idc.is_empty()),
                Domain::Rack => address.map(|address| &address.rack).filter(|rack| !rack.is_empty()),
                Domain::Label(key) => labels.get(key),
            };
            value.map_or(Place::Selected, |value| Place::In(Arc::clone(value)))
        });
        Some(places.collect())
    }

    /// Counts or uncounts a row.
    pub(crate) fn apply(&mut self, row: &Derived, add: impl Fn(&mut u32, bool)) {
        let places = row.places.iter().flat_map(|places| places.iter());
        for (limit, place) in self.all.iter_mut().zip(places) {
            let Some(domain) = place.domain() else { continue };
            let usage = limit.usages.entry(Arc::clone(domain)).or_default();
            add(&mut usage.live, row.live);
            add(&mut usage.at_work, row.disrupts);
            add(&mut usage.foreign, row.foreign);
        }
    }

    /// A machine is granted its turn, or begins without one.
    pub(crate) fn begin(&mut self, id: MachineId, row: &Derived, now: Timestamp) {
        let is_limited = |limit: &Limit| {
            limit.spec.as_ref().is_some_and(|spec| spec.per_hour.is_some() || spec.per_day.is_some())
        };
        if !self.all.iter().any(is_limited) {
            return;
        }
        self.counted.insert(id, now);
        let places = row.places.iter().flat_map(|places| places.iter());
        for (limit, place) in self.all.iter_mut().zip(places) {
            let (Some(spec), Some(domain)) = (&limit.spec, place.domain()) else { continue };
            if spec.per_hour.is_none() && spec.per_day.is_none() {
                continue;
            }
            let usage = limit.usages.entry(Arc::clone(domain)).or_default();
            if spec.per_hour.is_some() {
                usage.hourly.add(1, now);
            }
            if spec.per_day.is_some() {
                usage.daily.add(1, now);
            }
        }
    }

    /// A machine begins that may have been granted its turn long ago: what was counted then may not count any more.
    pub(crate) fn begin_late(&mut self, id: MachineId, row: &Derived, now: Timestamp) {
        if self.counted.get(&id).is_none_or(|at| !Hourly::is_same_bucket(*at, now)) {
            self.begin(id, row, now);
        }
    }

    /// Nothing goes on at a machine any more.
    pub(crate) fn end(&mut self, id: MachineId) {
        self.counted.remove(&id);
    }

    /// Takes over what a record says of the last hour and the last day.
    pub(crate) fn recall(&mut self, record: &[Begun], now: Timestamp) {
        for limit in &mut self.all {
            for begun in record {
                let (is_hour, is_day) = (begun.domain == limit.hour, begun.domain == limit.day);
                if !is_hour && !is_day {
                    continue;
                }
                let usage = limit.usages.entry(Arc::clone(&begun.value)).or_default();
                if is_hour {
                    usage.hourly.recall(begun.since, begun.machines, now);
                } else {
                    usage.daily.recall(begun.since, begun.machines, now);
                }
            }
        }
    }

    /// What a record has to say of the last hour and the last day, if work begins now on these machines as well.
    pub(crate) fn begun(&self, granted: &[Places], now: Timestamp) -> Vec<Begun> {
        let mut all = Vec::new();
        for (index, limit) in self.all.iter().enumerate() {
            let Some(spec) = &limit.spec else { continue };
            for (value, usage) in &limit.usages {
                let more = count_in(granted, index, value);
                if spec.per_hour.is_some() {
                    tell(&mut all, (&limit.hour, value), usage.hourly.clone(), (more, now));
                }
                if spec.per_day.is_some() {
                    tell(&mut all, (&limit.day, value), usage.daily.clone(), (more, now));
                }
            }
        }
        all.sort_unstable();
        if all.len() > Begun::MAX {
            // One number for each domain, as of the latest: it counts for longer than it has to.
            all.dedup_by(|later, first| {
                let is_same = (&later.domain, &later.value) == (&first.domain, &first.value);
                if is_same {
                    first.since = later.since;
                    first.machines += later.machines;
                }
                is_same
            });
        }
        all.truncate(Begun::MAX);
        all
    }

    /// Why no work may begin on one more machine, besides what `planned` takes, as far as its failure domains are
    /// concerned.
    pub(crate) fn lack(
        &self,
        (id, row): (MachineId, &Derived),
        planned: &[Places],
        now: Timestamp,
    ) -> Option<Blocker> {
        let places = row.places.as_ref()?;
        let counted = self.counted.get(&id).copied().filter(|_| row.begins);
        let mut lack: Option<(Timestamp, Blocker)> = None;
        for (index, (limit, place)) in self.all.iter().zip(places.iter()).enumerate() {
            let (Some(spec), Some(domain)) = (&limit.spec, place.domain()) else { continue };
            let Some(usage) = limit.usages.get(domain) else { continue };
            let policy = PolicyId(u32::try_from(index).unwrap_or(u32::MAX));
            let planned = count_in(planned, index, domain);
            let is_foreign = row.foreign && spec.per != Domain::Fleet;
            let taken = usage.taken(spec) - u32::from(row.disrupts) - u32::from(is_foreign);
            let most = spec.in_flight.map_or(u32::MAX, |most| most.of(usage.live));
            if planned.saturating_add(taken) >= most {
                return Some(Blocker::InFlightLimit { policy });
            }
            let hourly = spec.per_hour.map(|most| (most, usage.hourly.full(now, counted)));
            let daily = spec.per_day.map(|most| (most, usage.daily.full(now, counted)));
            for (most, (others, falls_at)) in hourly.into_iter().chain(daily) {
                if planned.saturating_add(others) >= most.of(usage.live) {
                    let until = falls_at.unwrap_or(now);
                    let full = (until, Blocker::RateLimit { policy, until });
                    lack = Some(lack.map_or(full, |other| other.max(full)));
                }
            }
        }
        lack.map(|(_, blocker)| blocker)
    }
}

fn tell<const SPAN: u64, const BUCKET: u64>(
    all: &mut Vec<Begun>,
    (domain, value): (&Arc<str>, &Arc<str>),
    mut recent: Recent<SPAN, BUCKET>,
    (more, now): (u32, Timestamp),
) {
    if more > 0 {
        recent.add(more, now);
    }
    all.extend(recent.recent(now).map(|(since, machines)| Begun {
        domain: Arc::clone(domain),
        value: Arc::clone(value),
        since,
        machines,
    }));
}
