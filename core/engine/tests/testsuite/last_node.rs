//! A fleet does not drain itself to a standstill: the last Node that takes pods waits for those that are being drained.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, want, web};
use seaworthy_model::host::Drift;
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::pod::DrainPolicy;
use seaworthy_model::report::{Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Machines that could all be worked on at once, and whose pods cannot be evicted yet. Drains have no timeout.
fn fleet(machines: u32) -> Fixture {
    let mut fixture = Fixture::with_pods(machines, 1);
    fixture.limit(machines);
    fixture
        .store
        .edit_fleet(|spec| spec.drain = DrainPolicy { timeout_seconds: 0, ..DrainPolicy::default() });
    fixture.cluster.evictions_left = Some(0);
    fixture
}

fn upgrade(fixture: &mut Fixture) {
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
}

/// The machines whose Nodes we keep pods off.
fn emptied(fixture: &Fixture) -> Vec<u32> {
    fixture.cluster.nodes.keys().copied().filter(|id| fixture.cluster.is_marked(*id)).collect()
}

fn blocker(fixture: &Fixture, id: u32) -> Option<Blocker> {
    fixture.engine.world().blocker(Subject::Machine(MachineId(id)))
}

#[test]
fn one_node_is_left_to_the_pods_of_the_others() {
    let mut fixture = fleet(3);
    upgrade(&mut fixture);
    fixture.pass(10 * MINUTE);
    assert_eq!(emptied(&fixture).len(), 2);
    let last = (0..3).find(|id| !emptied(&fixture).contains(id)).unwrap();
    assert_eq!(blocker(&fixture, last), Some(Blocker::LastSchedulableNode { emptied: 2 }));
    let in_sync = fixture.store.machines[&last].status.condition(ConditionKind::InSync).unwrap();
    assert_eq!(in_sync.reason, Reason::LastSchedulableNode);
    assert_eq!(fixture.engine.world().occupied(), 2, "it holds no slot meanwhile");
    fixture.cluster.evictions_left = None;
    fixture.pass(10 * MINUTE);
    assert_eq!((fixture.web(), emptied(&fixture)), (vec![Some(2); 3], vec![]));
}

/// The service of the one that waits has stopped. It is started at once, and the Machine does not say by turns that it is
/// repaired and that it waits.
#[test]
fn what_stops_is_started_while_its_upgrade_waits_for_other_nodes() {
    let mut fixture = fleet(3);
    upgrade(&mut fixture);
    fixture.pass(10 * MINUTE);
    let last = (0..3).find(|id| !emptied(&fixture).contains(id)).unwrap();
    fixture.host(last).facts.components[0].drift = Drift::NOT_RUNNING;
    fixture.pass(25 * HOUR);
    let installed = &fixture.host(last).facts.components[0];
    assert_eq!((installed.drift.is_none(), fixture.web()[last as usize]), (true, Some(1)));
    assert_eq!(blocker(&fixture, last), Some(Blocker::LastSchedulableNode { emptied: 2 }));
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2); 3]);
}

#[test]
fn whoever_is_alone_does_not_wait() {
    let mut fixture = fleet(1);
    fixture.cluster.evictions_left = None;
    upgrade(&mut fixture);
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
}

#[test]
fn those_that_go_all_at_once_go_one_after_the_other() {
    let mut fixture = fleet(2);
    for id in 0..2 {
        fixture.store.delete_machine(id);
    }
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    assert_eq!(emptied(&fixture).len(), 1);
    fixture.cluster.evictions_left = None;
    fixture.pass(10 * MINUTE);
    assert!(fixture.cluster.nodes.is_empty() && fixture.store.machines.is_empty());
}

/// A person may cordon a Node at any time, and an order of a predecessor may arrive late.
#[test]
fn when_no_node_is_left_all_the_same_they_give_way_to_one() {
    for restarts in [false, true] {
        let mut fixture = fleet(3);
        upgrade(&mut fixture);
        fixture.pass(10 * MINUTE);
        assert_eq!(emptied(&fixture).len(), 2);
        let last = (0..3).find(|id| !emptied(&fixture).contains(id)).unwrap();
        fixture.store.edit_machine(last, |spec| spec.paused = true);
        fixture.cluster.cordon(last);
        fixture.deliver();
        if restarts {
            fixture.restart();
        }
        fixture.pass(10 * MINUTE);
        assert_eq!(emptied(&fixture).len(), 1, "restarts: {restarts}");
        fixture.cluster.evictions_left = None;
        fixture.store.edit_machine(last, |spec| spec.paused = false);
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!((fixture.web(), emptied(&fixture)), (vec![Some(2); 3], vec![]));
        assert!(fixture.cluster.is_unschedulable(last), "it is still theirs");
    }
}
