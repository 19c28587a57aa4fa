//! `CanaryRelease`s: which machines they pick, what decides about those, and how they end.

use std::time::Duration;

use crate::fixture::{self, Fixture, WEB, at_once, select, set_of, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component_set::{Canary, Pick, PickResult, SetObject, SetSpec};
use seaworthy_model::event::Observation;
use seaworthy_model::id::{CanaryId, MachineId, Named, NamedId, SetId};
use seaworthy_model::package_version::{FleetReason, PackageVersionStatus};
use seaworthy_model::quantity::CountOrPercent::{self};
use seaworthy_model::strategy::{OnFailure, Strategy};

const HOUR: Duration = Duration::from_secs(3600);
const TRIAL: Owner = Owner::Canary(CanaryId(0));

/// The picked machines at once, and hardly watched.
fn trial(pick: Pick, version: u32) -> SetSpec {
    SetSpec {
        strategy: Strategy { on_failure: OnFailure::RollBack, ..at_once() },
        canary: Some(Canary { pick, aborted: false }),
        ..set_of(&[], vec![want(WEB, web(version))])
    }
}

fn two() -> Pick {
    Pick::Count { count: 2, per: Vec::new() }
}

fn apply(fixture: &mut Fixture, number: u32, spec: SetSpec) {
    let id = NamedId::Canary(CanaryId(number));
    fixture.see(Observation::Named(Named { id, name: format!("canary-{number}").into() }));
    fixture.store.apply_set(Owner::Canary(CanaryId(number)), spec);
    fixture.deliver();
}

fn object(fixture: &Fixture) -> &SetObject {
    &fixture.store.sets[&TRIAL]
}

fn status(fixture: &Fixture) -> &PackageVersionStatus {
    &object(fixture).status
}

fn reason(fixture: &Fixture) -> FleetReason {
    status(fixture).conditions[0].reason
}

/// The numbers of the picked machines.
fn picked(fixture: &Fixture) -> Vec<u32> {
    status(fixture).picked.iter().map(|picked| picked.machine.0).collect()
}

fn results(fixture: &Fixture) -> Vec<PickResult> {
    status(fixture).picked.iter().map(|picked| picked.result).collect()
}

/// The machines with a version.
fn with(fixture: &Fixture, version: u32) -> Vec<u32> {
    (0..).zip(fixture.web()).filter(|(_, found)| *found == Some(version)).map(|(id, _)| id).collect()
}

#[test]
fn the_picked_machines_and_no_others_try_a_version() {
    let mut fixture = Fixture::on_web_1(6, 2);
    apply(&mut fixture, 0, trial(two(), 2));
    fixture.pass(HOUR);
    let chosen = picked(&fixture);
    assert_eq!(chosen.len(), 2);
    assert_eq!(with(&fixture, 2), chosen);
    assert_eq!(results(&fixture), [PickResult::Updated; 2]);
    assert_eq!(reason(&fixture), FleetReason::AllUpdated);
    assert_eq!(status(&fixture).rollouts[0].from, Some(want(WEB, web(1)).want));
}

/// The pick is in the record before anything is done, and no operator picks again.
#[test]
fn the_pick_stays_whoever_acts() {
    let mut fixture = Fixture::on_web_1(6, 2);
    apply(&mut fixture, 0, SetSpec { paused: true, ..trial(two(), 2) });
    fixture.pass(HOUR);
    let chosen = picked(&fixture);
    assert_eq!(chosen.len(), 2);
    assert!(with(&fixture, 2).is_empty(), "it is paused");
    // Machines that come later change nothing.
    for id in 6..12 {
        fixture.store.add_machine(MachineId(id));
        fixture.hosts.insert(id, fixture::FakeHost::new(id));
    }
    fixture.restart();
    fixture.store.apply_set(TRIAL, trial(two(), 2));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(picked(&fixture), chosen);
    assert_eq!(with(&fixture, 2), chosen);
}

#[test]
fn machines_that_cannot_try_it_are_not_picked() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.store.edit_machine(1, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.deliver();
    apply(&mut fixture, 1, trial(Pick::Machines(vec![MachineId(2)]), 2));
    fixture.pass(HOUR);
    apply(&mut fixture, 0, trial(Pick::Count { count: 6, per: Vec::new() }, 3));
    fixture.pass(HOUR);
    assert_eq!(picked(&fixture), [3, 4, 5]);
}

#[test]
fn one_of_each_value_of_a_label_is_picked() {
    let mut fixture = Fixture::on_web_1(6, 2);
    for (id, kernel) in [(0, "6.1"), (1, "6.1"), (2, "6.1"), (3, "6.12"), (4, "6.12")] {
        fixture.store.label_machine(id, ("kernel", kernel));
    }
    fixture.deliver();
    apply(&mut fixture, 0, trial(Pick::Count { count: 1, per: vec!["kernel".into()] }, 2));
    fixture.pass(HOUR);
    let chosen = picked(&fixture);
    assert!(matches!(chosen[..], [0..=2, 3..=4]), "{chosen:?}: machine 5 has no such label");
    assert_eq!(with(&fixture, 2), chosen);
}

#[test]
fn a_pick_of_nobody_is_told_and_made_once_there_is_somebody() {
    let mut fixture = Fixture::on_web_1(2, 2);
    let selector = select(&["blue"]);
    apply(&mut fixture, 0, SetSpec { selector, ..trial(two(), 2) });
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::NoMachines);
    fixture.store.label_machine(1, ("pool", "blue"));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(picked(&fixture), [1]);
    assert_eq!(with(&fixture, 2), [1]);
}

#[test]
fn an_aborted_canary_gives_its_machines_back() {
    let mut fixture = Fixture::on_web_1(6, 2);
    apply(&mut fixture, 0, trial(two(), 2));
    fixture.pass(HOUR);
    let mut spec = trial(two(), 2);
    spec.canary.as_mut().unwrap().aborted = true;
    fixture.store.apply_set(TRIAL, spec);
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(with(&fixture, 2).is_empty());
    assert_eq!(reason(&fixture), FleetReason::Aborted);
    assert_eq!(results(&fixture), [PickResult::Updated; 2], "what they were when it ended");
}

/// It is over then: its machines go with the others to the next version.
#[test]
fn a_promoted_canary_holds_its_machines_back_no_longer() {
    let mut fixture = Fixture::on_web_1(6, 2);
    apply(&mut fixture, 0, trial(two(), 2));
    fixture.pass(HOUR);
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(with(&fixture, 2).len(), 6);
    assert_eq!(reason(&fixture), FleetReason::Promoted);
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(with(&fixture, 3).len(), 6);
    assert_eq!(reason(&fixture), FleetReason::Promoted);
}

#[test]
fn a_version_that_fails_is_rolled_back_on_the_picked_machines() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.limit(4);
    for id in 0..6 {
        fixture.host(id).broken = vec![web(2)];
    }
    let mut spec = trial(Pick::Count { count: 4, per: Vec::new() }, 2);
    spec.strategy.tolerance = Some(CountOrPercent::Count(1));
    apply(&mut fixture, 0, spec);
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::RolledBack);
    assert_eq!(with(&fixture, 1).len(), 6);
}

/// A set decides about the machines of a canary besides. What they had before is what the set says.
#[test]
fn a_canary_comes_before_a_set_and_falls_back_on_it() {
    let mut fixture = Fixture::on_web_1(4, 2);
    for id in 0..4 {
        fixture.store.label_machine(id, ("pool", "blue"));
    }
    let set = Owner::Set(SetId(0));
    fixture.see(Observation::Named(Named { id: NamedId::Set(SetId(0)), name: "blue".into() }));
    let blue = SetSpec { selector: select(&["blue"]), canary: None, ..trial(two(), 2) };
    fixture.store.apply_set(set, blue);
    fixture.deliver();
    fixture.pass(HOUR);
    apply(&mut fixture, 0, trial(Pick::Machines(vec![MachineId(3)]), 3));
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2), Some(2), Some(2), Some(3)]);
    assert_eq!(status(&fixture).rollouts[0].from, Some(want(WEB, web(2)).want));
    fixture.store.delete_set(TRIAL);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2); 4]);
    assert!(!fixture.store.sets.contains_key(&TRIAL));
}

#[test]
fn a_machine_that_is_gone_is_unavailable() {
    let mut fixture = Fixture::on_web_1(3, 2);
    apply(&mut fixture, 0, trial(Pick::Machines(vec![MachineId(0), MachineId(1)]), 2));
    fixture.pass(HOUR);
    fixture.store.machines.remove(&0);
    fixture.see(Observation::Machine(MachineId(0), None));
    fixture.pass(HOUR);
    assert_eq!(results(&fixture), [PickResult::Unavailable, PickResult::Updated]);
}
