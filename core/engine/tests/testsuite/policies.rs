//! What disruption policies keep back: the kill switch, windows, freezes, and policies that nobody can read.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{self, Fixture, START, WEB, want, web};
use seaworthy_model::calendar::{Days, Window, Zone};
use seaworthy_model::detail::Detail;
use seaworthy_model::host::Drift;
use seaworthy_model::id::PolicyId;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::meta::SpecError;
use seaworthy_model::package_version::{FleetConditionKind, FleetReason};
use seaworthy_model::policy::{Domain, Freeze, PolicyConditionKind, PolicyReason, PolicySpec};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::selector::{LabelOperator, LabelRequirement, Selector};
use seaworthy_model::time::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const P0: PolicyId = PolicyId(0);

fn on(fixture: &Fixture, version: u32) -> usize {
    fixture.web().iter().filter(|installed| **installed == Some(version)).count()
}

fn progressing(fixture: &Fixture) -> FleetReason {
    let conditions = &fixture.store.fleet.as_ref().unwrap().status.conditions;
    conditions.iter().find(|told| told.kind == FleetConditionKind::Progressing).unwrap().reason
}

fn told(fixture: &Fixture, kind: PolicyConditionKind) -> (Truth, PolicyReason) {
    let conditions = &fixture.store.policies[&0].status.conditions;
    let condition = conditions.iter().find(|told| told.kind == kind).unwrap();
    (condition.truth, condition.reason)
}

/// Half of the machines are blue.
fn blue() -> Selector {
    let operator = LabelOperator::In(vec!["blue".into()]);
    Selector { requirements: vec![LabelRequirement { key: "pool".into(), operator }] }
}

fn with_pools() -> Fixture {
    let mut fixture = Fixture::on_web_1(12, 12);
    (0..6).for_each(|id| fixture.store.label_machine(id, ("pool", "blue")));
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture
}

/// Opens at noon and at midnight, for two hours.
fn windows() -> Vec<Window> {
    let window = |start| Window { days: Days::ALL, start, duration: HOUR * 2, zone: Arc::new(Zone::utc()) };
    vec![window(0), window(12 * 3600)]
}

fn hour_of_day(at: Timestamp) -> u64 {
    at.millis() / 3_600_000 % 24
}

#[test]
fn the_kill_switch_stops_the_fleet_in_the_middle_and_lets_it_go_on() {
    let mut fixture = Fixture::on_web_1(12, 3);
    fixture.upgrade();
    fixture.until_at_work(1);
    fixture.store.edit_policy(0, |spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(HOUR);
    let done = on(&fixture, 2);
    assert!((1..=3).contains(&done), "what has begun is finished, and nothing else: {done}");
    assert_eq!(progressing(&fixture), FleetReason::PolicyPaused);
    assert_eq!(
        fixture.engine.world().blocker(Subject::PackageVersion),
        Some(Blocker::PolicyPaused { policy: P0 })
    );
    assert_eq!(told(&fixture, PolicyConditionKind::Ready), (Truth::True, PolicyReason::InForce));
    assert_eq!(told(&fixture, PolicyConditionKind::Permitting), (Truth::False, PolicyReason::PolicyPaused));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), done, "a new operator is stopped as well");
    fixture.host(5).drift(WEB);
    fixture.pass(2 * HOUR);
    let drift = |fixture: &mut Fixture| fixture.host(5).facts.components[0].drift;
    assert_ne!(drift(&mut fixture), Drift::NONE, "not even a repair starts");
    fixture.store.edit_policy(0, |spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(2 * HOUR);
    assert_eq!(on(&fixture, 2), 12);
    assert_eq!(told(&fixture, PolicyConditionKind::Permitting), (Truth::True, PolicyReason::Open));
}

#[test]
fn a_pause_with_a_selector_stops_those_machines_only_and_says_so() {
    let mut fixture = with_pools();
    fixture.store.edit_policy(0, |spec| (spec.selector, spec.paused) = (blue(), true));
    fixture.deliver();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(3))].into());
    fixture.upgrade();
    fixture.pass(2 * HOUR);
    assert_eq!((on(&fixture, 1), on(&fixture, 2)), (6, 6));
    let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap().clone();
    assert_eq!((condition.truth, condition.reason), (Truth::False, Reason::PolicyPaused));
    let policy = Detail::Policy { policy: "p0".into(), until: None };
    assert_eq!(condition.detail.as_deref(), Some(&policy));
    fixture.store.delete_policy(0);
    fixture.deliver();
    fixture.pass(2 * HOUR);
    assert_eq!((on(&fixture, 2), on(&fixture, 3)), (11, 1));
}

#[test]
fn a_rollout_waits_for_the_next_window_and_is_told_until_when() {
    let mut fixture = Fixture::on_web_1(12, 2);
    let hours = 24 - hour_of_day(fixture.now);
    fixture.pass(HOUR * u32::try_from(hours).unwrap() + HOUR * 4);
    fixture
        .store
        .edit_policy(0, |spec| (spec.windows, spec.per_hour) = (windows(), Some(CountOrPercent::Count(5))));
    fixture.deliver();
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!((on(&fixture, 2), progressing(&fixture)), (0, FleetReason::OutsideWindow));
    let Some(Blocker::OutsideWindow { policy: P0, until }) =
        fixture.engine.world().blocker(Subject::PackageVersion)
    else {
        panic!("it waits for the window");
    };
    assert_eq!(hour_of_day(until), 12);
    fixture.pass(until.since(fixture.now) + MINUTE * 5);
    assert_eq!(on(&fixture, 2), 5, "as many as the hour allows");
    fixture.pass(HOUR * 4);
    let done = on(&fixture, 2);
    assert!(done < 12, "the window has closed");
    assert_eq!(progressing(&fixture), FleetReason::OutsideWindow);
    let before = fixture.store.policies[&0].meta.resource_version;
    fixture.pass(HOUR * 3);
    assert_eq!(fixture.store.policies[&0].meta.resource_version, before, "nothing is written meanwhile");
    fixture.pass(HOUR * 24);
    assert_eq!(on(&fixture, 2), 12);
}

/// What people want back works on every machine, and a bad version is not left there until a window opens.
#[test]
fn a_way_back_waits_for_no_window() {
    let mut fixture = Fixture::on_web_1(12, 12);
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 12);
    let hours = 24 - hour_of_day(fixture.now);
    fixture.pass(HOUR * u32::try_from(hours).unwrap() + HOUR * 4);
    fixture.store.edit_policy(0, |spec| spec.windows = windows());
    fixture.deliver();
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 3), 0, "the windows are closed");
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 1), 0, "that is not what was there before");
    fixture.pass(HOUR * 24);
    assert_eq!(on(&fixture, 1), 12);
    let hours = 24 - hour_of_day(fixture.now);
    fixture.pass(HOUR * u32::try_from(hours).unwrap() + HOUR * 4);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 12);
}

#[test]
fn pins_and_deletions_wait_for_the_end_of_a_freeze() {
    let mut fixture = Fixture::on_web_1(3, 3);
    let (from, until) = (fixture.now, (fixture.now + HOUR * 5).whole_seconds());
    fixture.store.edit_policy(0, |spec| {
        spec.freezes = vec![Freeze { from, until, reason: "sale".into() }];
    });
    fixture.deliver();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.store.delete_machine(1);
    fixture.deliver();
    fixture.pass(HOUR * 4);
    assert_eq!(on(&fixture, 1), 3);
    for id in [0, 1] {
        let condition = fixture.store.machines[&id].status.condition(ConditionKind::InSync).unwrap();
        assert_eq!((condition.truth, condition.reason), (Truth::False, Reason::Frozen), "{id}");
        let detail = Detail::Policy { policy: "p0".into(), until: Some(until) };
        assert_eq!(condition.detail.as_deref(), Some(&detail));
    }
    fixture.pass(HOUR * 2);
    assert_eq!(fixture.web(), [Some(2), None, Some(1)]);
}

#[test]
fn a_mistake_leaves_the_last_valid_spec_in_force() {
    let mut fixture = with_pools();
    fixture.store.edit_policy(0, |spec| (spec.selector, spec.paused) = (blue(), true));
    fixture.deliver();
    let fault = SpecError { field: "spec.per".into(), message: "must be Fleet, Idc, Rack or Label".into() };
    fixture.store.respecify_policy(0, Err([fault].into()));
    fixture.deliver();
    fixture.upgrade();
    fixture.pass(2 * HOUR);
    assert_eq!((on(&fixture, 1), on(&fixture, 2)), (6, 6), "it counts for the same machines");
    assert_eq!(told(&fixture, PolicyConditionKind::Ready), (Truth::False, PolicyReason::InvalidSpec));
    fixture.restart();
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(2 * HOUR);
    assert_eq!(on(&fixture, 3), 0, "who has seen no valid spec disrupts nothing");
    assert_eq!(progressing(&fixture), FleetReason::PolicyInvalid);
    let spec = PolicySpec {
        selector: blue(),
        per: Domain::Fleet,
        in_flight: None,
        per_hour: None,
        per_day: None,
        windows: vec![],
        freezes: vec![],
        paused: false,
    };
    fixture.store.respecify_policy(0, fixture::parsed(spec));
    fixture.deliver();
    fixture.pass(2 * HOUR);
    assert_eq!(on(&fixture, 3), 12);
}

#[test]
fn the_smallest_limit_wins_and_pins_keep_it() {
    let mut fixture = with_pools();
    fixture.store.edit_policy(0, |spec| spec.in_flight = Some(CountOrPercent::Count(6)));
    fixture.store.edit_policy(1, |spec| {
        (spec.selector, spec.in_flight) = (blue(), Some(CountOrPercent::Percent(34)));
    });
    fixture.deliver();
    for id in 0..12 {
        fixture.store.edit_machine(id, |spec| spec.pins = [want(WEB, web(2))].into());
    }
    fixture.deliver();
    fixture.until_at_work(6);
    let at_work = fixture.at_work();
    assert_eq!(at_work.len(), 6);
    assert!(at_work.iter().filter(|id| **id < 6).count() <= 2, "{at_work:?}");
    fixture.pass(HOUR);
    assert_eq!(on(&fixture, 2), 12);
}

#[test]
fn a_foreign_cordon_takes_room_in_its_rack_and_not_in_the_fleet() {
    for (per, expected) in [(Domain::Rack, 0), (Domain::Fleet, 4)] {
        let mut fixture = Fixture::with_pods(4, 0);
        fixture.limit(4);
        for id in 0..4 {
            fixture.store.edit_machine(id, |spec| {
                Arc::make_mut(&mut spec.connection).address.rack = "r1".into();
            });
        }
        fixture.deliver();
        fixture.pass(HOUR);
        fixture
            .store
            .edit_policy(0, |spec| (spec.per, spec.in_flight) = (per, Some(CountOrPercent::Count(1))));
        fixture.deliver();
        fixture.cluster.cordon(0);
        fixture.deliver();
        fixture.pass(MINUTE);
        fixture.upgrade();
        fixture.pass(HOUR);
        let others = (1..4).filter(|id| fixture.host(*id).version(WEB) == Some(web(2))).count();
        assert_eq!(others, if expected == 0 { 0 } else { 3 });
        fixture.cluster.uncordon(0);
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!(on(&fixture, 2), 4);
    }
}

#[test]
fn no_day_has_more_than_its_limit_whoever_leads() {
    let mut fixture = Fixture::on_web_1(12, 12);
    fixture.store.edit_policy(0, |spec| spec.per_day = Some(CountOrPercent::Count(5)));
    fixture.deliver();
    fixture.upgrade();
    let start = fixture.now;
    let mut done = Vec::new();
    while fixture.now < start + HOUR * 24 {
        fixture.pass(HOUR * 3);
        fixture.restart();
        done.push(on(&fixture, 2));
    }
    assert_eq!((done[0], done.iter().max()), (5, Some(&5)), "{done:?}");
    fixture.pass(HOUR * 60);
    assert_eq!(on(&fixture, 2), 12);
    assert!(fixture.now > START);
}

/// Several policies with limits of different kinds: each is kept.
#[test]
fn each_of_several_policies_is_kept() {
    let mut fixture = with_pools();
    for id in 0..12 {
        fixture.store.edit_machine(id, |spec| {
            Arc::make_mut(&mut spec.connection).address.rack = format!("r{}", id % 3).into();
        });
    }
    fixture.store.edit_policy(0, |spec| {
        (spec.selector, spec.per_hour) = (blue(), Some(CountOrPercent::Count(2)));
    });
    fixture.store.edit_policy(1, |spec| spec.per_day = Some(CountOrPercent::Count(8)));
    fixture.store.edit_policy(2, |spec| {
        spec.per = Domain::Rack;
        spec.in_flight = Some(CountOrPercent::Count(1));
        spec.per_hour = Some(CountOrPercent::Count(3));
    });
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.upgrade();
    fixture.until_at_work(3);
    for _ in 0..20 {
        let _ = fixture.turn();
    }
    let racks: Vec<u32> = fixture.at_work().iter().map(|id| id % 3).collect();
    assert_eq!(racks.len(), 3, "one of each rack: {racks:?}");
    fixture.pass(HOUR * 20);
    assert_eq!(on(&fixture, 2), 8);
}
