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

fn spec(live: &ClusterPackageVersion) -> PackageVersionSpec {
    let parsed = parse::package_version(live, &mut Names::new()).unwrap();
    (*parsed.spec.unwrap()).clone()
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
    let found = batches(&live, &spec(&live), &setting("1.1.0"), &machines);
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
        batches(live, &spec(live), &setting("1.0.0"), &machines).changing.len()
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
