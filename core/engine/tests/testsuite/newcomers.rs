//! Machines that come to a set after its rollout was complete.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, at_once, set_of, want, web};
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::node::Health;
use seaworthy_model::package_version::{End, FleetReason, Rollout};
use seaworthy_model::quantity::CountOrPercent::{self, Percent};
use seaworthy_model::strategy::{OnFailure, Strategy};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// So many machines on `web-1`, of which the first ones follow a set to `web-2`. It watches its batches for an hour.
fn fleet(machines: u32, members: u32) -> Fixture {
    with_set(Fixture::on_web_1(machines, machines), members, None)
}

/// The same 24 machines and 20 members, each with a Node.
fn fleet_with_nodes() -> Fixture {
    let mut fixture = Fixture::with_pods(24, 0);
    fixture.limit(24);
    with_set(fixture, 20, Some(Percent(10)))
}

fn with_set(mut fixture: Fixture, members: u32, tolerance: Option<CountOrPercent>) -> Fixture {
    label(&mut fixture, 0..members);
    let strategy =
        Strategy { batches: vec![Percent(30)], first_bake: HOUR, bake: HOUR, tolerance, ..at_once() };
    fixture.apply_set(0, "blue", SetSpec { strategy, ..set_of(&["blue"], vec![want(WEB, web(2))]) });
    fixture.pass(4 * HOUR);
    assert!(record(&fixture).completed_at.is_some(), "{:?}", fixture.set(0).status.conditions);
    fixture
}

/// The set lets a machine catch up that nobody was granted for yet.
fn reopen(fixture: &mut Fixture) {
    label(fixture, 20..21);
    while record(fixture).completed_at.is_some() {
        let _ = fixture.turn();
        fixture.execute_one(0);
    }
}

fn fall(fixture: &mut Fixture, id: u32) {
    let now = fixture.now;
    fixture.cluster.report(id, Health::Unhealthy, now);
    fixture.deliver();
}

fn label(fixture: &mut Fixture, machines: core::ops::Range<u32>) {
    machines.for_each(|id| fixture.store.label_machine(id, ("pool", "blue")));
    fixture.deliver();
}

fn record(fixture: &Fixture) -> &Rollout {
    &fixture.set(0).status.rollouts[0]
}

fn spec(fixture: &Fixture) -> SetSpec {
    SetSpec::clone(fixture.set(0).spec.as_ref().expect("it is valid"))
}

fn reason(fixture: &Fixture) -> FleetReason {
    fixture.set(0).status.conditions[0].reason
}

fn updated(fixture: &Fixture) -> usize {
    fixture.web().iter().filter(|version| **version == Some(2)).count()
}

/// The set is complete again only after the one that came was watched. Who comes meanwhile waits for that.
#[test]
fn a_machine_that_comes_is_a_batch_of_its_own() {
    let mut fixture = fleet(24, 20);
    label(&mut fixture, 20..21);
    fixture.pass(10 * MINUTE);
    assert_eq!((updated(&fixture), reason(&fixture)), (21, FleetReason::Baking));
    label(&mut fixture, 21..22);
    fixture.pass(10 * MINUTE);
    assert_eq!((updated(&fixture), reason(&fixture)), (21, FleetReason::Baking));
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!(updated(&fixture), 21, "the next operator waits as well");
    fixture.pass(HOUR);
    assert_eq!((updated(&fixture), reason(&fixture)), (22, FleetReason::Baking));
    fixture.pass(HOUR + MINUTE);
    assert_eq!(reason(&fixture), FleetReason::AllUpdated);
    assert!(record(&fixture).completed_at.is_some());
}

#[test]
fn a_machine_that_comes_and_fails_keeps_the_next_ones_out() {
    let mut fixture = fleet(24, 20);
    fixture.host(20).broken = vec![web(2)];
    label(&mut fixture, 20..21);
    fixture.pass(10 * MINUTE);
    assert_eq!(reason(&fixture), FleetReason::GateFailed);
    label(&mut fixture, 21..22);
    fixture.pass(6 * HOUR);
    assert_eq!((updated(&fixture), reason(&fixture)), (20, FleetReason::GateFailed));
}

/// Labels come one by one. The first one begins a catch-up batch, and many follow before it is over: they go through all
/// batches, and the first batch is watched in full.
#[test]
fn many_that_come_one_by_one_go_through_all_batches() {
    for between in [Duration::ZERO, Duration::from_secs(1), 5 * MINUTE] {
        let mut fixture = fleet(40, 10);
        for id in 10..40 {
            fixture.host(id).broken = vec![web(2)];
            label(&mut fixture, id..id + 1);
            fixture.pass(between);
        }
        fixture.pass(12 * HOUR);
        let failed = fixture.web().iter().skip(10).filter(|version| **version != Some(1)).count();
        assert_eq!(failed, 0, "they fell back");
        let failed = record(&fixture).progress.failed;
        assert!(failed <= 12, "{failed} machines were harmed, and a first batch is 12");
        assert_eq!(reason(&fixture), FleetReason::GateFailed);
    }
}

/// What comes in one go while nothing was granted yet is not watched for nothing.
#[test]
fn a_catch_up_batch_without_machines_is_not_watched() {
    let mut fixture = fleet(40, 10);
    label(&mut fixture, 10..11);
    let began = fixture.now;
    while record(&fixture).completed_at.is_some() {
        let _ = fixture.turn();
        fixture.execute_one(0);
    }
    label(&mut fixture, 11..40);
    fixture.pass(10 * MINUTE);
    assert!(record(&fixture).started_at >= began.whole_seconds());
    let updated = updated(&fixture);
    assert!(
        (12..=22).contains(&updated),
        "the first batch is 12 machines, with some of the 10 among them: {updated}"
    );
}

/// A machine that catches up does not make the others forget what they had, and what works.
#[test]
fn a_rollout_stays_proven_while_a_machine_catches_up() {
    for version in [1, 3] {
        let mut fixture = fleet(24, 20);
        label(&mut fixture, 20..21);
        fixture.pass(10 * MINUTE);
        assert_eq!(reason(&fixture), FleetReason::Baking);
        let spec = spec(&fixture);
        fixture.apply_set(0, "blue", SetSpec { components: vec![want(WEB, web(version))], ..spec });
        fixture.pass(5 * MINUTE);
        let record = record(&fixture);
        if version == 1 {
            assert_eq!((updated(&fixture), record.course.as_ref()), (0, None), "the way back has no gates");
        } else {
            assert_eq!(record.from, Some(want(WEB, web(2)).want));
        }
        let past = fixture.set(0).status.history.last().expect("it was replaced");
        assert_eq!(past.end, End::Completed);
    }
}

/// Those that catch up came from something else than the others.
#[test]
fn nobody_falls_back_because_of_a_machine_that_catches_up() {
    let mut fixture = fleet(24, 20);
    let mut spec = spec(&fixture);
    spec.strategy.on_failure = OnFailure::RollBack;
    fixture.apply_set(0, "blue", spec);
    fixture.host(20).broken = vec![web(2)];
    label(&mut fixture, 20..21);
    fixture.pass(2 * HOUR);
    assert_eq!((updated(&fixture), reason(&fixture)), (20, FleetReason::GateFailed));
}

#[test]
fn what_befalls_others_before_a_machine_catches_up_is_not_charged_to_the_release() {
    let mut fixture = fleet_with_nodes();
    reopen(&mut fixture);
    fall(&mut fixture, 3);
    fall(&mut fixture, 4);
    fixture.pass(10 * MINUTE);
    assert_eq!((updated(&fixture), reason(&fixture)), (21, FleetReason::Baking));
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::AllUpdated);
}

/// The next operator does not know who had the version before, so two that fall are a reason for doubt only.
#[test]
fn the_next_operator_judges_those_that_had_it_before_as_well() {
    let mut fixture = fleet_with_nodes();
    label(&mut fixture, 20..21);
    fixture.pass(10 * MINUTE);
    fixture.restart();
    fixture.pass(MINUTE);
    fall(&mut fixture, 3);
    fall(&mut fixture, 4);
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::GateInconclusive);
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::AllUpdated);
}

/// The gates before have tolerated what had failed by then, and it takes no place in the batch.
#[test]
fn what_failed_before_does_not_hinder_those_that_catch_up() {
    for (members, fails) in [(20, 12), (10, 4)] {
        let mut fixture = Fixture::on_web_1(24, 24);
        fixture.host(fails).broken = vec![web(2)];
        let mut fixture = with_set(fixture, members, Some(Percent(20)));
        assert_eq!(record(&fixture).progress.failed, 1);
        label(&mut fixture, members..members + 1);
        fixture.pass(10 * MINUTE);
        assert_eq!((updated(&fixture), reason(&fixture)), (members as usize, FleetReason::Baking));
        fixture.host(members + 1).broken = vec![web(2)];
        label(&mut fixture, members + 1..members + 2);
        fixture.pass(2 * HOUR);
        assert_eq!(reason(&fixture), FleetReason::GateFailed);
    }
}
