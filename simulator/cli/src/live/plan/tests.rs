use seaworthy_model::strategy::Strategy;
use serde_json::json;

use super::*;

fn machine(number: u32, installed: &str, pin: Option<&str>) -> Machine {
    let pins: Vec<Value> = pin.iter().map(|version| json!({ "name": "webd", "version": version })).collect();
    serde_json::from_value(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "Machine",
        "metadata": { "name": format!("m-{number}"), "uid": format!("5f0c2d1e-8a3b-4c6d-9e7f-{number:012}") },
        "spec": {
            "address": { "ip": "192.0.2.1", "hostname": "a.example.com" },
            "ssh": { "secretName": "ssh", "hostKeys": [] },
            "components": pins,
        },
        "status": { "components": [{ "name": "webd", "version": installed, "release": "" }] },
    }))
    .unwrap()
}

fn live() -> ClusterPackageVersion {
    serde_json::from_value(json!({
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
    .unwrap()
}

fn subject(live: &ClusterPackageVersion) -> Subject {
    defaults(live.clone(), live.clone()).unwrap()
}

fn nobody() -> Rivals {
    Rivals::of(Vec::new(), Vec::new())
}

/// A set of the blue pool.
fn blue(name: &str, priority: i32) -> MachineComponentSet {
    serde_json::from_value(json!({
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
    .unwrap()
}

/// Ten machines on 1.0.0; the first four are blue.
fn pools() -> Vec<Machine> {
    let mut machines: Vec<Machine> = (0..10).map(|number| machine(number, "1.0.0", None)).collect();
    for machine in &mut machines[..4] {
        machine.metadata.labels.insert("pool".into(), "blue".into());
    }
    machines
}

fn setting(version: &str) -> ComponentSetting {
    serde_json::from_value(json!({ "name": "webd", "version": version })).unwrap()
}

#[test]
fn every_machine_that_changes_is_in_one_batch_in_the_order_of_ranks() {
    let live = live();
    let machines: Vec<Machine> = (0..200).map(|number| machine(number, "1.0.0", None)).collect();
    let machines =
        [machines, vec![machine(900, "1.1.0", None), machine(901, "1.0.0", Some("1.0.0"))]].concat();
    let found = batches(&subject(&live), &setting("1.1.0"), &machines, &nobody());
    assert_eq!((found.pinned, found.unchanged), (1, 1));
    let sizes: Vec<usize> = found.changing.iter().map(Vec::len).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 200);
    // Of 201 machines: 1, 2, 20, 100, all. One of them has it already.
    let ends: Vec<usize> = sizes
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
        batches(&subject(live), &setting("1.0.0"), &machines, &nobody()).changing.len()
    };
    assert_eq!(of(&live), 1, "it is what the last rollout brought to all");
    live.status.as_mut().unwrap().rollouts[0].completed_at = None;
    assert_eq!(of(&live), Strategy::default().batches.len() - 1, "two batches of one machine are one");
}

#[test]
fn a_version_that_does_not_exist_is_refused() {
    let known = BTreeSet::from(["webd-1.0.0"]);
    assert_eq!(refusal(&setting("1.0.0"), &known), None);
    assert!(refusal(&setting("2.0.0"), &known).unwrap().contains("webd-2.0.0"));
}

#[test]
fn the_defaults_leave_out_what_a_set_decides() {
    let rivals = Rivals::of(Vec::new(), vec![blue("blue", 0)]);
    let found = batches(&subject(&live()), &setting("1.2.0"), &pools(), &rivals);
    assert_eq!((found.changing.concat().len(), found.decided_by_others), (6, 4));
    let other = serde_json::from_value(json!({ "name": "dnsd", "version": "1.0.0" })).unwrap();
    let found = batches(&subject(&live()), &other, &pools(), &rivals);
    assert_eq!(found.decided_by_others, 0, "the set says nothing of it");
}

#[test]
fn a_set_changes_its_machines_unless_another_comes_first() {
    let planned = set(Some(blue("blue", 0)), blue("blue", 0)).unwrap();
    assert_eq!(planned.changed, [], "nothing is new");
    for (rival, changing) in [(blue("zebra", 0), 4), (blue("ape", 0), 0), (blue("zebra", 1), 0)] {
        let rivals = Rivals::of(Vec::new(), vec![rival]);
        let found = batches(&planned, &setting("1.2.0"), &pools(), &rivals);
        assert_eq!((found.changing.concat().len(), found.decided_by_others), (changing, 4 - changing));
    }
}

/// Which machines come first depends on the uid, which the API server gives.
#[test]
fn the_order_of_a_set_that_does_not_exist_is_not_told() {
    let mut new = blue("blue", 0);
    (new.metadata.uid, new.metadata.resource_version) = ("".into(), "".into());
    let planned = set(None, new).unwrap();
    assert_eq!((planned.uid, planned.changed.len()), (None, 1));
    let batches = batches(&planned, &planned.changed[0], &pools(), &nobody());
    let told = in_words(&[super::planned(&planned.changed[0], None, batches, false)]);
    assert!(told.contains("4 machines change") && told.contains("is drawn when"), "{told}");
    assert!(!told.contains("m-"), "{told}");
}

#[test]
fn with_another_selector_everything_may_be_new() {
    let mut wider = blue("blue", 0);
    wider.spec.selector.match_labels.clear();
    wider.spec.selector.match_labels.insert("zone".into(), "a".into());
    assert_eq!(set(Some(blue("blue", 0)), wider).unwrap().changed.len(), 1);
}
