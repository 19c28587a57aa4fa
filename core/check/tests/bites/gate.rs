//! What `gate` sees.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Disruption;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::gate_check::Query;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
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
fn gate_sees_a_rollout_that_is_complete_before_its_machines_were_watched() {
    let (fixture, turn) = about_to_bake();
    let complete = with_rollouts(|rollouts| rollouts[0].completed_at = Some(rollouts[0].started_at));
    assert!(broken(&fixture, turn, is_admission, complete).contains(&"gate"));
}

/// One machine in twenty comes to a rollout that is complete, and two more while it is watched.
#[test]
fn gate_sees_a_machine_that_joins_a_catch_up_batch_too_late() {
    let mut fixture = Fixture::with_pods(20, 0);
    let late = |fixture: &mut Fixture, machines: Range<u32>, is_paused: bool| {
        machines.for_each(|id| fixture.store.edit_machine(id, |spec| spec.paused = is_paused));
        fixture.deliver();
    };
    late(&mut fixture, 0..3, true);
    fixture.store.edit_fleet(|spec| {
        let batches = vec![CountOrPercent::Percent(100)];
        spec.strategy = Some(Strategy { batches, first_bake: BAKE, bake: 10 * BAKE, ..Strategy::default() });
    });
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(4 * BAKE);
    assert!(fixture.engine.world().fleet.rollouts[0].record.completed_at.is_some());
    late(&mut fixture, 0..1, false);
    fixture.pass(BAKE);
    late(&mut fixture, 1..3, false);
    let is_done = |action: &Action| matches!(action.effect, Effect::WritePackageVersionStatus(_));
    let (ranks, turn) = {
        fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(7));
        let turn = turn_with(&mut fixture, is_done);
        let state = &fixture.engine.world().fleet.rollouts[0];
        let ranks: Vec<u32> = state.waiting.iter().map(|(rank, _)| *rank).collect();
        (ranks, turn)
    };
    assert_eq!(ranks.len(), 2);
    let granted = with_rollouts(|rollouts| rollouts[0].granted = Some(ranks));
    assert!(broken(&fixture, turn, is_done, granted).contains(&"gate"));
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

/// A rollout whose artefact no host can fetch, and the first turn with such an action.
fn without_artefact(wanted: fn(&Action) -> bool) -> (Fixture, Turn) {
    let (mut fixture, _) = under_way(None);
    for host in fixture.hosts.values_mut() {
        let gone = Cause::new(CauseKind::DownloadFailed, "http status: 404");
        host.unfetched = Some(Outcome::Retryable(gone));
    }
    let turn = turn_with(&mut fixture, wanted);
    (fixture, turn)
}

fn is_fetch(action: &Action) -> bool {
    matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Fetch { .. }))
}

#[test]
fn gate_sees_a_first_batch_whose_artefact_is_not_to_be_had() {
    let is_unavailable = |action: &Action| {
        let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
        status.conditions.iter().any(|told| told.reason == FleetReason::ArtefactUnavailable)
    };
    let (fixture, turn) = without_artefact(is_unavailable);
    assert!(broken(&fixture, turn.clone(), is_unavailable, |_| {}).is_empty());
    let everybody = with_rollouts(|rollouts| rollouts[0].admitted_below = Rollout::EVERYBODY);
    assert_eq!(broken(&fixture, turn, is_unavailable, everybody), ["gate"]);
}

#[test]
fn gate_sees_a_first_batch_before_anybody_was_asked() {
    let (mut fixture, _) = under_way(None);
    // The record of the new rollout is written, and was not seen yet.
    let is_new = |action: &Action| {
        let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
        status.rollouts.iter().any(|rollout| rollout.course.is_some())
    };
    let turn = turn_with(&mut fixture, is_new);
    fixture.execute();
    fixture.deliver();
    assert!(fixture.engine.world().fleet.rollouts[0].is_before_first_batch());
    assert!(fixture.engine.world().fleet.rollouts[0].present_sample().is_none());
    let everybody = with_rollouts(|rollouts| rollouts[0].admitted_below = Rollout::EVERYBODY);
    assert!(broken(&fixture, turn, is_new, everybody).contains(&"gate"));
}

#[test]
fn a_host_that_nobody_asks_fetches_nothing() {
    let (fixture, turn) = without_artefact(is_fetch);
    assert!(broken(&fixture, turn.clone(), is_fetch, |_| {}).is_empty());
    let asked = |id: u32| turn.actions.iter().any(|action| action.target == Target::Host(MachineId(id)));
    let other = (0..10).find(|id| !asked(*id)).map(MachineId).expect("five of ten are asked");
    let tamper = |action: &mut Action| action.target = Target::Host(other);
    assert!(broken(&fixture, turn.clone(), is_fetch, tamper).contains(&"gate"));
}

/// It writes to the disk of the host.
#[test]
fn pause_sees_a_paused_machine_that_is_to_fetch() {
    let (mut fixture, turn) = without_artefact(is_fetch);
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    assert!(broken(&fixture, turn, is_fetch, |_| {}).contains(&"pause"));
}

#[test]
fn exclusivity_sees_a_machine_without_our_finalizer_that_is_to_fetch() {
    let (mut fixture, turn) = without_artefact(is_fetch);
    for id in 0..10 {
        fixture.store.edit_machine(id, |_| {});
        let machine = fixture.store.machines.get_mut(&id).expect("a machine");
        machine.meta.finalizers = Arc::default();
    }
    fixture.deliver();
    assert!(broken(&fixture, turn, is_fetch, |_| {}).contains(&"exclusivity"));
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
