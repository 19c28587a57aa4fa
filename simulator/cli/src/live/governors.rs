//! What decides about the components of a machine: canaries, sets, and the fleet's defaults, in this order.

use std::cmp::Reverse;

use seaworthy_api::names::Names;
use seaworthy_api::object::{CanaryRelease, ClusterPackageVersion, Machine, MachineComponentSet};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, RolloutStatus};
use seaworthy_kube::Terminal;
use seaworthy_model::id::Kind;
use seaworthy_model::labels::Labels;
use seaworthy_model::selector::Selector;

use super::Problem;

/// An object that decides about components of a machine.
pub(super) struct Governor {
    /// What it is, for people: `default`, or the kind and the name.
    pub(super) name: String,
    /// Its components.
    components: Vec<String>,
    /// Its rollouts.
    rollouts: Vec<RolloutStatus>,
}

/// What the objects say about one component of a machine.
pub(super) struct Decision<'a> {
    /// What decides.
    pub(super) governor: &'a Governor,
    /// The rollout that brings it.
    pub(super) rollout: &'a RolloutStatus,
    /// What would decide otherwise.
    pub(super) passed_over: Vec<&'a str>,
}

/// Reads what decides about a machine, the first one first. An API server without one of the kinds has no such objects.
pub(super) async fn governors(
    terminal: &Terminal,
    machine: &Machine,
    fleet: &ClusterPackageVersion,
) -> Result<Vec<Governor>, Problem> {
    let canaries = terminal.list::<CanaryRelease>(Kind::CanaryRelease).await.unwrap_or_default();
    let sets = terminal.list::<MachineComponentSet>(Kind::MachineComponentSet).await.unwrap_or_default();
    let canaries = canaries.iter().filter(|canary| tries(canary, machine)).map(|canary| {
        let status = canary.status.as_ref().map(|status| &status.record);
        governor(format!("canary {}", canary.metadata.name), &canary.spec.components, status)
    });
    let mut selecting: Vec<&MachineComponentSet> = sets.iter().filter(|set| selects(set, machine)).collect();
    selecting.sort_by_key(|set| (Reverse(set.spec.priority), set.metadata.name.clone()));
    let sets = selecting
        .into_iter()
        .map(|set| governor(format!("set {}", set.metadata.name), &set.spec.components, set.status.as_ref()));
    let defaults = governor("default".to_owned(), &fleet.spec.components, fleet.status.as_ref());
    Ok(canaries.chain(sets).chain([defaults]).collect())
}

/// What they decide, component by component.
pub(super) fn decisions(governors: &[Governor]) -> Vec<Decision<'_>> {
    let mut decided: Vec<Decision<'_>> = Vec::new();
    for governor in governors {
        for rollout in governor.rollouts.iter().filter(|rollout| governor.mentions(&rollout.component)) {
            match decided.iter_mut().find(|decision| decision.rollout.component == rollout.component) {
                Some(decision) => decision.passed_over.push(&governor.name),
                None => decided.push(Decision { governor, rollout, passed_over: Vec::new() }),
            }
        }
    }
    decided
}

impl Governor {
    fn mentions(&self, component: &str) -> bool {
        self.components.iter().any(|name| name == component)
    }
}

fn governor(
    name: String,
    components: &[ComponentSetting],
    status: Option<&ClusterPackageVersionStatus>,
) -> Governor {
    let components = components.iter().map(|setting| setting.name.to_string()).collect();
    Governor { name, components, rollouts: status.map(|status| status.rollouts.clone()).unwrap_or_default() }
}

/// Whether a canary has picked a machine, and still decides about it.
fn tries(canary: &CanaryRelease, machine: &Machine) -> bool {
    let Some(status) = &canary.status else { return false };
    let is_promoted = status.record.conditions.iter().any(|told| told.reason == "Promoted");
    let is_picked = status.machines.iter().any(|picked| *picked.name == *machine.metadata.name);
    is_picked && !canary.spec.aborted && !is_promoted
}

fn selects(set: &MachineComponentSet, machine: &Machine) -> bool {
    selector(set).is_some_and(|selector| selector.matches(&labels(machine)))
}

/// What decides about a component of a machine before the object that a plan is about.
pub(super) struct Rivals {
    canaries: Vec<CanaryRelease>,
    /// With the labels that they select.
    sets: Vec<(MachineComponentSet, Option<Selector>)>,
}

impl Rivals {
    /// Reads all of them but the planned set itself. An API server without one of the kinds has no such objects.
    pub(super) async fn read(terminal: &Terminal, planned: Option<&str>) -> Self {
        let canaries = terminal.list::<CanaryRelease>(Kind::CanaryRelease).await.unwrap_or_default();
        let sets = terminal.list::<MachineComponentSet>(Kind::MachineComponentSet).await.unwrap_or_default();
        Self::of(canaries, sets.into_iter().filter(|set| Some(&*set.metadata.name) != planned).collect())
    }

    pub(super) fn of(canaries: Vec<CanaryRelease>, sets: Vec<MachineComponentSet>) -> Self {
        let sets = sets.into_iter().map(|set| {
            let selector = selector(&set);
            (set, selector)
        });
        Self { canaries, sets: sets.collect() }
    }

    /// Whether one of them decides. `place` is the priority and the name of the planned set; `None` for the defaults.
    pub(super) fn decide(&self, place: Option<(i64, &str)>, machine: &Machine, component: &str) -> bool {
        let names = |settings: &[ComponentSetting]| settings.iter().any(|setting| setting.name == component);
        let mut canaries = self.canaries.iter();
        if canaries.any(|canary| names(&canary.spec.components) && tries(canary, machine)) {
            return true;
        }
        let labels = labels(machine);
        self.sets.iter().any(|(set, selector)| {
            let first = place.is_none_or(|(priority, name)| {
                (Reverse(set.spec.priority), &*set.metadata.name) < (Reverse(priority), name)
            });
            let selects = || selector.as_ref().is_some_and(|selector| selector.matches(&labels));
            first && names(&set.spec.components) && selects()
        })
    }
}

/// The labels of a machine.
pub(super) fn labels(machine: &Machine) -> Labels {
    machine.metadata.labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

/// What a set selects; `None` if its spec cannot be read.
fn selector(set: &MachineComponentSet) -> Option<Selector> {
    let (_, read) = parse::machine_component_set(set, &mut Names::new()).ok()?;
    read.spec.ok().map(|spec| spec.selector.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(component: &str) -> RolloutStatus {
        let rollout = serde_json::json!({
            "component": component,
            "generation": 1,
            "to": { "state": "Present", "version": "1.0.0" },
            "admittedBelow": 0,
            "startedAt": "2026-11-25T08:00:00Z",
        });
        serde_json::from_value(rollout).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_first_that_mentions_a_component_decides() {
        let governor = |name: &str, components: &[&str]| Governor {
            name: name.to_owned(),
            components: components.iter().map(|name| (*name).to_owned()).collect(),
            rollouts: components.iter().copied().map(rollout).collect(),
        };
        let governors = [
            governor("canary new", &["webd"]),
            governor("set gpu", &["webd"]),
            governor("default", &["dnsd", "webd"]),
        ];
        let told = decisions(&governors);
        let told: Vec<_> = told
            .iter()
            .map(|it| (&*it.rollout.component, &*it.governor.name, it.passed_over.len()))
            .collect();
        assert_eq!(told, [("webd", "canary new", 2), ("dnsd", "default", 0)]);
    }
}
