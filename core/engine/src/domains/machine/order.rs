//! The order of changes on one machine: what a component depends on comes before it, and goes after it.
//!
//! A fleet in which no version depends on anything never comes here.

use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::detail::{Dependency, DependencyState, Detail};
use seaworthy_model::host::{Change, InstalledComponent};
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::Blocker;

use super::change::Need;
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

/// What is the matter with the other component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// One of the two depends on the other.
    Dependency(DependencyState),
    /// Its version must not meet the one that is to come: it has to change first.
    Skewed(Conflict),
    /// The versions that are wanted cannot be reached, because of one rule or another of any of them.
    Unreachable(Conflict),
}

impl<'w> Step<'w> {
    /// Why a change may not be made before something else on the machine changed.
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

    /// Why rules about versions do not let a change be made now. Only what changes a version is held against them: whatever
    /// is there may be repaired.
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

    /// The order in which the versions that are wanted here can be reached from those that are there.
    fn plan(self) -> Result<Plan, Conflict> {
        let wanted = targets(self.world, self.machine).filter_map(|target| match self.need(&target) {
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

    /// A change of a component as one of its version, if it is one.
    fn step_of(self, component: ComponentId, change: &Change) -> Option<skew::Step> {
        let before = self.machine.installed(component).map(|installed| installed.version);
        let after = match change {
            Change::Install(release) => Some(release.version),
            Change::Remove => None,
        };
        (before != after).then(|| skew::Step { component, before: Vec::from_iter(before), after })
    }

    /// The component that goes next when all of them go: the last one that no other needs, since others may need the earlier
    /// ones without saying so. Of those that need each other in a circle, the last.
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

    /// The first component that a version depends on and that is not there as it is wanted, and what is the matter with it.
    /// What that depends on itself counts as well; `seen` are those that were looked at.
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

    /// What a component of the machine needs.
    fn need_of(self, component: ComponentId) -> Need {
        let target = targets(self.world, self.machine).find(|target| target.component == component);
        target.map_or(Need::Nothing, |target| self.need(&target))
    }

    /// What is the matter with a component; `None` when it is there as it is wanted.
    fn trouble_of(self, component: ComponentId) -> Option<DependencyState> {
        match self.need_of(component) {
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

    /// What a hindrance is to be told as: the last one of those that wait for each other is the cause of it all, unless it
    /// waits for the first.
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

    /// The hindrance at the end of the way along what each change waits for; an error is a way that leads back to itself.
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
