//! What is recorded of a failed release, and how many machines may get it before the failure is known.

use std::time::Duration;

use crate::fixture::{DNS, Fixture, START, WEB, is_change, picture, want, web};
use seaworthy_engine::Standing;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Architecture;
use seaworthy_model::event::{Event, Observation, Outcome, Receipt};
use seaworthy_model::host::{Drift, InstalledComponent, OperationReport, OperationState};
use seaworthy_model::id::{MachineId, Uid, VersionId};
use seaworthy_model::machine::Installed;
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::quantity::CountOrPercent;

const HOUR: Duration = Duration::from_secs(3600);

fn limit(fixture: &mut Fixture, unavailable: u32, failures: u32) {
    fixture.store.edit_fleet(|spec| {
        spec.max_unavailable = CountOrPercent::Count(unavailable);
        spec.max_failures = CountOrPercent::Count(failures);
    });
}

fn wish(fixture: &mut Fixture, version: u32) {
    fixture.store.defaults(vec![want(WEB, web(version))]);
    fixture.deliver();
}

/// A fleet on `web-1`, of which all may be at work and this many may fail; the other versions fail on it.
fn on_web_1(machines: u32, failures: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    limit(&mut fixture, machines, failures);
    wish(&mut fixture, 1);
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    for host in fixture.hosts.values_mut() {
        host.broken = vec![web(2), web(3)];
    }
    fixture
}

/// Turns and executions until a change of a host is the first pending order.
fn until_work(fixture: &mut Fixture) -> MachineId {
    for _ in 0..40 {
        let _ = fixture.turn();
        if let Some(place) = fixture.pending.iter().position(is_change) {
            let order = fixture.pending.remove(place);
            fixture.pending.insert(0, order);
            let started = fixture.engine.world().in_flight().get(&fixture.pending[0].id).map(|of| of.subject);
            let Some(seaworthy_model::report::Subject::Machine(id)) = started else { panic!("{started:?}") };
            return id;
        }
        fixture.execute();
    }
    panic!("nothing is changed");
}

/// Hosts whose last operation was to install this version.
fn tried(fixture: &Fixture, version: u32) -> usize {
    let reports = fixture.hosts.values().filter_map(|host| host.facts.operation.as_ref());
    let versions = reports.filter_map(|report| report.release.map(|release| release.version));
    versions.filter(|tried| *tried == web(version)).count()
}

#[test]
fn what_is_in_its_place_before_it_is_probed_is_not_recorded() {
    let mut fixture = on_web_1(4, 1);
    wish(&mut fixture, 2);
    let lost = until_work(&mut fixture).0;
    let action = fixture.pending.remove(0);
    let _failed = fixture.outcome(&action);
    let facts = &mut fixture.host(lost).facts;
    let report = facts.operation.clone().unwrap();
    let Installed { version, release } = report.release.unwrap();
    let mut swapped = facts.clone();
    let drift = Drift::NOT_RUNNING;
    swapped.components = vec![InstalledComponent { component: WEB, version, release, drift, restarts: None }];
    swapped.operation = Some(OperationReport { state: OperationState::Running, ..report });
    fixture.engine.observe(Event::Finished { action: action.id, outcome: Outcome::Unknown });
    let no_connection = Outcome::Retryable(Cause::new(CauseKind::ConnectionFailed, "it is down"));
    let mut outcomes = vec![no_connection; 400];
    outcomes.push(Outcome::Done(Receipt::Host(Box::new(swapped))));
    fixture.scripted.insert(lost, outcomes);
    fixture.pass(HOUR);
    let recorded = fixture.store.machines[&lost].status.component(WEB).unwrap().installed;
    assert_eq!(recorded.map(|installed| installed.version), Some(web(1)));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(tried(&fixture, 2), 1, "it may have failed where it was lost");
}

#[test]
fn a_failure_that_nobody_recorded_is_read_from_the_host() {
    let mut fixture = on_web_1(4, 1);
    for machine in 0..4 {
        fixture.store.edit_machine(machine, |_| ());
    }
    wish(&mut fixture, 2);
    for _ in 0..3 {
        until_work(&mut fixture);
        let action = fixture.pending.remove(0);
        let _unheard = fixture.outcome(&action);
        fixture.restart();
        fixture.pass(HOUR);
        assert_eq!(tried(&fixture, 2), 1, "{:?}", fixture.web());
        for machine in 0..4 {
            fixture.host(machine).facts.operation = None;
            // An edit of a Machine asks for another try.
            fixture.store.edit_machine(machine, |_| ());
        }
        fixture.deliver();
    }
}

#[test]
fn whoever_asks_for_another_try_in_the_middle_of_one_gets_it() {
    for is_heard in [true, false] {
        let mut fixture = on_web_1(1, 1);
        wish(&mut fixture, 2);
        until_work(&mut fixture);
        let action = fixture.pending.remove(0);
        let failed = fixture.outcome(&action);
        fixture.store.edit_machine(0, |_| ());
        fixture.deliver();
        let outcome = if is_heard { failed } else { Outcome::Unknown };
        fixture.engine.observe(Event::Finished { action: action.id, outcome });
        fixture.host(0).broken.clear();
        fixture.pass(HOUR);
        assert_eq!(fixture.web(), [Some(2)], "{is_heard}");
    }
}

#[test]
fn a_release_that_got_back_after_another_failed_proves_nothing() {
    let mut fixture = on_web_1(3, 1);
    wish(&mut fixture, 2);
    fixture.pass(HOUR);
    assert_eq!(tried(&fixture, 2), 1);
    // As after the failure of a component that cannot be rolled back: the failed release stays.
    let sick = (0..3)
        .find(|id| fixture.host(*id).facts.operation.as_ref().unwrap().release.unwrap().version == web(2));
    let sick = sick.unwrap();
    let facts = &mut fixture.host(sick).facts;
    let Installed { version, release } = facts.operation.as_ref().unwrap().release.unwrap();
    facts.components =
        vec![InstalledComponent { component: WEB, version, release, drift: Drift::NONE, restarts: None }];
    limit(&mut fixture, 3, 3);
    wish(&mut fixture, 3);
    fixture.pass(25 * HOUR);
    assert_eq!(tried(&fixture, 3), 3);
    limit(&mut fixture, 3, 1);
    wish(&mut fixture, 2);
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().machine(MachineId(sick)).standing(0), Standing::Restored);
    assert_eq!(tried(&fixture, 2), 1, "it has never worked anywhere");
}

/// A host that says all at once that it is of another architecture has failed nevertheless: nobody else gets the release.
#[test]
fn what_failed_counts_whatever_the_host_says_that_it_is() {
    let mut fixture = on_web_1(3, 1);
    wish(&mut fixture, 2);
    fixture.pass(HOUR);
    let sick = (0..3).find(|id| fixture.engine.world().machine(MachineId(*id)).has_failed()).unwrap();
    fixture.host(sick).facts.architecture = Architecture::Arm64;
    fixture.pass(25 * HOUR);
    assert_eq!(fixture.engine.world().machine(MachineId(sick)).architecture(), Some(Architecture::Arm64));
    assert_eq!(tried(&fixture, 2), 1, "only there");
    fixture.host(sick).facts.architecture = Architecture::Amd64;
    fixture.hosts.values_mut().for_each(|host| host.broken.clear());
    fixture.store.edit_machine(sick, |_| ());
    fixture.pass(25 * HOUR);
    assert_eq!(fixture.web(), [Some(2); 3], "people have asked for another try");
}

/// A host reports only the outcome of its last operation.
#[test]
fn a_failure_is_recorded_before_anything_else_is_done_there() {
    let mut fixture = on_web_1(1, 1);
    fixture.store.edit_machine(0, |_| ());
    limit(&mut fixture, 2, 1);
    fixture.store.defaults(vec![want(WEB, web(2)), want(DNS, VersionId(3))]);
    fixture.deliver();
    until_work(&mut fixture);
    fixture.execute();
    assert_eq!(tried(&fixture, 2), 1);
    until_work(&mut fixture);
    fixture.execute();
    assert_eq!(tried(&fixture, 2), 0, "that was the other component");
    fixture.restart();
    let changes = fixture.host(0).changes;
    fixture.host(0).broken.clear();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1)], "it is not tried again unasked");
    assert_eq!(fixture.host(0).changes, changes);
}

/// A fleet without components, whose hosts are unreachable while it gets its first default: the rollout leaves all of
/// them out.
fn left_out(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    for id in 0..machines {
        fixture.host(id).up = false;
        fixture.see(Observation::Node(
            MachineId(id),
            Some(NodeObject { uid: Uid(7), state: NodeState::plain(Health::Unhealthy, START) }),
        ));
    }
    fixture.pass(HOUR);
    limit(&mut fixture, 1, 1);
    wish(&mut fixture, 2);
    fixture.pass(HOUR);
    assert!(!fixture.engine.world().fleet.rollouts[0].is_active());
    fixture
}

fn come_back(fixture: &mut Fixture, host: u32) {
    fixture.host(host).up = true;
    let node = NodeObject { uid: Uid(7), state: NodeState::plain(Health::Healthy, fixture.now) };
    fixture.see(Observation::Node(MachineId(host), Some(node)));
}

#[test]
fn what_did_not_work_is_nothing_to_go_back_to() {
    for works_on in [0, 1] {
        let mut fixture = left_out(5);
        for id in works_on..5 {
            fixture.host(id).broken = vec![web(2)];
        }
        // First the machines on which it works.
        for id in 0..5 {
            come_back(&mut fixture, id);
            fixture.pass(HOUR);
        }
        assert_eq!(tried(&fixture, 2), works_on as usize + 1, "it is stopped in time");
        wish(&mut fixture, 1);
        for _ in 0..100 {
            let turn = fixture.turn();
            assert!(!picture(&turn).contains("install web-2"), "{}", picture(&turn));
            fixture.execute_or_wait(&turn);
        }
        assert_eq!(fixture.web(), [Some(1); 5]);
    }
}

#[test]
fn what_nobody_could_try_is_nothing_to_fall_back_on() {
    let mut fixture = left_out(5);
    for id in 0..5 {
        fixture.host(id).broken = vec![web(2)];
    }
    wish(&mut fixture, 1);
    fixture.settle();
    assert_eq!(fixture.engine.world().fleet.rollouts[0].record.from, None);
    for id in 0..5 {
        come_back(&mut fixture, id);
    }
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1); 5]);
    assert_eq!(tried(&fixture, 2), 0);
}
