//! What decides about a component of a machine, as the objects on the API server say it: the pin of the Machine, else the
//! first set that selects it and mentions the component, else the fleet's defaults.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::object::{ClusterPackageVersion, Machine, MachineComponentSet};
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, LabelSelector};
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::strategy::OnFailure;

use crate::world::api_server::ApiServer;

/// The fleet's defaults and the sets.
pub(crate) struct Desired<'a> {
    pub(crate) fleet: Option<&'a ClusterPackageVersion>,
    /// Those that decide before others first.
    pub(crate) sets: Vec<&'a MachineComponentSet>,
}

impl<'a> Desired<'a> {
    pub(crate) fn of(api: &'a ApiServer) -> Self {
        let fleet = api.get(Kind::ClusterPackageVersion, SINGLETON);
        let sets = api.collection(Kind::MachineComponentSet).objects();
        let sets = sets.into_iter().filter_map(|object| object.component_set());
        Self::among(fleet.and_then(|fleet| fleet.package_version()), sets.collect())
    }

    pub(crate) fn among(
        fleet: Option<&'a ClusterPackageVersion>,
        mut sets: Vec<&'a MachineComponentSet>,
    ) -> Self {
        sets.sort_by(|one, other| {
            let name = |set: &MachineComponentSet| set.metadata.name.clone();
            other.spec.priority.cmp(&one.spec.priority).then_with(|| name(one).cmp(&name(other)))
        });
        Self { fleet, sets }
    }

    /// The set that decides about a component of a machine; `None` if the defaults do.
    pub(crate) fn set_of(
        &self,
        labels: &BTreeMap<String, String>,
        component: &str,
    ) -> Option<&'a MachineComponentSet> {
        let mentions =
            |set: &MachineComponentSet| set.spec.components.iter().any(|one| *one.name == *component);
        let mut sets = self.sets.iter().copied();
        sets.find(|set| mentions(set) && selects(&set.spec.selector, labels))
    }

    /// What the defaults or a set say of a component of a machine without a pin. What was reverted is what the machines had
    /// before.
    pub(crate) fn setting_of(
        &self,
        labels: &BTreeMap<String, String>,
        component: &str,
    ) -> Option<Cow<'a, ComponentSetting>> {
        let (settings, status) = match self.set_of(labels, component) {
            Some(set) => (&set.spec.components, set.status.as_ref()),
            None => (&self.fleet?.spec.components, self.fleet?.status.as_ref()),
        };
        let setting = settings.iter().find(|setting| *setting.name == *component)?;
        Some(reverted_to(status, setting).map_or(Cow::Borrowed(setting), Cow::Owned))
    }

    /// The same, as if nothing had been reverted.
    pub(crate) fn unreverted(
        &self,
        labels: &BTreeMap<String, String>,
        component: &str,
    ) -> Option<&'a ComponentSetting> {
        let settings = match self.set_of(labels, component) {
            Some(set) => &set.spec.components,
            None => &self.fleet?.spec.components,
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
        let others = self.sets.iter().flat_map(|set| &set.spec.components).chain(defaults);
        let others: BTreeSet<&str> = others.map(|setting| &*setting.name).collect();
        let unpinned = others.into_iter().filter(|name| pins.iter().all(|pin| *pin.name != **name));
        let settings = unpinned.filter_map(|name| self.setting_of(&machine.metadata.labels, name));
        pins.iter().map(Cow::Borrowed).chain(settings).collect()
    }

    /// The records of rollouts.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a ClusterPackageVersionStatus> {
        let sets = self.sets.iter().filter_map(|set| set.status.as_ref());
        self.fleet.and_then(|fleet| fleet.status.as_ref()).into_iter().chain(sets)
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
    (is_for_it && gate.failed + gate.unavailable > 0).then(|| ComponentSetting {
        name: setting.name.clone(),
        state: from.state.clone(),
        version: from.version.clone(),
        parameters: from.parameters.clone(),
    })
}
