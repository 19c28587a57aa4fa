//! Tests of the recount: it names every wrong counter, and finds none after a storm.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_model::lease::Epoch;

use super::*;
use crate::observers::Observers;
use crate::observers::oracle::Over;
use crate::options::Options;
use crate::run::beginning::begin;
use crate::run::course::count_again;
use crate::scenario::Scenario;
use crate::vocabulary::START;
use crate::world::api_server::Preconditions;
use crate::world::host::{Change, Ended, Operation, Work};

const STORM: &str = include_str!("../../../../../../scenarios/fast/storm.yaml");

fn storm() -> World {
    begin(Arc::new(Scenario::read("storm.yaml", STORM).unwrap()), Options::default())
}

/// A storm in the middle of its second rollout, with at least one host at work.
fn half_way() -> World {
    let mut world = storm();
    while world.step_until(START + Duration::from_secs(3_600)) {}
    while at_work(&world).is_none() {
        let now = world.now();
        world.step_until(now + Duration::from_secs(1));
    }
    assert_eq!(miscounts(&world), [""; 0]);
    world
}

fn at_work(world: &World) -> Option<u32> {
    world.hosts.iter().position(Host::is_at_work).and_then(|number| u32::try_from(number).ok())
}

fn miscounts(world: &World) -> Vec<String> {
    Observers::of(world).oracle.recount(&Truth::of(world))
}

/// Changes an object behind the oracle's back.
fn edit(world: &mut World, kind: Kind, name: &str, change: impl FnOnce(&mut Resource)) {
    let now = world.now();
    world.api_servers.home_mut().update((kind, name), Preconditions::default(), now, change).unwrap();
}

fn pause_machine(world: &mut World) {
    edit(world, Kind::Machine, "m-00003", |object| {
        let Resource::Machine(machine) = object else { panic!("{object:?}") };
        Arc::make_mut(&mut machine.spec).paused = true;
    });
}

fn empty_fleet(world: &mut World) {
    edit(world, Kind::ClusterPackageVersion, SINGLETON, |object| {
        let Resource::ClusterPackageVersion(fleet) = object else { panic!("{object:?}") };
        fleet.spec.components.clear();
    });
}

#[test]
fn a_storm_counts_right_all_the_time() {
    let mut world = storm();
    let mut events = 0u32;
    while world.step_until(START + Duration::from_secs(4 * 3_600)) {
        events += 1;
        if events.is_multiple_of(97) {
            count_again(&mut world);
            assert_eq!(Observers::of(&world).oracle.violations(), []);
        }
    }
    assert!(events > 10_000, "{events}");
}

#[test]
fn whatever_is_counted_wrong_is_named() {
    type Tamper = fn(&mut World);
    let world = half_way();
    let table: [(&str, Tamper); 9] = [
        ("host 3, operations:", |world| {
            Observers::change(world, |observers| observers.oracle.deeds.began(3, true))
        }),
        ("host 4, operations that did not end:", |world| {
            let (operation, _) = world.hosts[4].journal()[0];
            let Operation { id, generation, component, .. } = operation;
            let work = Work { id, generation, component, change: Change::Remove };
            let over = Over { host: 4, work: &work, ended: Ended::Interrupted, component: "webd" };
            Observers::change(world, |observers| observers.oracle.deeds.ended(&over));
        }),
        ("host 5, epoch:", |world| {
            Observers::change(world, |observers| observers.oracle.leadership.heard(5, Epoch(9_999)))
        }),
        ("Machines that are paused:", pause_machine),
        ("components of the fleet:", empty_fleet),
        ("operator processes:", |world| {
            Observers::change(world, |observers| observers.oracle.restraint.process_started())
        }),
        ("Machines:", |world| {
            let uid = *Observers::of(world).oracle.machines.keys().next().unwrap();
            Observers::change(world, |observers| observers.oracle.machines.remove(&uid));
        }),
        ("who waits longest:", |world| {
            Observers::change(world, |observers| observers.oracle.starvation.muddle())
        }),
        ("host ", |world| {
            let host = at_work(world).unwrap();
            Observers::change(world, |observers| observers.oracle.budget.ended(host));
        }),
    ];
    for (what, tamper) in table {
        let mut world = world.clone();
        tamper(&mut world);
        let found = miscounts(&world);
        assert!(found.iter().any(|miscount| miscount.starts_with(what)), "{what} {found:?}");
        count_again(&mut world);
        assert_eq!(Observers::of(&world).oracle.violations().len(), found.len(), "{what}");
        assert!(
            Observers::of(&world).oracle.violations().iter().all(|violation| violation.invariant == NAME),
            "{what}"
        );
    }
}
