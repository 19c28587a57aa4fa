//! What decides about the components of a machine: canaries, sets, and the fleet's defaults, in this order.

use seaworthy_api::object::{ClusterPackageVersion, Machine, Metadata, Resource};
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, Condition, RolloutStatus};
use seaworthy_engine::{Owner, RankKey};
use seaworthy_kube::Terminal;
use seaworthy_model::id::Uid;

use super::Problem;
use super::picture::Picture;
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

/// Reads what decides about a machine, the first one first.
pub(super) async fn governors(
    terminal: &Terminal,
    machine: &Machine,
    fleet: &ClusterPackageVersion,
) -> Result<Vec<Governor>, Problem> {
    let mut picture = Picture::new();
    let (canaries, sets) = picture.owners(terminal).await?;
    picture.see(&Resource::Machine(Box::new(machine.clone())))?;
    let world = picture.world();
    let of = |owner: &Owner| {
        let name = world.name_of(*owner);
        match owner {
            Owner::Canary(_) => {
                let canary = canaries.iter().find(|canary| *canary.metadata.name == *name)?;
                let status = canary.status.as_ref().map(|status| &status.record);
                Some(governor(format!("canary {name}"), &canary.metadata, &canary.spec.components, status))
            }
            Owner::Set(_) => {
                let set = sets.iter().find(|set| *set.metadata.name == *name)?;
                let told = format!("set {name}");
                Some(governor(told, &set.metadata, &set.spec.components, set.status.as_ref()))
            }
            Owner::Fleet => None,
        }
    };
    let owners = picture.machine(&machine.metadata.name).map(|machine| world.owners_of(machine));
    let (metadata, components) = (&fleet.metadata, &fleet.spec.components);
    let defaults = governor("default".to_owned(), metadata, components, fleet.status.as_ref());
    Ok(owners.unwrap_or_default().iter().filter_map(of).chain([defaults]).collect())
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
