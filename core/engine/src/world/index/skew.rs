//! Version rules: which versions may run together, and in which order a machine changes from the installed versions to
//! the wanted ones.
//!
//! Every rule is about two parties, and every component changes once. So whether an order exists is a question about
//! pairs: where the new version of one component and the old version of another must not meet, the other changes first.
//! An order exists if these precedences form no cycle, and if all new versions may run together. That takes the square
//! of the number of changes, not a search through all states. A failed change restores the state before it, which is
//! one of the states of the order.

use alloc::vec::Vec;

use seaworthy_model::detail::{Found, Skew};
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::Blocker;
use seaworthy_model::requirement::{ApiServers, Party, Requirement, VersionNumber};

use crate::world::World;

/// A rule that would be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The version that has the rule.
    version: VersionId,
    /// Which of its rules.
    rule: u8,
    /// What that rule admits.
    requires: Requirement,
    with: With,
}

/// What a rule does not admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    /// A version of another component.
    Version(ComponentId, VersionId),
    /// A version of an API server.
    ApiServer(VersionNumber),
    /// An API server of a version that nobody knows.
    Unknown,
}

/// A change of the version of one component.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The component.
    pub(crate) component: ComponentId,
    /// The versions that may be installed before it.
    pub(crate) before: Vec<VersionId>,
    /// The version that is installed after it; `None` when the component is removed.
    pub(crate) after: Option<VersionId>,
}

/// A change that has to come before another.
#[derive(Clone, Copy, Debug)]
struct Precedence {
    first: usize,
    then: usize,
    /// The rule that would be broken otherwise; `None` when one only depends on the other.
    conflict: Option<Conflict>,
}

/// The order in which changes can be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    precedences: Vec<Precedence>,
}

impl Plan {
    /// The order for these changes, while `fixed` stay as they are.
    ///
    /// # Errors
    /// A rule that excludes every order.
    pub(crate) fn new(world: &World, steps: Vec<Step>, fixed: &[VersionId]) -> Result<Self, Conflict> {
        for (index, step) in steps.iter().enumerate() {
            let Some(after) = step.after else { continue };
            if let Some(conflict) = world.api_server_conflict(after) {
                return Err(conflict);
            }
            let later = steps[index + 1..].iter().filter_map(|other| other.after);
            let mut others = fixed.iter().copied().chain(later);
            if let Some(conflict) = others.find_map(|other| world.conflict(after, other)) {
                return Err(conflict);
            }
        }
        let mut plan = Self { steps, precedences: Vec::new() };
        plan.precedences = plan.precede(world);
        match plan.circle() {
            Some(conflict) => Err(conflict),
            None => Ok(plan),
        }
    }

    /// The component that has to change before this one, and why.
    pub(crate) fn before(&self, component: ComponentId) -> Option<(ComponentId, Conflict)> {
        self.precedences.iter().find_map(|precedence| {
            let is_then = self.steps[precedence.then].component == component;
            Some((self.steps[precedence.first].component, precedence.conflict.filter(|_| is_then)?))
        })
    }

    fn precede(&self, world: &World) -> Vec<Precedence> {
        let mut precedences = Vec::new();
        for (then, step) in self.steps.iter().enumerate() {
            for (first, other) in self.steps.iter().enumerate().filter(|(first, _)| *first != then) {
                let meets = |after| other.before.iter().find_map(|before| world.conflict(after, *before));
                let conflict = step.after.and_then(meets);
                if conflict.is_some() {
                    precedences.push(Precedence { first, then, conflict });
                } else if step.waits_for(other, world) {
                    precedences.push(Precedence { first, then, conflict: None });
                }
            }
        }
        precedences
    }

    /// A rule in a cycle of precedences, if there is one. A cycle of dependencies alone is reported elsewhere.
    fn circle(&self) -> Option<Conflict> {
        let ruled = self.precedences.iter().filter_map(|precedence| Some((precedence, precedence.conflict?)));
        ruled.into_iter().find_map(|(precedence, conflict)| {
            self.leads(precedence.then, precedence.first).then_some(conflict)
        })
    }

    /// Whether one change has to come before another, directly or not.
    fn leads(&self, from: usize, to: usize) -> bool {
        let mut seen = Vec::from([from]);
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            for after in self.precedences.iter().filter(|it| it.first == at).map(|it| it.then) {
                if !seen.contains(&after) {
                    seen.push(after);
                }
            }
        }
        seen.contains(&to)
    }
}

impl Step {
    /// Whether this change waits for another because one of the two depends on the other.
    fn waits_for(&self, other: &Self, world: &World) -> bool {
        match (self.after, other.after) {
            (Some(after), Some(_)) => world.needs(after, other.component),
            (Some(_), None) => false,
            // A removal waits for the components whose old version needs it and whose new version does not.
            (None, then) => {
                other.before.iter().any(|before| world.needs(*before, self.component))
                    && !then.is_some_and(|then| world.needs(then, self.component))
            }
        }
    }
}

impl World {
    /// The rule of one of two versions that the other breaks.
    pub(crate) fn conflict(&self, new: VersionId, other: VersionId) -> Option<Conflict> {
        self.broken_by(new, other).or_else(|| self.broken_by(other, new))
    }

    /// The rule of a version that another version breaks.
    fn broken_by(&self, version: VersionId, other: VersionId) -> Option<Conflict> {
        let rules = &self.version_spec(version)?.requires;
        if rules.is_empty() {
            return None;
        }
        let component = self.component_of(other)?;
        let rule = rules.iter().position(|rule| rule.party == Party::Component(component))?;
        let (requires, with) = (rules[rule], With::Version(component, other));
        let is_broken = !requires.admits(self.number_of(other));
        is_broken.then(|| Conflict { version, rule: index(rule), requires, with })
    }

    /// The rule of a version that the API servers break, as far as their versions are known.
    pub(crate) fn api_server_conflict(&self, version: VersionId) -> Option<Conflict> {
        let rules = &self.version_spec(version)?.requires;
        let rule = rules.iter().position(|rule| rule.party == Party::ApiServer)?;
        let requires = rules[rule];
        let conflict = |with| Some(Conflict { version, rule: index(rule), requires, with });
        let Some(ApiServers { oldest, newest }) = self.api_servers.get() else {
            return conflict(With::Unknown);
        };
        [newest, oldest]
            .into_iter()
            .find(|found| !requires.admits(Some(*found)))
            .and_then(|found| conflict(With::ApiServer(found)))
    }

    fn component_of(&self, version: VersionId) -> Option<ComponentId> {
        self.version_spec(version).map(|spec| spec.component)
    }

    fn number_of(&self, version: VersionId) -> Option<VersionNumber> {
        VersionNumber::of(&self.version_spec(version)?.version)
    }

    /// A conflict as the detail of a condition.
    pub(crate) fn detail_of(&self, conflict: Conflict) -> Skew {
        let Requirement { at_least, below, .. } = conflict.requires;
        let found = match conflict.with {
            With::Version(component, other) => Found::Version {
                component: self.name_of_component(component),
                version: self.name_of_version(other),
            },
            With::ApiServer(found) => Found::ApiServer(found),
            With::Unknown => Found::UnknownApiServer,
        };
        Skew { version: self.name_of_version(conflict.version), at_least, below, found }
    }
}

impl Conflict {
    /// The blocker of a machine that waits because of it.
    pub(crate) const fn blocker(self) -> Blocker {
        let Self { version, rule, with, .. } = self;
        match with {
            With::Version(_, other) => Blocker::VersionSkew { version, rule, other },
            With::ApiServer(found) => Blocker::ApiServerSkew { version, rule, found },
            With::Unknown => Blocker::ApiServerUnknown { version },
        }
    }

    /// The reason of a machine's condition.
    pub(crate) const fn reason(self) -> Reason {
        if self.is_unknown() { Reason::ApiServerUnknown } else { Reason::VersionSkew }
    }

    /// Whether it is not known if the rule is broken.
    pub(crate) const fn is_unknown(self) -> bool {
        matches!(self.with, With::Unknown)
    }
}

/// The index of a rule: a version has at most 16.
fn index(rule: usize) -> u8 {
    u8::try_from(rule).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan in which change number `n + 1` has to wait for number `n`, and the first for the last if it is a circle.
    fn plan(changes: usize, is_circle: bool) -> Plan {
        let rule = Requirement { party: Party::ApiServer, at_least: None, below: None };
        let conflict = Some(Conflict { version: VersionId(1), rule: 0, requires: rule, with: With::Unknown });
        let waits = |then: usize| Precedence { first: then - 1, then, conflict };
        let mut precedences: Vec<Precedence> = (1..changes).map(waits).collect();
        if is_circle {
            precedences.push(Precedence { first: changes - 1, then: 0, conflict });
        }
        Plan { steps: Vec::new(), precedences }
    }

    #[test]
    fn circles_of_any_length_are_found() {
        for changes in 2..6 {
            assert!(plan(changes, true).circle().is_some(), "{changes}");
            assert!(plan(changes, false).circle().is_none(), "{changes}");
        }
    }

    /// The circle may be reached only by a way that is longer than one change.
    #[test]
    fn only_what_leads_back_is_a_circle() {
        let mut plan = plan(4, false);
        let conflict = plan.precedences[0].conflict;
        plan.precedences.push(Precedence { first: 0, then: 3, conflict });
        assert!(plan.circle().is_none(), "two ways to the same change");
        plan.precedences.push(Precedence { first: 3, then: 1, conflict });
        assert!(plan.circle().is_some());
    }
}
