//! `confirmAbove`: a change that reaches many machines waits for a person.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, at_once, set_of, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Named, NamedId, SetId};
use seaworthy_model::package_version::{FleetCondition, FleetReason};
use seaworthy_model::quantity::CountOrPercent::Count;
use seaworthy_model::strategy::Strategy;

const HOUR: Duration = Duration::from_secs(3600);
const BLUE: Owner = Owner::Set(SetId(0));

/// Everybody at once, if it is for at most two machines.
fn careful() -> Strategy {
    Strategy { confirm_above: Some(Count(2)), ..at_once() }
}

fn updated(fixture: &Fixture) -> usize {
    fixture.web().iter().filter(|version| **version == Some(2)).count()
}

fn of_fleet(fixture: &Fixture) -> &FleetCondition {
    &fixture.store.fleet.as_ref().expect("there are defaults").status.conditions[0]
}

/// A person confirms the spec as it is now.
fn confirm(fixture: &mut Fixture, owner: Owner) {
    fixture.store.confirm(owner);
    fixture.deliver();
    fixture.pass(HOUR);
}

#[test]
fn a_version_for_many_machines_waits_for_a_person() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(careful()));
    fixture.deliver();
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture), 0);
    let told = of_fleet(&fixture);
    assert_eq!(told.reason, FleetReason::ConfirmationNeeded);
    assert_eq!(told.detail, Some(FleetDetail::Reach { component: "web".into(), machines: 6, limit: 2 }));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture), 0, "the next operator asks for it, too");
    confirm(&mut fixture, Owner::Fleet);
    assert_eq!(updated(&fixture), 6);
}

/// What was confirmed is one state of the spec, and not the next one.
#[test]
fn a_confirmation_counts_once() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(careful()));
    fixture.deliver();
    fixture.upgrade();
    confirm(&mut fixture, Owner::Fleet);
    assert_eq!(updated(&fixture), 6);
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture), 6);
    assert_eq!(of_fleet(&fixture).reason, FleetReason::ConfirmationNeeded);
}

/// A selector that matches far more machines than before.
#[test]
fn a_wider_selector_waits_for_a_person() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.store.label_machine(0, ("pool", "blue"));
    for id in 1..6 {
        fixture.store.label_machine(id, ("pool", "green"));
    }
    fixture.deliver();
    let pools = |names: &[&str]| SetSpec { strategy: careful(), ..set_of(names, vec![want(WEB, web(2))]) };
    fixture.see(Observation::Named(Named { id: NamedId::Set(SetId(0)), name: "blue".into() }));
    fixture.store.apply_set(BLUE, pools(&["blue"]));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture), 1);
    fixture.store.apply_set(BLUE, pools(&["blue", "green"]));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture), 1);
    assert_eq!(fixture.store.sets[&BLUE].status.conditions[0].reason, FleetReason::ConfirmationNeeded);
    confirm(&mut fixture, BLUE);
    assert_eq!(updated(&fixture), 6);
}
