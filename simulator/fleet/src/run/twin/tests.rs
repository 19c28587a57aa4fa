//! Tests of the comparison with the twin: what it reports, and what it accepts.

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::LEASE;
use seaworthy_model::id::Kind;

use super::*;
use crate::observers::Observers;
use crate::vocabulary::START;
use crate::world::api_server::{Preconditions, Written};

const STORM: &str = include_str!("../../../../../scenarios/fast/storm.yaml");
const PROBE: &str = include_str!("../../../../../scenarios/fast/failing_probe.yaml");

fn ended(text: &str) -> World {
    let scenario = Scenario::read("a scenario", text).unwrap();
    let mut world = begin(Arc::new(scenario), Options::default());
    assert_eq!(attempt(&mut world).failure, None);
    world
}

#[test]
fn faults_delay_and_change_nothing() {
    let world = ended(STORM);
    assert!(!world.scenario.faults.is_empty());
    assert_eq!(compare_with_twin(&world), None);
}

/// When a rollout stops half-way, the order decides which hosts have the new version.
#[test]
fn a_rollout_that_stopped_is_compared_as_far_as_it_can_be() {
    assert_eq!(compare_with_twin(&ended(PROBE)), None);
}

#[test]
fn a_machine_that_ended_otherwise_is_named() {
    let mut world = ended(STORM);
    let now = world.now();
    let pause = |object: &mut Resource| {
        let Resource::Machine(machine) = object else { panic!("{object:?}") };
        Arc::make_mut(&mut machine.spec).paused = true;
    };
    world
        .api_servers
        .home_mut()
        .update((Kind::Machine, "m-00003"), Preconditions::default(), now, pause)
        .unwrap();
    let failure = compare_with_twin(&world).unwrap();
    assert_eq!(failure.invariant, "twinState");
    assert!(failure.detail.starts_with("m-00003 has another spec"), "{}", failure.detail);
}

#[test]
fn an_object_that_is_missing_is_named() {
    let mut world = ended(STORM);
    let (object, now) = ((Kind::Machine, "m-00004"), world.now());
    world
        .api_servers
        .home_mut()
        .update(object, Preconditions::default(), now, |machine| {
            Arc::make_mut(&mut machine.metadata_mut().finalizers).clear();
        })
        .unwrap();
    world.api_servers.home_mut().delete(object, Preconditions::default(), now).unwrap();
    let failure = compare_with_twin(&world).unwrap();
    assert_eq!(failure.invariant, "twinState");
    assert!(failure.detail.starts_with("Machine m-00004 does not exist"), "{}", failure.detail);
}

#[test]
fn work_that_nothing_accounts_for_is_found() {
    let mut world = ended(STORM);
    Observers::change(&mut world, |observers| observers.oracle.overdo(2));
    let failure = compare_with_twin(&world).unwrap();
    assert_eq!(failure.invariant, "twinEffects");
    assert!(failure.detail.starts_with("m-00002: "), "{}", failure.detail);
}

#[test]
fn a_reboot_that_no_outage_accounts_for_is_found() {
    let mut world = ended(STORM);
    world.hosts[3].power_off();
    world.hosts[3].power_on();
    let failure = compare_with_twin(&world).unwrap();
    assert_eq!(failure.invariant, "twinEffects");
    assert!(failure.detail.starts_with("m-00003: "), "{}", failure.detail);
    Observers::change(&mut world, |observers| observers.oracle.powered_on(3));
    assert_eq!(compare_with_twin(&world), None);
}

#[test]
fn objects_that_operators_create_or_delete_for_nothing_are_found() {
    let world = ended(STORM);
    let stored = |kind, name| Arc::clone(world.api_servers.home().get(kind, name).unwrap());
    let created = |object, before, removed| Written { object, before, committed: true, removed };
    let (lease, machine) = (stored(Kind::Lease, LEASE), stored(Kind::Machine, "m-00006"));
    let node = stored(Kind::Node, "m-00006");
    let table = [
        ("Lease seaworthy: created 2 times", created(lease, None, false)),
        (
            "Machine m-00006: created 0 times and deleted 1",
            created(Arc::clone(&machine), Some(machine), true),
        ),
        ("Node m-00006: created 0 times and deleted 1", created(Arc::clone(&node), Some(node), true)),
    ];
    for (words, written) in table {
        let mut world = world.clone();
        Observers::change(&mut world, |observers| observers.oracle.operator_wrote(&written, START));
        let failure = compare_with_twin(&world).unwrap();
        assert_eq!(failure.invariant, "twinEffects");
        assert!(failure.detail.starts_with(words), "{}", failure.detail);
    }
}

#[test]
fn the_first_difference_in_time_is_told() {
    let world = ended(STORM);
    let mut twin = beginning(&world);
    assert_eq!(attempt(&mut twin).failure, None);
    let told: Vec<String> = (0..40).filter_map(|host| first_in_time(&world, &twin, host)).collect();
    assert!(told.iter().any(|text| text.contains("loses its power")), "{told:?}");
}
