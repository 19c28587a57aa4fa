//! What gates ask besides the machines: the metrics of the cluster, and whether pods start.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, course, record, resume, told};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::gate_check::{GateCheck, ProbePod, Query, Silence};
use seaworthy_model::node::Health;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::{OnFailure, Strategy};

const MINUTE: Duration = Duration::from_secs(60);

fn query() -> Arc<Query> {
    Arc::new(Query {
        namespace: "monitoring".into(),
        service: "prometheus".into(),
        port: 9090,
        tls: false,
        path_prefix: "".into(),
        expression: "web_errors > 0".into(),
    })
}

fn probe_pod() -> Arc<ProbePod> {
    Arc::new(ProbePod { image: "pause".into(), machines: 3, within: MINUTE * 2 })
}

/// Twenty machines on `web-1`, each with a Node. The next rollout goes to one, to a fifth, and to all.
fn fleet(edit: impl FnOnce(&mut Strategy)) -> Fixture {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.checks.series = Some(0);
    fixture.limit(20);
    let mut strategy = Strategy {
        batches: vec![Count(1), Percent(20)],
        first_bake: MINUTE * 30,
        bake: MINUTE * 10,
        ..Strategy::default()
    };
    edit(&mut strategy);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy));
    fixture.upgrade();
    fixture
}

fn updated(fixture: &Fixture) -> usize {
    fixture.web().iter().filter(|version| **version == Some(2)).count()
}

#[test]
fn a_query_that_finds_nothing_is_asked_once_for_each_gate() {
    let mut fixture = fleet(|strategy| strategy.query = Some(query()));
    fixture.pass(MINUTE * 29);
    assert_eq!((fixture.checks.asked, updated(&fixture)), (0, 1), "evidence is newer than the batch");
    fixture.pass(MINUTE * 2);
    assert_eq!((fixture.checks.asked, updated(&fixture)), (1, 4));
    fixture.pass(MINUTE * 60);
    assert_eq!((fixture.checks.asked, updated(&fixture)), (3, 20));
    assert!(record(&fixture).completed_at.is_some());
}

#[test]
fn a_query_that_finds_something_fails_the_gate() {
    let mut fixture = fleet(|strategy| {
        strategy.query = Some(query());
        strategy.on_failure = OnFailure::RollBack;
    });
    fixture.checks.series = Some(7);
    fixture.pass(MINUTE * 33);
    let failure = course(&fixture).failure.expect("the gate has failed");
    assert_eq!((failure.evidence.series, failure.evidence.wrong()), (7, 0));
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::RolledBack, 0));
}

/// A silent detector is no evidence.
#[test]
fn without_an_answer_the_gate_waits_and_says_why() {
    let mut fixture = fleet(|strategy| strategy.query = Some(query()));
    fixture.checks.series = None;
    fixture.pass(MINUTE * 90);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::GateInconclusive, 1));
    let Some(FleetDetail::Unanswered(_, GateCheck::Query, why)) = &told(&fixture).detail else {
        panic!("{:?}", told(&fixture).detail)
    };
    assert_eq!(*why, Silence::Told("no endpoints".into()));
    assert!(fixture.checks.asked >= 50, "it is asked again");
    let written = fixture.store.changes();
    fixture.pass(MINUTE * 30);
    assert_eq!(fixture.store.changes(), written, "what did not change is not written");
    fixture.checks.series = Some(0);
    fixture.pass(MINUTE * 2);
    assert_eq!((course(&fixture).batch, updated(&fixture)), (2, 4));
}

#[test]
fn people_may_let_a_rollout_go_on_whose_gate_has_no_answer() {
    let mut fixture = fleet(|strategy| strategy.query = Some(query()));
    fixture.checks.series = None;
    fixture.pass(MINUTE * 40);
    let batch = course(&fixture).batch;
    resume(&mut fixture, batch);
    fixture.pass(MINUTE * 2);
    assert_eq!(updated(&fixture), 4);
    fixture.pass(MINUTE * 60);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::GateInconclusive, 4));
}

#[test]
fn a_new_operator_asks_again() {
    let mut fixture = fleet(|strategy| strategy.query = Some(query()));
    fixture.checks.series = None;
    fixture.pass(MINUTE * 40);
    fixture.checks.series = Some(0);
    fixture.restart();
    fixture.pass(MINUTE);
    assert_eq!(updated(&fixture), 4);
}

#[test]
fn probe_pods_start_on_the_machines_that_were_changed_last() {
    let mut fixture = fleet(|strategy| strategy.probe_pod = Some(probe_pod()));
    fixture.pass(MINUTE * 31);
    assert_eq!((fixture.checks.probes.len(), updated(&fixture)), (1, 4), "one machine was changed");
    fixture.pass(MINUTE * 11);
    assert_eq!((fixture.checks.probes.len(), updated(&fixture)), (4, 20), "three of four");
    fixture.pass(MINUTE * 11);
    assert!(record(&fixture).completed_at.is_some());
}

#[test]
fn no_pod_starts_and_the_gate_fails() {
    let mut fixture = fleet(|strategy| strategy.probe_pod = Some(probe_pod()));
    fixture.pass(MINUTE * 31);
    fixture.checks.stuck = (0..20).collect();
    fixture.pass(MINUTE * 14);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::GateFailed, 4));
    let evidence = course(&fixture).failure.expect("the gate has failed").evidence;
    assert_eq!((evidence.probes, evidence.unstarted, evidence.wrong()), (3, 3, 0));
}

/// Chance may keep a single pod of several from starting: an image that cannot be pulled just now. Fresh pods tell.
#[test]
fn one_pod_of_several_that_does_not_start_is_doubt() {
    let mut fixture = fleet(|strategy| {
        strategy.probe_pod = Some(Arc::new(ProbePod { machines: 4, ..ProbePod::clone(&probe_pod()) }));
    });
    fixture.pass(MINUTE * 31);
    assert_eq!(updated(&fixture), 4);
    let stuck = (0..).zip(fixture.web()).find(|(_, version)| *version == Some(2)).map(|(id, _)| id);
    fixture.checks.stuck = stuck.into_iter().collect();
    fixture.pass(MINUTE * 13);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::GateInconclusive, 4));
    let Some(FleetDetail::Gate(_, evidence)) = &told(&fixture).detail else {
        panic!("{:?}", told(&fixture).detail)
    };
    assert_eq!((evidence.probes, evidence.unstarted), (4, 1));
    fixture.checks.stuck.clear();
    fixture.pass(MINUTE * 4);
    assert_eq!(updated(&fixture), 20);
}

/// A Node that goes down just then says nothing of the release.
#[test]
fn a_node_that_goes_down_meanwhile_is_doubt() {
    let mut fixture = fleet(|strategy| {
        strategy.probe_pod = Some(probe_pod());
        strategy.tolerance = Some(Count(1000));
    });
    fixture.pass(MINUTE * 31);
    fixture.checks.stuck = (0..20).collect();
    while fixture.checks.probes.len() < 4 {
        fixture.pass(Duration::from_secs(5));
    }
    let probed: Vec<u32> = fixture.checks.probes.values().copied().collect();
    let report = |fixture: &mut Fixture, health| {
        let now = fixture.now;
        probed.iter().for_each(|id| fixture.cluster.report(*id, health, now));
        fixture.deliver();
    };
    report(&mut fixture, Health::Unhealthy);
    fixture.pass(MINUTE * 3);
    assert_eq!((course(&fixture).failure, told(&fixture).reason), (None, FleetReason::GateInconclusive));
    report(&mut fixture, Health::Healthy);
    fixture.checks.stuck.clear();
    fixture.pass(MINUTE * 5);
    assert_eq!(updated(&fixture), 20);
}

/// Each reply that is lost takes time. A pod has its time from its own creation on.
#[test]
fn a_pod_that_was_created_late_has_its_time() {
    let mut fixture = fleet(|strategy| strategy.probe_pod = Some(probe_pod()));
    fixture.pass(MINUTE * 31);
    fixture.pass(MINUTE * 10 - Duration::from_secs(20));
    fixture.lost_node_replies = 30;
    fixture.checks.stuck = (0..20).collect();
    fixture.pass(MINUTE * 3);
    fixture.checks.stuck.clear();
    fixture.pass(MINUTE * 2);
    assert_eq!((course(&fixture).failure, updated(&fixture)), (None, 20));
}

/// A reply that is lost leaves a Job behind, which is not taken for another one.
#[test]
fn a_lost_reply_starts_no_second_pod() {
    let mut fixture = fleet(|strategy| strategy.probe_pod = Some(probe_pod()));
    fixture.pass(MINUTE * 29);
    fixture.lost_node_replies = 1;
    fixture.pass(MINUTE * 4);
    assert_eq!((fixture.checks.probes.len(), updated(&fixture)), (1, 4));
}
