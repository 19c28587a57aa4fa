//! What waits for a person.

use super::*;

/// A set of the blue machines whose rollout of 1.1.0 is complete on four of them, among machines that have what `installed` says;
/// its selector is edited to one of these pools.
fn widened(installed: &str, pools: &[&str]) -> Planned {
    let mut machines: Vec<Machine> = (0..30).map(|number| machine(number, installed, None)).collect();
    for (number, machine) in machines.iter_mut().enumerate() {
        let pool = if number < 4 { "blue" } else { "green" };
        machine.metadata.labels.insert("pool".into(), pool.into());
    }
    let mut before = blue("blue", 0);
    before.status = Some(read_as(json!({
        "rollouts": [{
            "component": "webd", "generation": 1, "admittedBelow": u32::MAX, "startedAt": "2026-11-26T08:00:00Z",
            "to": { "state": "Present", "version": "1.1.0" }, "completedAt": "2026-11-26T09:00:00Z",
            "total": 4, "updated": 4,
        }],
    })));
    let mut after = before.clone();
    after.spec.selector = read_as(json!({
        "matchExpressions": [{ "key": "pool", "operator": "In", "values": pools }],
    }));
    let picture = cluster(&machines, vec![of_set(before.clone())]);
    outlook(picture, set(Some(before), after).unwrap()).unwrap().planned.remove(0)
}

#[test]
fn a_selector_that_selects_far_more_waits() {
    let why = widened("1.0.0", &["blue", "green"]).unconfirmed.unwrap();
    assert!(why.starts_with("ConfirmationNeeded: ") && why.contains("webd reaches 30 machines"), "{why}");
    assert_eq!(widened("1.1.0", &["blue", "green"]).unconfirmed, None, "nobody changes");
}

#[test]
fn a_selector_that_selects_nobody_waits() {
    let planned = widened("1.1.0", &["bleu"]);
    assert!(planned.unconfirmed.as_ref().unwrap().starts_with("SetEmptied: "), "{planned:?}");
}

#[test]
fn a_way_back_that_is_not_safe_waits() {
    let of = |rollback: &str| {
        let mut unsafe_one = version("1.1.0", &json!([]));
        if let Resource::MachineComponent(version) = &mut unsafe_one {
            version.spec.rollback = rollback.into();
        }
        let machines: Vec<Machine> = (0..20).map(|number| machine(number, "1.1.0", None)).collect();
        upgrade(&live(), "1.0.0", cluster(&machines, vec![unsafe_one])).unconfirmed
    };
    assert_eq!(of("Safe"), None);
    assert!(of("Unsafe").unwrap().starts_with("RollbackUnsafe: "));
}
