//! What decides about the components of a machine: canaries, sets, and the fleet's defaults, in this order.

use std::cmp::Reverse;

use seaworthy_api::names::Names;
use seaworthy_api::object::{CanaryRelease, ClusterPackageVersion, Machine, MachineComponentSet, Metadata};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, Condition, RolloutStatus};
use seaworthy_engine::RankKey;
use seaworthy_kube::Terminal;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::labels::Labels;
use seaworthy_model::selector::Selector;

use super::Problem;
use super::words::progressing;

/// An object that decides about components of a machine.
pub(super) struct Governor {
    /// What it is, for people: `default`, or the kind and the name.
    pub(super) name: String,
    /// Its uid, from which the ranks of machines follow.
    uid: Option<Uid>,
    /// Its components.
    components: Vec<String>,
    /// What goes on with its rollouts.
    pub(super) told: Option<Condition>,
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
        governor(
            format!("canary {}", canary.metadata.name),
            &canary.metadata,
            &canary.spec.components,
            status,
        )
    });
    let mut selecting: Vec<&MachineComponentSet> = sets.iter().filter(|set| selects(set, machine)).collect();
    selecting.sort_by_key(|set| (Reverse(set.spec.priority), set.metadata.name.clone()));
    let sets = selecting.into_iter().map(|set| {
        let name = format!("set {}", set.metadata.name);
        governor(name, &set.metadata, &set.spec.components, set.status.as_ref())
    });
    let (metadata, components) = (&fleet.metadata, &fleet.spec.components);
    let defaults = governor("default".to_owned(), metadata, components, fleet.status.as_ref());
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

impl Decision<'_> {
    /// Where a machine stands that has another version installed than the rollout brings, or that has it.
    pub(super) fn stands(&self, machine: &Machine, has_it: bool) -> String {
        let rollout = self.rollout;
        let course = rollout.course.as_ref().filter(|_| rollout.completed_at.is_none());
        let batch = course.map(|course| course.batch);
        if has_it {
            return match batch {
                Some(batch) => format!("it has it, and counts at the gate after batch {batch}"),
                None => "it has it".to_owned(),
            };
        }
        let uids = self.governor.uid.zip(machine.metadata.uid.get());
        let rank = uids.map(|(owner, machine)| {
            let generation = u64::try_from(rollout.generation).unwrap_or_default();
            i64::from(RankKey::new(owner, generation, &rollout.component).rank(machine))
        });
        match rank {
            Some(rank) if rollout.granted.iter().flatten().any(|granted| *granted == rank) => {
                "it is its turn".to_owned()
            }
            Some(rank) if rank >= rollout.admitted_below => match batch {
                Some(batch) => format!("it comes in a later batch; batch {batch} is under way"),
                None => "it is not permitted yet".to_owned(),
            },
            Some(_) | None => "it waits for its turn, or cannot be worked on".to_owned(),
        }
    }
}

impl Governor {
    fn mentions(&self, component: &str) -> bool {
        self.components.iter().any(|name| name == component)
    }
}

fn governor(
    name: String,
    metadata: &Metadata,
    components: &[ComponentSetting],
    status: Option<&ClusterPackageVersionStatus>,
) -> Governor {
    let components = components.iter().map(|setting| setting.name.to_string()).collect();
    Governor {
        name,
        uid: metadata.uid.get(),
        components,
        told: status.and_then(progressing).cloned(),
        rollouts: status.map(|status| status.rollouts.clone()).unwrap_or_default(),
    }
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
    fn a_machine_is_told_where_it_stands() {
        let machine: Machine = serde_json::from_value(serde_json::json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "Machine",
            "metadata": { "name": "m-0", "uid": "5f0c2d1e-8a3b-4c6d-9e7f-000000000000" },
            "spec": {
                "address": { "ip": "192.0.2.1", "hostname": "a.example.com" },
                "ssh": { "secretName": "ssh", "hostKeys": [] },
            },
        }))
        .unwrap_or_else(|error| panic!("{error}"));
        let owner = Uid(7);
        let rank =
            i64::from(RankKey::new(owner, 1, "webd").rank(machine.metadata.uid.get().unwrap_or(Uid(0))));
        let told = |admitted_below: i64, granted: Option<Vec<i64>>, has_it: bool| {
            let rollout = RolloutStatus { admitted_below, granted, ..rollout("webd") };
            let rollouts = Vec::new();
            let name = "default".to_owned();
            let governor = Governor { name, uid: Some(owner), components: Vec::new(), told: None, rollouts };
            Decision { governor: &governor, rollout: &rollout, passed_over: Vec::new() }
                .stands(&machine, has_it)
        };
        assert_eq!(told(rank + 1, None, true), "it has it");
        assert_eq!(told(rank + 1, Some(vec![3, rank]), false), "it is its turn");
        assert_eq!(told(rank, Some(vec![3]), false), "it is not permitted yet");
        assert_eq!(told(rank + 1, Some(vec![3]), false), "it waits for its turn, or cannot be worked on");
    }

    #[test]
    fn the_first_that_mentions_a_component_decides() {
        let governor = |name: &str, components: &[&str]| Governor {
            name: name.to_owned(),
            uid: None,
            told: None,
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
