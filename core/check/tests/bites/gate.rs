//! What `gate` sees.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::component::Disruption;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::gate_check::Query;
use seaworthy_model::package_version::{FleetReason, Rollout};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Turn;
use seaworthy_model::strategy::{Course, Evidence, GateFailure, OnFailure, Strategy};

use super::fixture::{Fixture, WEB, want, web};
use super::{broken, is_admission, turn_with, with_rollouts};

const BAKE: Duration = Duration::from_secs(600);

/// A rollout in which the first of ten machines is done, and the turn that writes that.
fn about_to_bake() -> (Fixture, Turn) {
    let (mut fixture, is_done) = under_way(None);
    let turn = turn_with(&mut fixture, is_done);
    (fixture, turn)
}

/// A rollout whose gates ask this, and whether an action writes that the first of ten machines is done.
fn under_way(query: Option<Arc<Query>>) -> (Fixture, fn(&Action) -> bool) {
    let mut fixture = Fixture::with_pods(10, 0);
    fixture.store.edit_fleet(|spec| {
        spec.strategy = Some(Strategy {
            batches: vec![CountOrPercent::Count(1)],
            first_bake: BAKE,
            bake: BAKE,
            tolerance: None,
            on_failure: OnFailure::Pause,
            query,
            ..Strategy::default()
        });
    });
    fixture.store.defaults(vec![want(WEB, web(2))]);
    let is_done: fn(&Action) -> bool = |action| {
        let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
        let courses = status.rollouts.iter().filter_map(|rollout| rollout.course.as_ref());
        courses.into_iter().any(|course| course.done_at.is_some())
    };
    (fixture, is_done)
}

fn with_course(tamper: impl FnOnce(&mut Course)) -> impl FnOnce(&mut Action) {
    with_rollouts(|rollouts| {
        if let Some(course) = rollouts[0].course.as_mut() {
            tamper(course);
        }
    })
}

#[test]
fn gate_sees_a_batch_that_was_not_watched() {
    let (fixture, turn) = about_to_bake();
    assert!(broken(&fixture, turn.clone(), is_admission, |_| {}).is_empty());
    let everybody = with_rollouts(|rollouts| rollouts[0].admitted_below = Rollout::EVERYBODY);
    assert_eq!(broken(&fixture, turn, is_admission, everybody), ["gate"]);
}

#[test]
fn gate_sees_a_rollout_that_is_reverted_unasked_and_a_course_that_is_lost() {
    let (fixture, turn) = about_to_bake();
    let at = fixture.now;
    let failure = GateFailure { at, evidence: Evidence::default() };
    let reverted = with_course(|course| (course.failure, course.reverted_at) = (Some(failure), Some(at)));
    assert_eq!(broken(&fixture, turn.clone(), is_admission, reverted), ["gate"]);
    let lost = with_rollouts(|rollouts| rollouts[0].course = None);
    assert_eq!(broken(&fixture, turn, is_admission, lost), ["gate"]);
}

#[test]
fn gate_sees_a_batch_without_the_answers_that_its_strategy_asks_for() {
    let query = Query {
        namespace: "monitoring".into(),
        service: "prometheus".into(),
        port: 9090,
        tls: false,
        path_prefix: "".into(),
        expression: "up == 0".into(),
    };
    let (mut fixture, _) = under_way(Some(Arc::new(query)));
    fixture.pass(BAKE);
    // Nobody answers.
    let is_in_doubt = |action: &Action| {
        let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
        status.conditions.iter().any(|told| told.reason == FleetReason::GateInconclusive)
    };
    let turn = loop {
        fixture.now = fixture.now + Duration::from_secs(1);
        let turn = fixture.turn();
        if turn.actions.iter().any(is_in_doubt) {
            break turn;
        }
        fixture.execute();
    };
    assert!(broken(&fixture, turn.clone(), is_admission, |_| {}).is_empty());
    let everybody = with_rollouts(|rollouts| rollouts[0].admitted_below = Rollout::EVERYBODY);
    assert_eq!(broken(&fixture, turn, is_admission, everybody), ["gate"]);
}

#[test]
fn workloads_sees_a_drain_that_the_strategy_does_not_allow() {
    let (mut fixture, turn) = about_to_bake();
    fixture.store.edit_fleet(|spec| {
        spec.strategy = spec.strategy.take().map(|it| Strategy { at_most: Some(Disruption::Restart), ..it });
    });
    fixture.deliver();
    assert!(!broken(&fixture, turn.clone(), is_admission, |_| {}).contains(&"workloads"));
    let world = fixture.engine.world();
    let key = world.fleet.rollouts[0].key;
    let ranks = world.machines().filter_map(|(_, machine)| Some(key.rank(machine.uid()?)));
    let mut ranks: Vec<u32> = ranks.collect();
    ranks.sort_unstable();
    let everybody = with_rollouts(|rollouts| rollouts[0].granted = Some(ranks));
    assert!(broken(&fixture, turn, is_admission, everybody).contains(&"workloads"));
}
