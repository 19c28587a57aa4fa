//! Nodes that are next in line to be drained: pods are steered away from them.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, want, web};
use seaworthy_model::attributes::{NEXT_TAINT, TaintEffect};
use seaworthy_model::component::Disruption;
use seaworthy_model::pod::DrainPolicy;
use seaworthy_model::quantity::CountOrPercent::Percent;
use seaworthy_model::strategy::Strategy;

const MINUTE: Duration = Duration::from_secs(60);

/// Ten machines on `web-1` with two pods each. One may be unavailable. A rollout goes to half of them first.
fn fleet(steer: bool) -> Fixture {
    let mut fixture = Fixture::with_pods(10, 2);
    fixture.store.edit_fleet(|spec| {
        spec.drain = DrainPolicy { steer, ..DrainPolicy::default() };
        let bake = MINUTE * 10;
        spec.strategy =
            Some(Strategy { batches: vec![Percent(50)], first_bake: bake, bake, ..Strategy::default() });
    });
    fixture.deliver();
    fixture
}

/// The machines whose Nodes have the taint.
fn next(fixture: &Fixture) -> Vec<u32> {
    let nodes = fixture.cluster.nodes.iter();
    let has_it = nodes.filter(|(_, node)| {
        node.attributes
            .taints
            .iter()
            .any(|taint| &*taint.key == NEXT_TAINT && taint.effect == TaintEffect::PreferNoSchedule)
    });
    has_it.map(|(id, _)| *id).collect()
}

fn updated(fixture: &Fixture) -> Vec<u32> {
    (0..).zip(fixture.web()).filter(|(_, version)| *version == Some(2)).map(|(id, _)| id).collect()
}

#[test]
fn pods_are_steered_away_from_the_machines_of_a_batch_until_these_are_done() {
    let mut fixture = fleet(true);
    fixture.cluster.evictions_left = Some(2);
    fixture.upgrade();
    fixture.pass(MINUTE * 2);
    // The second one waits for a budget; its batch is next in line, and the other half is not.
    let (done, marked) = (updated(&fixture), next(&fixture));
    assert_eq!((done.len(), marked.len()), (1, 4), "{done:?} {marked:?}");
    assert!(marked.iter().all(|id| !done.contains(id)));
    fixture.cluster.evictions_left = None;
    fixture.pass(MINUTE * 8);
    assert_eq!((updated(&fixture).len(), next(&fixture)), (5, vec![]), "they are watched");
    fixture.pass(MINUTE * 30);
    assert_eq!((updated(&fixture).len(), next(&fixture)), (10, vec![]));
}

/// What people are told of a machine does not depend on it: a write of its status would cost as much again.
#[test]
fn nothing_is_told_of_it() {
    let mut fixture = fleet(true);
    fixture.cluster.evictions_left = Some(0);
    let statuses = |fixture: &Fixture| -> Vec<_> {
        fixture.store.machines.values().map(|machine| machine.status.conditions.clone()).collect()
    };
    fixture.upgrade();
    fixture.pass(MINUTE * 2);
    let marked = next(&fixture);
    assert_eq!(marked.len(), 5);
    let before = statuses(&fixture);
    fixture.store.edit_fleet(|spec| spec.drain.steer = false);
    fixture.deliver();
    fixture.pass(MINUTE * 2);
    assert_eq!(next(&fixture), [], "without steering, the taint goes");
    assert_eq!(statuses(&fixture), before);
}

#[test]
fn without_steering_and_without_a_drain_there_is_no_taint() {
    let mut fixture = fleet(false);
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(MINUTE * 2);
    assert_eq!(next(&fixture), []);

    let mut fixture = fleet(true);
    for version in fixture.store.versions.values_mut() {
        std::sync::Arc::make_mut(version.spec.as_mut().unwrap()).disruption = Disruption::Restart;
    }
    fixture.restart();
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(1));
    assert_eq!(next(&fixture), []);
}

/// A new operator finds the taint on the Node, and takes it away when its machine is done.
#[test]
fn a_new_operator_takes_the_taint_of_its_predecessor_away() {
    let mut fixture = fleet(true);
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(MINUTE * 2);
    assert_eq!(next(&fixture).len(), 5);
    fixture.cluster.evictions_left = None;
    fixture.restart();
    fixture.pass(MINUTE * 60);
    assert_eq!((updated(&fixture).len(), next(&fixture)), (10, vec![]));
}

/// The taint and the cordon of a Node are written for themselves: a write of one that has failed does not hold up the other.
#[test]
fn lost_replies_leave_no_taint_behind() {
    let mut fixture = fleet(true);
    fixture.upgrade();
    for _ in 0..30 {
        fixture.lost_node_replies += 2;
        fixture.pass(MINUTE);
    }
    fixture.lost_node_replies = 0;
    fixture.pass(MINUTE * 60);
    assert_eq!((updated(&fixture).len(), next(&fixture)), (10, vec![]));
}
