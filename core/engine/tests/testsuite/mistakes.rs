//! What waits for a person because it is rarely meant: a way back that the older version may not survive, and a selector that
//! selects nobody any more, or far more machines than before.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, course, record, set_of, told, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component::Rollback;
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Named, NamedId, SetId};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::{OnFailure, Strategy};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const BLUE: Owner = Owner::Set(SetId(0));

fn on(fixture: &Fixture, version: u32) -> usize {
    fixture.web().iter().filter(|installed| **installed == Some(version)).count()
}

/// What `web-2` has written, `web-1` may not read.
fn make_unsafe(fixture: &mut Fixture) {
    for number in 1..=3 {
        let version = fixture.store.versions.get_mut(&web(number).0).expect("it exists");
        let spec = Arc::make_mut(version.spec.as_mut().unwrap());
        spec.version = format!("{number}.0.0");
        spec.content.rollback = if number == 2 { Rollback::Unsafe } else { Rollback::Safe };
        fixture.store.touch_version(web(number).0);
    }
    fixture.deliver();
}

/// One machine, and then all; each batch is watched for a minute.
fn strategy(on_failure: OnFailure) -> Strategy {
    Strategy {
        batches: vec![Count(1), Percent(100)],
        first_bake: MINUTE,
        bake: MINUTE,
        tolerance: None,
        on_failure,
        ..Strategy::default()
    }
}

#[test]
fn a_way_back_from_an_unsafe_version_waits_for_a_person() {
    let mut fixture = Fixture::on_web_1(6, 6);
    make_unsafe(&mut fixture);
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 6, "the way there needs nobody");
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!((on(&fixture, 2), told(&fixture).reason), (6, FleetReason::RollbackUnsafe));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 6, "the next operator waits as well");
    fixture.store.confirm(Owner::Fleet);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 1), 6);
}

#[test]
fn a_newer_version_follows_an_unsafe_one_unasked() {
    let mut fixture = Fixture::on_web_1(6, 6);
    make_unsafe(&mut fixture);
    fixture.upgrade();
    fixture.pass(HOUR);
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 3), 6);
}

/// The strategy says that machines get back what they had; the version says that they must not.
#[test]
fn an_unsafe_version_is_not_taken_back_by_itself() {
    for is_unsafe in [false, true] {
        let mut fixture = Fixture::on_web_1(6, 6);
        if is_unsafe {
            make_unsafe(&mut fixture);
        }
        fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy(OnFailure::RollBack)));
        fixture.upgrade();
        fixture.pass(SECOND * 30);
        assert_eq!(on(&fixture, 2), 1);
        let first = fixture.web().iter().position(|version| *version == Some(2)).expect("one has it");
        fixture.host(u32::try_from(first).unwrap()).stop(WEB);
        fixture.pass(HOUR);
        let expected = if is_unsafe { (1, FleetReason::GateFailed) } else { (0, FleetReason::RolledBack) };
        assert_eq!((on(&fixture, 2), told(&fixture).reason), expected);
        assert_eq!(course(&fixture).reverted_at.is_some(), !is_unsafe);
    }
}

/// The machines of some pools get `web-2`.
fn pools(names: &[&str]) -> SetSpec {
    set_of(names, vec![want(WEB, web(2))])
}

/// Machines of the blue pool, which have `web-2` from a set, and the others, on `web-1`.
fn with_blue(blue: u32, others: u32) -> Fixture {
    let mut fixture = Fixture::on_web_1(blue + others, blue + others);
    for id in 0..blue + others {
        fixture.store.label_machine(id, ("pool", if id < blue { "blue" } else { "green" }));
    }
    fixture.see(Observation::Named(Named { id: NamedId::Set(SetId(0)), name: "blue".into() }));
    apply(&mut fixture, pools(&["blue"]));
    assert_eq!(on(&fixture, 2), blue as usize);
    fixture
}

fn apply(fixture: &mut Fixture, spec: SetSpec) {
    fixture.store.apply_set(BLUE, spec);
    fixture.deliver();
    fixture.pass(HOUR);
}

fn of_set(fixture: &Fixture) -> FleetReason {
    fixture.store.sets[&BLUE].status.conditions[0].reason
}

#[test]
fn a_selector_that_selects_nobody_changes_nothing() {
    let mut fixture = with_blue(4, 4);
    apply(&mut fixture, pools(&["bleu"]));
    assert_eq!((on(&fixture, 2), of_set(&fixture)), (4, FleetReason::SetEmptied));
    assert_eq!(told(&fixture).reason, FleetReason::SetEmptied, "the defaults say whose machines they leave");
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!((on(&fixture, 2), of_set(&fixture)), (4, FleetReason::SetEmptied), "whoever leads");
    apply(&mut fixture, pools(&["blue"]));
    assert_eq!((on(&fixture, 2), of_set(&fixture)), (4, FleetReason::AllUpdated));
    assert_eq!(told(&fixture).reason, FleetReason::AllUpdated);
}

#[test]
fn a_set_that_is_meant_to_select_nobody_is_confirmed_or_deleted() {
    for is_deleted in [false, true] {
        let mut fixture = with_blue(4, 4);
        apply(&mut fixture, pools(&["bleu"]));
        assert_eq!(on(&fixture, 2), 4);
        if is_deleted {
            fixture.store.delete_set(BLUE);
        } else {
            fixture.store.confirm(BLUE);
        }
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!(on(&fixture, 1), 8);
    }
}

/// Machines that go are no mistake in a selector.
#[test]
fn a_pool_without_machines_is_complete_whatever_is_edited() {
    let mut fixture = with_blue(2, 4);
    for id in 0..2 {
        fixture.store.label_machine(id, ("pool", "green"));
    }
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!((on(&fixture, 1), of_set(&fixture)), (6, FleetReason::AllUpdated));
    apply(&mut fixture, SetSpec { components: vec![want(WEB, web(3))], ..pools(&["blue"]) });
    assert_eq!(of_set(&fixture), FleetReason::AllUpdated);
}

/// A set that selects more than twice the machines that it had, if these are more than a few.
#[test]
fn a_selector_that_is_far_wider_than_before_waits_for_a_person() {
    let mut fixture = with_blue(2, 12);
    apply(&mut fixture, pools(&["blue", "green"]));
    assert_eq!((on(&fixture, 2), of_set(&fixture)), (2, FleetReason::ConfirmationNeeded));
    let reach = FleetDetail::Reach { component: "web".into(), machines: 12, limit: 10 };
    assert_eq!(fixture.store.sets[&BLUE].status.conditions[0].detail, Some(reach));
    fixture.store.confirm(BLUE);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 14);
}

/// The defaults say nothing of what a person wants to go back to: a way back needs no gate, also after the rollout was complete.
#[test]
fn people_go_back_from_a_complete_rollout_at_once() {
    let mut fixture = Fixture::on_web_1(12, 12);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy(OnFailure::Pause)));
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 12);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(MINUTE / 2);
    assert_eq!((on(&fixture, 1), &record(&fixture).course), (12, &None));
    fixture.upgrade();
    fixture.pass(MINUTE / 2);
    assert_eq!(on(&fixture, 2), 1, "what was taken back is new again");
}
