//! What decides about a component of a machine, as the objects on the API server say it: the pin of the Machine, else the
//! first canary that has picked it, else the first set that selects it and mentions the component, else the fleet's defaults.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::object::{CanaryRelease, ClusterPackageVersion, Machine, Metadata};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{
    CanaryMachine, ClusterPackageVersionStatus, ComponentSetting, GateStatus, LabelSelector,
};
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::strategy::OnFailure;

use crate::world::api_server::{ApiServer, Stored};

/// The fleet's defaults, the sets and the canaries.
pub(crate) struct Desired<'a> {
    pub(crate) fleet: Option<&'a ClusterPackageVersion>,
    /// Those that decide before others first.
    pub(crate) groups: Vec<Group<'a>>,
}

/// A `MachineComponentSet` or a `CanaryRelease`.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) kind: Kind,
    pub(crate) metadata: &'a Metadata,
    /// What it wants of components; of none once it is a canary that is over.
    pub(crate) components: &'a [ComponentSetting],
    pub(crate) paused: bool,
    /// The record of its rollouts.
    pub(crate) status: Option<&'a ClusterPackageVersionStatus>,
    members: Members<'a>,
    priority: i64,
    object: &'a Stored,
}

/// Which machines are in a group.
#[derive(Clone, Copy, PartialEq)]
enum Members<'a> {
    Selected(&'a LabelSelector),
    Picked(&'a [CanaryMachine]),
}

/// A machine, as far as it matters whether it is in a group.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    name: &'a str,
    labels: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a Metadata> for Member<'a> {
    fn from(metadata: &'a Metadata) -> Self {
        Self { name: &metadata.name, labels: &metadata.labels }
    }
}

impl<'a> From<&'a Stored> for Member<'a> {
    fn from(object: &'a Stored) -> Self {
        Self { name: object.name(), labels: object.labels() }
    }
}

impl<'a> Group<'a> {
    /// The group that an object is, if it is one.
    pub(crate) fn of(object: &'a Stored) -> Option<Self> {
        if let Some(set) = object.component_set() {
            return Some(Self {
                kind: Kind::MachineComponentSet,
                metadata: &set.metadata,
                components: &set.spec.components,
                paused: set.spec.paused,
                status: set.status.as_ref(),
                members: Members::Selected(&set.spec.selector),
                priority: set.spec.priority,
                object,
            });
        }
        let canary = object.canary_release()?;
        let is_over = is_over(canary);
        let status = canary.status.as_ref();
        let picked = status.map(|status| &status.machines[..]).unwrap_or_default();
        Some(Self {
            kind: Kind::CanaryRelease,
            metadata: &canary.metadata,
            components: if is_over { &[] } else { &canary.spec.components },
            paused: canary.spec.paused,
            status: status.map(|status| &status.record),
            members: Members::Picked(picked),
            priority: 0,
            object,
        })
    }

    /// Its kind and its name.
    pub(crate) fn name(&self) -> (Kind, Arc<str>) {
        (self.kind, Arc::clone(&self.metadata.name))
    }

    /// Whether both are the same object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.kind, &self.metadata.name) == (other.kind, &other.metadata.name)
    }

    /// Whether it decides the same about the same machines as another state of it.
    pub(crate) fn has_terms_of(&self, other: &Self) -> bool {
        let names = |group: &Self| match group.members {
            Members::Selected(_) => Vec::new(),
            Members::Picked(machines) => machines.iter().map(|machine| machine.name.clone()).collect(),
        };
        let has_same_members = match (self.members, other.members) {
            (Members::Selected(one), Members::Selected(other)) => one == other,
            (_, _) => names(self) == names(other),
        };
        has_same_members
            && (self.components, self.paused, self.priority)
                == (other.components, other.paused, other.priority)
            && self.spec().map(|spec| spec.on_leave) == other.spec().map(|spec| spec.on_leave)
            && self.spec().map(|spec| spec.strategy.clone()) == other.spec().map(|spec| spec.strategy.clone())
    }

    /// Its spec as the operator reads it; `None` if that is not acceptable.
    pub(crate) fn spec(&self) -> Option<Arc<SetSpec>> {
        let names = &mut Names::new();
        let read = match self.object.component_set() {
            Some(set) => parse::machine_component_set(set, names).ok()?.1,
            None => parse::canary_release(self.object.canary_release()?, names).ok()?.1,
        };
        read.spec.ok()
    }

    /// Whether it is a set that takes a component back from machines that leave it.
    fn takes_back(&self, component: &str) -> bool {
        let set = self.object.component_set().filter(|set| set.spec.on_leave == "Remove");
        set.is_some_and(|set| set.spec.components.iter().any(|setting| *setting.name == *component))
    }

    fn has(&self, machine: Member<'_>) -> bool {
        match self.members {
            Members::Selected(selector) => selects(selector, machine.labels),
            Members::Picked(machines) => machines.iter().any(|picked| picked.name == machine.name),
        }
    }
}

/// Whether a canary decides nothing any more: it was aborted, or its machines get the same without it.
fn is_over(canary: &CanaryRelease) -> bool {
    let is_promoted = canary.status.as_ref().is_some_and(|status| {
        let is_current = status.record.observed_generation == canary.metadata.generation;
        is_current && status.record.conditions.iter().any(|condition| condition.reason == "Promoted")
    });
    canary.spec.aborted || is_promoted
}

impl<'a> Desired<'a> {
    pub(crate) fn of(api: &'a ApiServer) -> Self {
        let fleet = api.get(Kind::ClusterPackageVersion, SINGLETON);
        let sets = api.collection(Kind::MachineComponentSet).objects();
        let canaries = api.collection(Kind::CanaryRelease).objects();
        let groups = sets.into_iter().chain(canaries).filter_map(|object| Group::of(object));
        Self::among(fleet.and_then(|fleet| fleet.package_version()), groups.collect())
    }

    pub(crate) fn among(fleet: Option<&'a ClusterPackageVersion>, mut groups: Vec<Group<'a>>) -> Self {
        groups.sort_by_key(|group| {
            let is_set = group.kind == Kind::MachineComponentSet;
            (is_set, Reverse(group.priority), Arc::clone(&group.metadata.name))
        });
        Self { fleet, groups }
    }

    /// The set or canary that decides about a component of a machine; `None` if the defaults do.
    pub(crate) fn group_of<'m>(&self, machine: impl Into<Member<'m>>, component: &str) -> Option<Group<'a>> {
        let machine = machine.into();
        let mentions = |group: &Group<'_>| group.components.iter().any(|one| *one.name == *component);
        self.groups.iter().copied().find(|group| mentions(group) && group.has(machine))
    }

    /// Whether a set takes a component back from the machines that have left it, and a machine is not in it.
    pub(crate) fn takes_back<'m>(&self, machine: impl Into<Member<'m>>, component: &str) -> bool {
        let machine = machine.into();
        self.groups.iter().any(|group| group.takes_back(component) && !group.has(machine))
    }

    /// The components that a machine still has from sets that it has left, by its status. A set without machines takes nothing
    /// back.
    pub(crate) fn overdue<'m>(&self, machine: &'m Machine, api: &'m ApiServer) -> Vec<&'m str> {
        let status = machine.status.iter().flat_map(|status| &status.components[..]);
        let is_overdue = |(component, set): &(&'m str, &str)| {
            let is_it =
                |group: &&Group<'_>| group.kind == Kind::MachineComponentSet && *group.metadata.name == **set;
            let Some(group) = self.groups.iter().find(is_it) else { return false };
            let is_named = machine.spec.components.iter().any(|pin| *pin.name == **component)
                || self.setting_of(&machine.metadata, component).is_some();
            let all = api.collection(Kind::Machine).objects();
            !is_named
                && group.takes_back(component)
                && !group.has((&machine.metadata).into())
                && all.into_iter().any(|other| group.has(Member::from(&**other)))
        };
        let recorded = status.filter_map(|component| Some((&*component.name, component.set.as_deref()?)));
        recorded.filter(is_overdue).map(|(component, _)| component).collect()
    }

    /// What the defaults or a set say of a component of a machine without a pin. What was reverted is what the machines had
    /// before.
    pub(crate) fn setting_of<'m>(
        &self,
        machine: impl Into<Member<'m>>,
        component: &str,
    ) -> Option<Cow<'a, ComponentSetting>> {
        let (settings, status) = match self.group_of(machine, component) {
            Some(group) => (group.components, group.status),
            None => (&self.fleet?.spec.components[..], self.fleet?.status.as_ref()),
        };
        let setting = settings.iter().find(|setting| *setting.name == *component)?;
        Some(reverted_to(status, setting).map_or(Cow::Borrowed(setting), Cow::Owned))
    }

    /// The same, as if nothing had been reverted.
    pub(crate) fn unreverted<'m>(
        &self,
        machine: impl Into<Member<'m>>,
        component: &str,
    ) -> Option<&'a ComponentSetting> {
        let settings = match self.group_of(machine, component) {
            Some(group) => group.components,
            None => &self.fleet?.spec.components[..],
        };
        settings.iter().find(|setting| *setting.name == *component)
    }

    /// Every component that a machine's own pins, the sets or the fleet's defaults name, with what the machine is to have.
    pub(crate) fn wanted<'m>(&self, machine: &'m Machine) -> Vec<Cow<'m, ComponentSetting>>
    where
        'a: 'm,
    {
        let pins = &machine.spec.components;
        let defaults = self.fleet.map_or(&[][..], |fleet| &fleet.spec.components);
        let others = self.groups.iter().flat_map(|group| group.components).chain(defaults);
        let others: BTreeSet<&str> = others.map(|setting| &*setting.name).collect();
        let unpinned = others.into_iter().filter(|name| pins.iter().all(|pin| *pin.name != **name));
        let settings = unpinned.filter_map(|name| self.setting_of(&machine.metadata, name));
        pins.iter().map(Cow::Borrowed).chain(settings).collect()
    }

    /// The records of rollouts.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a ClusterPackageVersionStatus> {
        let groups = self.groups.iter().filter_map(|group| group.status);
        self.fleet.and_then(|fleet| fleet.status.as_ref()).into_iter().chain(groups)
    }
}

/// Whether a selector selects an object with these labels.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let all = selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
    all && selector.match_expressions.iter().all(|expression| {
        let is_listed = |value: &String| expression.values.contains(value);
        match (expression.operator.as_str(), labels.get(&expression.key)) {
            ("In", value) => value.is_some_and(is_listed),
            ("NotIn", value) => !value.is_some_and(is_listed),
            ("Exists", value) => value.is_some(),
            (_, value) => value.is_none(),
        }
    })
}

/// What the machines had before, if the rollout of a setting was reverted as its strategy says.
pub(crate) fn reverted_to(
    status: Option<&ClusterPackageVersionStatus>,
    setting: &ComponentSetting,
) -> Option<ComponentSetting> {
    let rollout = status?.rollouts.iter().find(|rollout| rollout.component == setting.name)?;
    let course = rollout.course.as_ref().filter(|course| {
        course.reverted_at.is_some() && course.strategy.on_failure == OnFailure::RollBack.name()
    })?;
    let (gate, from) = (course.failed_gate.as_ref()?, rollout.from.as_ref()?);
    let is_for_it = rollout.to.version == setting.version && rollout.to.parameters == setting.parameters;
    (is_for_it && has_found_trouble(gate)).then(|| ComponentSetting {
        name: setting.name.clone(),
        state: from.state.clone(),
        version: from.version.clone(),
        parameters: from.parameters.clone(),
    })
}

/// Whether a gate that has failed names machines that went wrong, series that its query found, or probe pods that did not start.
pub(super) const fn has_found_trouble(gate: &GateStatus) -> bool {
    gate.failed + gate.unavailable + gate.series + gate.unstarted > 0
}
