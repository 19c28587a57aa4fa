//! Disruption policies: when each keeps everything back, and what it counts in its failure domains.

use std::collections::BTreeMap;

use seaworthy_engine::{DomainUse, World};
use seaworthy_model::id::PolicyId;
use seaworthy_model::policy::{self, Stop};

use super::{History, Millis, Sample, Series, millis};

/// A `DisruptionPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// In what its limits count, for display.
    pub per: String,
    /// Why it lets nothing be disrupted, since when.
    pub stops: Vec<(Millis, Halt)>,
    /// Its failure domains, by their values.
    pub domains: Vec<(String, Series<Use>)>,
}

/// Whether a policy lets machines be disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It does, within its limits.
    Open,
    /// There is no such policy.
    Absent,
    /// It is paused.
    Paused,
    /// Its spec is invalid, and no valid one is known.
    Invalid,
    /// A freeze, until then.
    Frozen(Millis),
    /// No window is open for long enough before then.
    OutsideWindow(Millis),
}

impl Halt {
    /// Its name, for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Absent => "absent",
            Self::Paused => "paused",
            Self::Invalid => "invalid",
            Self::Frozen(_) => "frozen",
            Self::OutsideWindow(_) => "outside window",
        }
    }

    /// When it ends, if that is known.
    #[must_use]
    pub const fn until(self) -> Option<Millis> {
        match self {
            Self::Frozen(until) | Self::OutsideWindow(until) => Some(until),
            Self::Open | Self::Absent | Self::Paused | Self::Invalid => None,
        }
    }

    fn of(policy: &seaworthy_engine::Policy) -> Self {
        match policy.stop {
            _ if policy.object().is_none() => Self::Absent,
            None => Self::Open,
            Some(Stop::Paused) => Self::Paused,
            Some(Stop::Invalid) => Self::Invalid,
            Some(Stop::Frozen(until)) => Self::Frozen(millis(until)),
            Some(Stop::OutsideWindow(until)) => Self::OutsideWindow(millis(until)),
        }
    }
}

/// What a policy counts in one failure domain, each with its limit if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Machines at work or unavailable.
    pub in_flight: (u32, Option<u32>),
    /// Machines on which work began within the last hour.
    pub hour: (u32, Option<u32>),
    /// Machines on which work began within the last day.
    pub day: (u32, Option<u32>),
}

impl Sample for Use {
    fn gravity(&self) -> i64 {
        i64::from(self.in_flight.0)
    }
}

/// Where the policies of the leading process are in the history.
#[derive(Clone, Debug, Default)]
pub(super) struct Policies {
    /// By policy: its number in [`History::policies`].
    known: BTreeMap<PolicyId, usize>,
}

impl Policies {
    /// Another process leads: it has ids of its own.
    pub(super) fn forget_ids(&mut self) {
        self.known.clear();
    }

    /// Records what has changed.
    pub(super) fn note(&mut self, history: &mut History, at: Millis, world: &World) {
        for (id, policy) in world.policies.iter() {
            let number = *self.known.entry(id).or_insert_with(|| find(history, &world.policies.name(id)));
            let lane = &mut history.policies[number];
            if let Some(spec) = &policy.in_force {
                let per = in_words(&spec.per);
                if lane.per != per {
                    per.clone_into(&mut lane.per);
                }
            }
            let halt = Halt::of(policy);
            if lane.stops.last().is_none_or(|(_, last)| *last != halt) {
                lane.stops.push((at, halt));
            }
        }
        for DomainUse { policy, domain, in_flight, hour, day } in world.domain_uses() {
            let Some(&number) = self.known.get(&policy) else { continue };
            let domains = &mut history.policies[number].domains;
            let place = domains.binary_search_by(|(known, _)| known.as_str().cmp(domain));
            let place = place.unwrap_or_else(|place| {
                domains.insert(place, (domain.to_owned(), Series::default()));
                place
            });
            domains[place].1.push(at, Use { in_flight, hour, day });
        }
    }
}

fn find(history: &mut History, name: &str) -> usize {
    let policies = &mut history.policies;
    policies.iter().position(|known| known.name == name).unwrap_or_else(|| {
        let name = name.to_owned();
        policies.push(Policy { name, per: String::new(), stops: Vec::new(), domains: Vec::new() });
        policies.len() - 1
    })
}

/// In what limits count.
fn in_words(domain: &policy::Domain) -> &str {
    match domain {
        policy::Domain::Fleet => "fleet",
        policy::Domain::Idc => "zone",
        policy::Domain::Rack => "rack",
        policy::Domain::Label(key) => key,
    }
}
