use std::sync::Arc;

use seaworthy_engine::RankKey;
use seaworthy_model::strategy::Strategy;
use serde_json::json;

use super::*;

mod confirmation;
mod leaving;

fn read_as<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn machine(number: u32, installed: &str, pin: Option<&str>) -> Machine {
    let pins: Vec<Value> = pin.iter().map(|version| json!({ "name": "webd", "version": version })).collect();
    read_as(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {
            "name": format!("m-{number}"), "uid": format!("5f0c2d1e-8a3b-4c6d-9e7f-{number:012}"),
            "resourceVersion": "1", "generation": 1,
        },
        "spec": {
            "address": { "ip": "192.0.2.1" },
            "ssh": { "secretName": "ssh", "hostKeyPolicy": "TrustOnFirstUse" },
            "components": pins,
        },
        "status": { "components": [{ "name": "webd", "version": installed, "release": "0".repeat(64) }] },
    }))
}

/// A version of webd, with rules about other components.
fn version(text: &str, requires: &Value) -> Resource {
    let artefact = json!({
        "architecture": "amd64", "url": "http://192.0.2.1/webd.tar.gz", "sha256": "0".repeat(64), "format": "TarGz",
    });
    Resource::MachineComponent(read_as(json!({
        "metadata": {
            "name": format!("webd-{text}"), "uid": "5f0c2d1e-8a3b-4c6d-9e7f-cccccccccccc", "resourceVersion": "1",
        },
        "spec": { "component": "webd", "version": text, "artefacts": [artefact], "requires": requires },
    })))
}

fn live() -> ClusterPackageVersion {
    read_as(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "ClusterPackageVersion",
        "metadata": { "name": "default", "uid": "5f0c2d1e-8a3b-4c6d-9e7f-aaaaaaaaaaaa", "generation": 6, "resourceVersion": "9" },
        "spec": { "strategy": {}, "components": [{ "name": "webd", "version": "1.0.0" }] },
        "status": {
            "rollouts": [{
                "component": "webd", "generation": 6, "admittedBelow": 5, "startedAt": "2026-11-26T08:00:00Z",
                "from": { "state": "Present", "version": "0.9.0" }, "to": { "state": "Present", "version": "1.0.0" },
                "completedAt": "2026-11-26T09:00:00Z", "updated": 9,
            }],
        },
    }))
}

/// A set of the blue pool.
fn blue(name: &str, priority: i32) -> MachineComponentSet {
    read_as(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "MachineComponentSet",
        "metadata": {
            "name": name, "uid": "5f0c2d1e-8a3b-4c6d-9e7f-bbbbbbbbbbbb", "generation": 1, "resourceVersion": "3",
        },
        "spec": {
            "selector": { "matchLabels": { "pool": "blue" } },
            "priority": priority,
            "components": [{ "name": "webd", "version": "1.1.0" }],
        },
    }))
}

/// A canary as a file says it.
fn trial(name: &str, pick: &Value) -> CanaryRelease {
    read_as(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "CanaryRelease",
        "metadata": { "name": name },
        "spec": { "pick": pick, "components": [{ "name": "webd", "version": "1.2.0" }] },
    }))
}

/// The same as the API server has it, with the machines that it has picked.
fn created(name: &str, pick: &Value, picked: &[&str]) -> CanaryRelease {
    let mut canary = trial(name, pick);
    canary.metadata.uid = "5f0c2d1e-8a3b-4c6d-9e7f-dddddddddddd".into();
    (canary.metadata.resource_version, canary.metadata.generation) = ("4".into(), 1);
    let machines: Vec<Value> =
        picked.iter().map(|name| json!({ "name": name, "result": "Waiting" })).collect();
    canary.status = Some(read_as(json!({ "machines": machines })));
    canary
}

/// Ten machines on 1.0.0; the first four are blue.
fn pools() -> Vec<Machine> {
    let mut machines: Vec<Machine> = (0..10).map(|number| machine(number, "1.0.0", None)).collect();
    for machine in &mut machines[..4] {
        machine.metadata.labels.insert("pool".into(), "blue".into());
    }
    machines
}

/// A cluster with these machines and objects.
fn cluster(machines: &[Machine], objects: Vec<Resource>) -> Picture {
    let mut picture = Picture::new();
    let versions = ["1.0.0", "1.1.0", "1.2.0"].map(|text| version(text, &json!([])));
    let machines = machines.iter().map(|machine| Resource::Machine(Box::new(machine.clone())));
    for object in versions.into_iter().chain(machines).chain(objects) {
        picture.see(&object).unwrap();
    }
    picture
}

fn of_set(set: MachineComponentSet) -> Resource {
    Resource::MachineComponentSet(Box::new(set))
}

fn of_canary(canary: CanaryRelease) -> Resource {
    Resource::CanaryRelease(Box::new(canary))
}

/// What becomes of webd when the defaults want this version of it.
fn upgrade(live: &ClusterPackageVersion, to: &str, picture: Picture) -> Planned {
    let mut new = live.clone();
    new.spec.components = vec![read_as(json!({ "name": "webd", "version": to }))];
    let mut subject = defaults(live.clone(), new.clone()).unwrap();
    subject.changed = new.spec.components;
    outlook(picture, subject).unwrap().planned.remove(0)
}

fn changing(planned: &Planned) -> usize {
    planned.batches.changing.concat().len()
}

#[test]
fn every_machine_that_changes_is_in_one_batch_in_the_order_of_ranks() {
    let live = live();
    let machines: Vec<Machine> = (0..200).map(|number| machine(number, "1.0.0", None)).collect();
    let machines =
        [machines, vec![machine(900, "1.1.0", None), machine(901, "1.0.0", Some("1.0.0"))]].concat();
    let found = upgrade(&live, "1.1.0", cluster(&machines, Vec::new())).batches;
    assert_eq!((found.pinned, found.unchanged), (1, 1));
    assert_eq!(found.sizes, found.changing.iter().map(Vec::len).collect::<Vec<_>>());
    assert_eq!(found.sizes.iter().sum::<usize>(), 200);
    // Of 201 machines: 1, 2, 20, 100, all. One of them has it already.
    let ends: Vec<usize> = found
        .sizes
        .iter()
        .scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        })
        .collect();
    for (end, expected) in ends.iter().zip([1, 2, 20, 100, 201]) {
        assert!((expected - 1..=expected).contains(end), "{ends:?}");
    }
    let key = RankKey::new(live.metadata.uid.get().unwrap(), 7, "webd");
    let rank = |name: &String| {
        let machine = machines.iter().find(|machine| *machine.metadata.name == **name).unwrap();
        key.rank(machine.metadata.uid.get().unwrap())
    };
    assert!(found.changing.concat().iter().map(rank).is_sorted());
}

#[test]
fn what_worked_before_comes_back_at_once() {
    let mut live = live();
    let machines: Vec<Machine> = (0..20).map(|number| machine(number, "1.1.0", None)).collect();
    let of = |live: &ClusterPackageVersion| {
        upgrade(live, "1.0.0", cluster(&machines, Vec::new())).batches.changing.len()
    };
    assert_eq!(of(&live), 1, "it is what the last rollout brought to all");
    live.status.as_mut().unwrap().rollouts[0].completed_at = None;
    assert_eq!(of(&live), Strategy::default().batches.len() - 1, "two batches of one machine are one");
}

#[test]
fn a_version_that_does_not_exist_is_refused() {
    let of = |to: &str| upgrade(&live(), to, cluster(&pools(), Vec::new())).refused;
    assert_eq!(of("1.1.0"), None);
    assert_eq!(of("2.0.0").as_deref(), Some("there is no MachineComponent webd-2.0.0"));
}

/// Of ten machines, the set decides about four.
#[test]
fn a_change_that_reaches_too_many_waits_for_a_confirmation() {
    let of = |limit: u32| {
        let mut live = live();
        live.spec.strategy = Some(read_as(json!({ "confirmAbove": limit })));
        upgrade(&live, "1.2.0", cluster(&pools(), vec![of_set(blue("blue", 0))]))
    };
    assert_eq!(of(6).unconfirmed, None);
    let planned = of(5);
    let why = planned.unconfirmed.as_ref().unwrap();
    assert!(why.starts_with("ConfirmationNeeded: ") && why.contains("webd reaches 6 machines"), "{why}");
    assert!(
        words::in_words(&Outlook { planned: vec![planned], ..Outlook::default() })
            .contains("  it waits for `seaworthy rollout confirm`: ")
    );
}

/// In the words of the operator.
#[test]
fn a_version_that_breaks_a_rule_is_refused() {
    let rule = json!([{ "component": "kube-apiserver", "atLeast": "1.36.0" }]);
    let told = upgrade(&live(), "1.3.0", cluster(&pools(), vec![version("1.3.0", &rule)])).refused.unwrap();
    assert!(told.starts_with("VersionSkew: ") && told.contains("webd-1.3.0 requires"), "{told}");
}

#[test]
fn the_defaults_leave_out_what_a_set_decides() {
    let picture = || cluster(&pools(), vec![of_set(blue("blue", 0))]);
    let found = upgrade(&live(), "1.2.0", picture());
    assert_eq!((changing(&found), found.batches.decided_by_others), (6, 4));
    let mut new = live();
    new.spec.components = vec![read_as(json!({ "name": "dnsd", "state": "Absent" }))];
    let found = outlook(picture(), defaults(live(), new).unwrap()).unwrap().planned.remove(0);
    assert_eq!(found.batches.decided_by_others, 0, "the set says nothing of it");
}

#[test]
fn a_set_changes_its_machines_unless_another_comes_first() {
    assert_eq!(set(Some(blue("blue", 0)), blue("blue", 0)).unwrap().changed, [], "nothing is new");
    let mut new = blue("blue", 0);
    new.spec.components[0].version = Some("1.2.0".into());
    for (rival, count) in [(blue("zebra", 0), 4), (blue("ape", 0), 0), (blue("zebra", 1), 0)] {
        let subject = set(Some(blue("blue", 0)), new.clone()).unwrap();
        let found = outlook(cluster(&pools(), vec![of_set(rival)]), subject).unwrap().planned.remove(0);
        assert_eq!((changing(&found), found.batches.decided_by_others), (count, 4 - count));
    }
}

/// Which machines come first depends on the uid, which the API server gives.
#[test]
fn the_order_of_a_set_that_does_not_exist_is_not_told() {
    let mut new = blue("blue", 0);
    (new.metadata.uid, new.metadata.resource_version) = ("".into(), "".into());
    let planned = set(None, new).unwrap();
    assert_eq!((planned.uid, planned.changed.len()), (None, 1));
    let told = words::in_words(&outlook(cluster(&pools(), Vec::new()), planned).unwrap());
    assert!(told.contains("4 machines change") && told.contains("is drawn when the set"), "{told}");
    assert!(!told.contains("m-"), "{told}");
}

#[test]
fn with_another_selector_everything_may_be_new() {
    let mut wider = blue("blue", 0);
    wider.spec.selector.match_labels.clear();
    wider.spec.selector.match_labels.insert("zone".into(), "a".into());
    assert_eq!(set(Some(blue("blue", 0)), wider).unwrap().changed.len(), 1);
}

/// What a new canary would do among these objects.
fn tried(canary_: CanaryRelease, machines: &[Machine], objects: Vec<Resource>) -> Outlook {
    outlook(cluster(machines, objects), canary(None, canary_).unwrap()).unwrap()
}

#[test]
fn the_pick_of_a_canary_that_does_not_exist_is_told_in_numbers() {
    let mut machines = pools();
    Arc::make_mut(&mut machines[9].spec).paused = true;
    machines.push(machine(10, "1.0.0", Some("1.0.0")));
    let outlook = tried(trial("first", &json!({ "count": 3 })), &machines, Vec::new());
    let told = words::in_words(&outlook);
    let expected = "it picks 3 of 11 machines; which ones, is drawn when it is created\n  \
                    passed over: 1 paused, 1 that pin a component\n\
                    webd 1.2.0: at most 3 machines change\n  \
                    batch 1, 1 machines\n  batch 2, 2 machines\n";
    assert_eq!(told, expected);
    let json = serde_json::to_string(&outlook).unwrap();
    assert!(!json.contains("m-") && json.contains("\"sizes\":[1,2]"), "{json}");
}

/// Whoever is the only one of a kind is picked whatever the uid is.
#[test]
fn a_pick_without_a_choice_is_told_by_name() {
    let mut machines = pools();
    machines.truncate(3);
    machines[2].metadata.labels.insert("pool".into(), "red".into());
    machines[1].metadata.labels.clear();
    let told = words::in_words(&tried(trial("first", &json!({ "per": ["pool"] })), &machines, Vec::new()));
    assert!(told.starts_with("it picks 2 of 3 machines: m-0, m-2\n"), "{told}");
    assert!(told.contains("passed over: 1 without a label of pick.per\n"), "{told}");
    assert!(told.contains("2 machines change, 0 have it"), "{told}");
    assert!(told.contains("is drawn when the canary is created\n  batch 1, 1 machines\n"), "{told}");
}

#[test]
fn a_recorded_pick_is_told_with_its_order() {
    let live = created("first", &json!({ "count": 2 }), &["m-3", "m-5"]);
    let mut new = trial("first", &json!({ "count": 2 }));
    new.spec.components[0].version = Some("1.1.0".into());
    let subject = canary(Some(live.clone()), new).unwrap();
    let outlook = outlook(cluster(&pools(), vec![of_canary(live)]), subject).unwrap();
    let told = words::in_words(&outlook);
    assert!(told.starts_with("it has picked 2 machines: m-3, m-5\nwebd 1.1.0: 2 machines change"), "{told}");
    let mut names = outlook.planned[0].batches.changing.concat();
    names.sort();
    assert_eq!(
        (names, &outlook.planned[0].batches.sizes[..]),
        (vec!["m-3".into(), "m-5".into()], &[1, 1][..])
    );
}

/// The pick of the engine for the uid that the canary has.
#[test]
fn a_canary_that_has_not_picked_yet_picks_as_the_operator_will() {
    let live = created("first", &json!({ "count": 2 }), &[]);
    let picture = cluster(&pools(), vec![of_canary(live.clone())]);
    let Some(Owner::Canary(id)) = picture.owner(Kind::CanaryRelease, "first") else { panic!("unknown") };
    let world = picture.world();
    let choice: Vec<String> =
        world.choice(id).machines.iter().map(|id| world.machine_name(*id).to_owned()).collect();
    let mut subject = canary(Some(live), trial("first", &json!({ "count": 2 }))).unwrap();
    subject.changed = vec![read_as(json!({ "name": "webd", "version": "1.2.0" }))];
    let pick = outlook(picture, subject).unwrap().planned.remove(0).pick.unwrap();
    assert_eq!((pick.machines, pick.is_recorded, pick.is_open), (choice, false, false));
}

/// Of two canaries that name a machine, that whose name comes first decides; a pin comes before both.
#[test]
fn a_canary_comes_before_sets_and_after_canaries_of_earlier_names() {
    let mut machines = pools();
    machines[2] = machine(2, "1.0.0", Some("1.0.0"));
    let named = json!({ "machines": ["m-0", "m-1", "m-2", "m-99"] });
    for (rival, others) in [("ape", 1), ("zebra", 0)] {
        let rival = of_canary(created(rival, &json!({ "machines": ["m-1"] }), &["m-1"]));
        let outlook = tried(trial("first", &named), &machines, vec![of_set(blue("blue", 9)), rival]);
        let found = &outlook.planned[0].batches;
        assert_eq!(
            (found.sizes.iter().sum::<usize>(), found.pinned, found.decided_by_others),
            (2 - others, 1, others)
        );
        let told = words::in_words(&outlook);
        assert!(
            told.starts_with("it picks 3 machines: m-0, m-1, m-2\n  there is no Machine m-99\n"),
            "{told}"
        );
    }
}

#[test]
fn a_canary_that_finds_no_machine_is_refused() {
    let mut nowhere = trial("first", &json!({}));
    nowhere.spec.selector.match_labels.insert("pool".into(), "red".into());
    let outlook = tried(nowhere, &pools(), Vec::new());
    assert!(
        outlook.planned[0].refused.as_ref().is_some_and(|why| why.starts_with("NoMachines: ")),
        "{outlook:?}"
    );
    let elsewhere = of_canary(created("other", &json!({ "machines": ["m-0"] }), &["m-0"]));
    let machines = &pools()[..1];
    let outlook = tried(trial("first", &json!({})), machines, vec![elsewhere]);
    let told = words::in_words(&outlook);
    assert!(told.starts_with("it picks 0 of 1 machines\n  passed over: 1 in another canary\n"), "{told}");
}

#[test]
fn what_a_canary_picks_cannot_be_changed() {
    let live = || Some(created("first", &json!({ "count": 2 }), &["m-3", "m-5"]));
    let told = |new: CanaryRelease| canary(live(), new).err().map(|Problem(why)| why).unwrap_or_default();
    assert!(told(trial("first", &json!({ "count": 3 }))).starts_with("spec.pick: "));
    let mut other = trial("first", &json!({ "count": 2 }));
    other.spec.selector.match_labels.insert("pool".into(), "red".into());
    assert!(told(other).starts_with("spec.selector: "));
    assert_eq!(told(trial("first", &json!({ "count": 2 }))), "");
}
