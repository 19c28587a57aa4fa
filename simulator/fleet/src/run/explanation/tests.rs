use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::run::beginning::begin;
use crate::vocabulary::START;
use crate::{Options, Scenario};

const ZONE_LOST: &str = include_str!("../../../../../scenarios/fast/zone_lost.yaml");

fn told(explanation: &Explanation, heading: &str) -> String {
    explanation
        .iter()
        .filter(|(of, _)| *of == heading)
        .flat_map(|(_, lines)| lines.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

/// The beginning of a scenario.
fn world(scenario: &str) -> World {
    begin(Arc::new(Scenario::read("a.yaml", scenario).unwrap()), Options::default())
}

#[test]
fn a_machine_is_explained_by_the_reasons_of_the_engine() {
    let mut world = world(ZONE_LOST);
    assert_eq!(explain(&world, "m-00002"), None, "no operator yet");
    let mut chronicle = Chronicle::new(&world, [2]);
    chronicle.follow(&mut world, START + Duration::from_secs(7_200 + 1_200));
    let lost = explain(&world, "m-00002").unwrap();
    assert!(told(&lost, "contact").contains("its Node is Unknown"), "{lost:?}");
    assert!(told(&lost, "operator").contains("acts"), "{lost:?}");
    let lines: Vec<String> = chronicle.lines.iter().map(|line| line.text.clone()).collect();
    for expected in
        ["m-00002 begins to install webd-1.0.0", "m-00002 is cut off", "people apply ClusterPackageVersion"]
    {
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
    }
    let waiting = (0..60).map(|number| explain(&world, &crate::vocabulary::machine_name(number)).unwrap());
    let waiting = waiting.filter(|told_of| told(told_of, "rollouts").contains("waits for its turn")).count();
    assert!(waiting > 0);
    assert_eq!(explain(&world, "m-99999"), None);
}

const VERSIONS_DELETED: &str = include_str!("../../../../../scenarios/fast/versions_deleted.yaml");

#[test]
fn a_version_that_was_deleted_names_who_still_uses_it() {
    let mut world = world(VERSIONS_DELETED);
    let mut chronicle = Chronicle::new(&world, []);
    chronicle.follow(&mut world, START + Duration::from_secs(2 * 3_600));
    let old = explain_version(&world, "webd-1.0.0").unwrap();
    assert_eq!(told(&old, "version"), "being deleted");
    assert!(told(&old, "used by").contains("Machine m-00000 pins it"), "{old:?}");
    assert!(told(&old, "waits for").contains("InUse: still in use by "), "{old:?}");
    let new = explain_version(&world, "webd-1.1.0").unwrap();
    assert_eq!(told(&new, "version"), "there");
    assert!(told(&new, "used by").contains("and 20 more"), "{new:?}");
    assert_eq!(explain_version(&world, "webd-9.9.9"), None);
}

const LATE_FAILURE: &str = include_str!("../../../../../scenarios/fast/gate_stops_a_late_failure.yaml");

#[test]
fn a_gate_that_has_failed_is_explained_by_its_evidence() {
    let mut world = world(LATE_FAILURE);
    let mut chronicle = Chronicle::new(&world, []);
    chronicle.follow(&mut world, START + Duration::from_secs(3 * 3_600));
    let rollouts = told(&explain(&world, "m-00000").unwrap(), "rollouts");
    for expected in ["under way, failed the gate after batch ", " changed, ", " went down"] {
        assert!(rollouts.contains(expected), "{expected}: {rollouts}");
    }
}
