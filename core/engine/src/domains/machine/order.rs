//! The order of changes on one machine: what a component depends on is installed before it, and removed after it.
//!
//! A fleet without dependencies and version rules never runs this code.

use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::detail::{Dependency, DependencyState, Detail};
use seaworthy_model::host::{Change, InstalledComponent};
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::Blocker;

use super::need::Need;
use super::step::Step;
use crate::world::index::resolution::targets;
use crate::world::index::skew::{self, Conflict, Plan};

/// Why a change has to wait for another component of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hindrance {
    /// The component that is to change.
    component: ComponentId,
    /// The component that it waits for.
    other: ComponentId,
    state: State,
}

/// What the change waits for in the other component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// One of the two depends on the other.
    Dependency(DependencyState),
    /// Its installed version must not run with the new one: it has to change first.
    Skewed(Conflict),
    /// No order leads to the wanted versions: a rule of one of them excludes it.
    Unreachable(Conflict),
}

impl<'w> Step<'w> {
    /// Why another component of the machine has to change first, if one has to.
    pub(super) fn hindrance(self, component: ComponentId, change: &Change) -> Option<Hindrance> {
        if let Some(found) = self.skew(component, change) {
            return Some(found);
        }
        let found = match change {
            Change::Install(release) => self.unready(release.version, &mut Vec::from([component])),
            Change::Remove => self
                .dependent_on(component)
                .map(|dependent| (dependent, State::Dependency(DependencyState::Depending))),
        };
        found.map(|(other, state)| Hindrance { component, other, state })
    }

    /// Why rules about versions do not allow a change now. Only a change of the version is checked: an installed
    /// version may always be repaired.
    fn skew(self, component: ComponentId, change: &Change) -> Option<Hindrance> {
        if !self.world.is_ruled() || self.step_of(component, change).is_none() {
            return None;
        }
        let (other, state) = match self.plan() {
            Ok(plan) => plan.before(component).map(|(other, conflict)| (other, State::Skewed(conflict)))?,
            Err(conflict) => (component, State::Unreachable(conflict)),
        };
        Some(Hindrance { component, other, state })
    }

    /// The order in which the machine can change from its installed versions to the wanted ones.
    fn plan(self) -> Result<Plan, Conflict> {
        let wanted =
            targets(self.world, self.machine).filter_map(|target| match self.need_before_turn(&target) {
                Need::Change { change, .. } => self.step_of(target.component, &change),
                Need::Nothing | Need::Obstacle(_) | Need::Failed(_) => None,
            });
        let steps: Vec<skew::Step> = wanted.collect();
        let stays =
            |installed: &&InstalledComponent| steps.iter().all(|step| step.component != installed.component);
        let fixed: Vec<VersionId> =
            self.installed().iter().filter(stays).map(|installed| installed.version).collect();
        Plan::new(self.world, steps, &fixed)
    }

    /// A change of a component as a change of its version, if it is one.
    fn step_of(self, component: ComponentId, change: &Change) -> Option<skew::Step> {
        let before = self.machine.installed(component).map(|installed| installed.version);
        let after = match change {
            Change::Install(release) => Some(release.version),
            Change::Remove => None,
        };
        (before != after).then(|| skew::Step { component, before: Vec::from_iter(before), after })
    }

    /// The component to remove next when all are removed: the last one that no other needs, since later components may
    /// need earlier ones without declaring it. In a cycle of needs, the last component.
    pub(super) fn next_to_go(self) -> Option<ComponentId> {
        let installed = self.installed();
        let mut from_the_end = installed.iter().rev().map(|installed| installed.component);
        let unneeded = if self.world.is_ordered() {
            from_the_end.find(|component| self.dependent_on(*component).is_none())
        } else {
            None
        };
        unneeded.or_else(|| installed.last().map(|last| last.component))
    }

    /// The first component that a version depends on and that is not installed as wanted, and its state. Indirect
    /// dependencies count as well; `seen` are the components that were checked.
    fn unready(self, version: VersionId, seen: &mut Vec<ComponentId>) -> Option<(ComponentId, State)> {
        let spec = self.world.version_spec(version)?;
        for &component in &spec.depends_on {
            if seen.contains(&component) {
                continue;
            }
            seen.push(component);
            if let Some(state) = self.trouble_of(component) {
                return Some((component, State::Dependency(state)));
            }
            let installed = self.machine.installed(component);
            if let Some(deeper) = installed.and_then(|installed| self.unready(installed.version, seen)) {
                return Some(deeper);
            }
        }
        None
    }

    /// What a component of the machine needs now. What is installed and waits for its turn needs nothing yet.
    fn need_of(self, component: ComponentId) -> Need {
        let target = targets(self.world, self.machine).find(|target| target.component == component);
        target.map_or(Need::Nothing, |target| self.need_before_turn(&target))
    }

    /// What is wrong with a component; `None` when it is installed as wanted.
    fn trouble_of(self, component: ComponentId) -> Option<DependencyState> {
        match self.need_of(component) {
            // It waits for its turn, and nobody knows the recipe of what is damaged there.
            Need::Nothing if self.machine.reported(component).is_some_and(|found| !found.drift.is_none()) => {
                Some(DependencyState::Pending)
            }
            Need::Nothing if self.machine.installed(component).is_some() => None,
            Need::Nothing => Some(DependencyState::Unwanted),
            Need::Change { change: Change::Remove, .. } => Some(DependencyState::Leaving),
            Need::Change { .. } => Some(DependencyState::Pending),
            Need::Obstacle(_) => Some(DependencyState::Obstructed),
            Need::Failed(_) => Some(DependencyState::Failed),
        }
    }

    /// A component that is installed and depends on this one.
    fn dependent_on(self, component: ComponentId) -> Option<ComponentId> {
        let depends = |installed: &&InstalledComponent| {
            installed.component != component && self.world.needs(installed.version, component)
        };
        self.installed().iter().find(depends).map(|installed| installed.component)
    }

    fn installed(self) -> &'w [InstalledComponent] {
        self.machine.host.facts.as_ref().map_or(&[], |facts| &facts.components)
    }

    /// The report of a hindrance: the root cause at the end of the chain of waits, or the cycle.
    pub(super) fn explain(self, hindrance: Hindrance) -> (Blocker, Reason, Option<Arc<Detail>>) {
        let name = |component| self.world.name_of_component(component);
        let (blocker, reason, detail) = match self.cause_of(hindrance) {
            Ok(Hindrance { component, other, state: State::Dependency(state) }) => {
                let dependency = Dependency { component: name(component), other: name(other), state };
                let blocker = Blocker::Dependency { component: other };
                (blocker, Reason::Dependency, Detail::Dependency(dependency))
            }
            Ok(Hindrance { state: State::Skewed(conflict) | State::Unreachable(conflict), .. }) => {
                let detail = Detail::Skew(self.world.detail_of(conflict));
                (conflict.blocker(), conflict.reason(), detail)
            }
            Err(circle) => {
                let blocker = Blocker::DependencyCycle { component: circle[0] };
                let circle = circle.into_iter().map(name).collect();
                (blocker, Reason::DependencyCycle, Detail::Cycle(circle))
            }
        };
        (blocker, reason, Some(Arc::new(detail)))
    }

    /// The hindrance at the end of the chain of waits. An error is a cycle.
    fn cause_of(self, mut hindrance: Hindrance) -> Result<Hindrance, Vec<ComponentId>> {
        let mut way = Vec::new();
        loop {
            if matches!(hindrance.state, State::Unreachable(_)) {
                return Ok(hindrance);
            }
            way.push(hindrance.component);
            if let Some(start) = way.iter().position(|component| *component == hindrance.other) {
                way.push(hindrance.other);
                return Err(way.split_off(start));
            }
            let Need::Change { change, .. } = self.need_of(hindrance.other) else { return Ok(hindrance) };
            match self.hindrance(hindrance.other, &change) {
                Some(next) => hindrance = next,
                None => return Ok(hindrance),
            }
        }
    }
}
