//! Former bugs, each in the fewest steps that show it.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{self, FakeHost, Fixture, WEB, picture, want, web};
use seaworthy_engine::Standing;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Target;
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::host::{OperationId, OperationReport, OperationState, Owner};
use seaworthy_model::id::{MachineId, StoreId, Uid};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{ConditionKind, HostId, Installed, Reason};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocked, Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn no_connection() -> Outcome {
    Outcome::Retryable(Cause::new(CauseKind::ConnectionFailed, "it is down"))
}

/// A fleet on `web-1`, with these limits.
fn on_web_1(machines: u32, unavailable: u32, failures: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.edit_fleet(|spec| {
        spec.components = vec![want(WEB, web(1))];
        spec.max_unavailable = CountOrPercent::Count(unavailable);
        spec.max_failures = CountOrPercent::Count(failures);
    });
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture
}

/// Turns and replies until the next order is the taking of the Lease.
fn until_lease_is_ordered(fixture: &mut Fixture) {
    for _ in 0..10 {
        let turn = fixture.turn();
        if picture(&turn).contains("take as \"operator-") {
            return;
        }
        fixture.execute();
    }
    panic!("the Lease is not taken");
}

fn adopt(fixture: &mut Fixture, epoch: Epoch) {
    fixture.store.adopt(epoch);
    fixture.deliver();
}

#[test]
fn our_own_adoption_seen_before_its_reply_is_no_successor() {
    let mut fixture = on_web_1(1, 1, 1);
    let epoch = fixture.engine.world().epoch();
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    adopt(&mut fixture, epoch);
    let turn = fixture.turn();
    assert!(picture(&turn).contains("take as"), "{}", picture(&turn));
    let action = fixture.pending.remove(0);
    let outcome = fixture.outcome(&action);
    fixture.deliver();
    fixture.engine.observe(Event::Finished { action: action.id, outcome });
    fixture.settle();
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

#[test]
fn an_adoption_whose_reply_is_lost_is_not_asked_for_again() {
    let mut fixture = on_web_1(1, 1, 1);
    let epoch = fixture.engine.world().epoch();
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    adopt(&mut fixture, epoch);
    let _ = fixture.turn();
    let action = fixture.pending.remove(0);
    let _lost = fixture.outcome(&action);
    fixture.engine.observe(Event::Finished { action: action.id, outcome: Outcome::Unknown });
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

#[test]
fn a_successor_seen_before_the_reply_ends_the_process() {
    for echo_is_seen in [true, false] {
        let mut fixture = Fixture::new(1);
        until_lease_is_ordered(&mut fixture);
        let action = fixture.pending.remove(0);
        let outcome = fixture.outcome(&action);
        if echo_is_seen {
            fixture.deliver();
        }
        fixture.store.revision += 1;
        let lease = fixture.store.lease.as_mut().unwrap();
        (lease.record.holder, lease.record.epoch) = ("another".into(), lease.record.epoch.next().unwrap());
        lease.meta.resource_version = fixture.store.revision;
        fixture.deliver();
        fixture.engine.observe(Event::Finished { action: action.id, outcome });
        fixture.settle();
        assert_eq!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::SteppedDown { by: Epoch(2) }));
    }
}

#[test]
fn a_lease_that_goes_before_its_echo_is_missed() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.restart();
    until_lease_is_ordered(&mut fixture);
    fixture.reply();
    fixture.store.delete_lease();
    fixture.see(Observation::Lease(None));
    assert!(matches!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::StoreRegressed { .. })));
}

#[test]
fn a_lease_that_was_made_and_goes_unseen_is_missed_and_a_late_absence_is_not() {
    for is_gone in [true, false] {
        let mut fixture = Fixture::new(1);
        until_lease_is_ordered(&mut fixture);
        fixture.reply();
        fixture.see(Observation::Lease(None));
        assert!(matches!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::StoreRegressed { .. })));
        if is_gone {
            fixture.store.lease = None;
        }
        fixture.deliver();
        fixture.pass(MINUTE);
        let gate = fixture.engine.world().gate(StoreId::HOME);
        assert_eq!(gate.is_some(), is_gone, "{gate:?}");
    }
}

#[test]
fn an_older_lease_between_reply_and_echo_is_no_loss() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.restart();
    until_lease_is_ordered(&mut fixture);
    let before = fixture.store.lease.clone().map(Box::new);
    fixture.reply();
    fixture.see(Observation::Lease(before));
    fixture.deliver();
    fixture.settle();
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

#[test]
fn the_epochs_of_another_cluster_are_not_ours() {
    let mut fixture = Fixture::new(2);
    let host = fixture.host(0);
    host.facts.owner = Owner::Foreign { cluster: "another".into(), machine: Uid(77) };
    host.facts.epoch = Epoch(500);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
    assert_eq!(fixture.web(), [None, Some(1)]);
}

#[test]
fn the_work_of_a_hosts_owner_is_not_that_of_its_duplicate() {
    let mut fixture = on_web_1(2, 1, 1);
    fixture.store.add_machine(MachineId(2));
    let uid = fixture.store.machines[&0].meta.uid;
    let installed = fixture.host(0).facts.components[0];
    let mut host = FakeHost::new(2);
    host.facts.host = HostId(1000);
    host.facts.owner = Owner::Machine(uid);
    host.facts.operation = Some(OperationReport {
        id: OperationId { epoch: Epoch(1), sequence: 1 },
        generation: 1,
        component: WEB,
        release: Some(Installed { version: installed.version, release: installed.release }),
        state: OperationState::Running,
    });
    fixture.hosts.insert(2, host);
    fixture.deliver();
    fixture.settle();
    let row = fixture.engine.world().machine(MachineId(2));
    assert_eq!(row.uncertain, None);
    assert!(!row.claims());
    let failed = OperationState::Failed(Cause::new(CauseKind::ProbeFailed, "503"));
    fixture.host(2).facts.operation.as_mut().unwrap().state = failed;
    fixture.pass(HOUR);
    assert_eq!(*fixture.engine.world().machine(MachineId(2)).failed, []);
}

#[test]
fn a_change_of_a_settled_machine_is_found_by_a_successor() {
    let mut fixture = Fixture::new(1);
    let version = fixture.store.versions.remove(&0).unwrap();
    fixture.restart();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.deliver();
    fixture.pass(MINUTE);
    let waits = fixture.engine.world().blocker(Subject::Machine(MachineId(0)));
    assert_eq!(waits, Some(Blocker::UnknownVersion(web(1))));
    fixture.store.add_version(web(1), version.spec.unwrap().as_ref().clone());
    fixture.deliver();
    for _ in 0..10 {
        let turn = fixture.turn();
        if picture(&turn).contains("install web-1") {
            break;
        }
        fixture.execute();
    }
    assert_eq!(fixture.pending.len(), 1, "the install is ordered");
    fixture.restart();
    for _ in 0..2 {
        let _ = fixture.turn();
        fixture.execute();
    }
    assert_eq!(fixture.engine.world().occupied(), 1, "it may be under way");
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
}

#[test]
fn a_retry_is_not_forgotten_while_the_host_is_full() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.host(0).broken = vec![web(2)];
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(HOUR);
    fixture.host(0).broken.clear();
    let full = || Outcome::Refused(Cause::new(CauseKind::NoSpace, "full"));
    // The host is read between two tries, and replies.
    fixture.store.edit_machine(0, |_| ());
    fixture.deliver();
    for _ in 0..6 {
        fixture.host(0).refusal = Some(full());
        fixture.pass(MINUTE);
    }
    let status = &fixture.store.machines[&0].status;
    let told = status.condition(ConditionKind::InSync).unwrap();
    assert_eq!(told.reason, Reason::Cause(CauseKind::NoSpace));
    fixture.host(0).refusal = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2)]);
}

#[test]
fn a_successor_does_not_wait_for_an_audit_to_supersede() {
    let mut fixture = on_web_1(3, 3, 3);
    for id in 0..3 {
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Healthy))));
    }
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    for _ in 0..3 {
        let _ = fixture.turn();
        fixture.pending.retain(|action| !fixture::is_change(action));
        fixture.execute();
    }
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.restart();
    fixture.pass(2 * MINUTE);
    assert_eq!(fixture.web(), [Some(3); 3]);
}

/// A Node as it has been from the start.
fn node(ready: Health) -> NodeObject {
    NodeObject { uid: Uid(7), state: NodeState::plain(ready, fixture::START) }
}

#[test]
fn a_machine_made_anew_while_it_waits_has_its_own_rank() {
    let mut fixture = on_web_1(12, 1, 1);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    let _ = fixture.turn();
    fixture.execute();
    for id in 0..12 {
        fixture.store.machines.remove(&id);
        fixture.store.add_machine(MachineId(id));
        fixture.hosts.insert(id, FakeHost::new(id));
    }
    fixture.deliver();
    let rollout = &fixture.engine.world().fleet.rollouts[0];
    for (id, machine) in fixture.engine.world().machines() {
        let rank = rollout.key.rank(machine.uid().unwrap());
        assert!(rollout.waiting.contains(&(rank, id)), "{id:?} stands at the rank of its predecessor");
    }
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2); 12]);
}

#[test]
fn a_session_that_its_first_candidate_does_not_need_goes_to_the_next() {
    let mut fixture = Fixture::new(3);
    fixture.config.host_sessions_max = 1;
    fixture.restart();
    for _ in 0..2 {
        let _ = fixture.turn();
        fixture.execute();
    }
    for _ in 0..2 {
        let _ = fixture.turn();
        if fixture.engine.world().sessions() == 1 {
            break;
        }
        fixture.execute();
    }
    assert_eq!(fixture.engine.world().sessions(), 1);
    fixture.pending.retain(|action| matches!(action.target, Target::Host(_)));
    fixture.store.delete_machine(1);
    fixture.deliver();
    let _ = fixture.turn();
    fixture.scripted.insert(0, vec![no_connection()]);
    fixture.reply();
    let turn = fixture.turn();
    assert!(picture(&turn).contains("host of m2: read"), "{}\n{:?}", picture(&turn), turn.wake);
}

#[test]
fn a_machine_that_moves_is_read_before_it_is_worked_on() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.store.edit_machine(0, |spec| {
        Arc::make_mut(&mut spec.connection).address.ip = "198.18.7.7".into();
        spec.pins = [want(WEB, web(2))].into();
    });
    fixture.deliver();
    let turn = fixture.turn();
    assert!(picture(&turn).contains("host of m0: read"), "{}", picture(&turn));
}

#[test]
fn a_report_of_the_old_address_does_not_stand_for_the_new_one() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.sleep(HOUR);
    let turn = fixture.turn();
    assert!(picture(&turn).contains("host of m0: read"), "{}", picture(&turn));
    fixture.store.edit_machine(0, |spec| {
        Arc::make_mut(&mut spec.connection).address.ip = "198.18.7.7".into();
        spec.pins = [want(WEB, web(2))].into();
    });
    fixture.deliver();
    fixture.reply();
    let turn = fixture.turn();
    assert!(picture(&turn).contains("host of m0: read"), "{}", picture(&turn));
}

#[test]
fn a_repair_that_changes_nothing_is_not_repeated_at_once() {
    let mut fixture = on_web_1(1, 1, 1);
    let changes = fixture.host(0).changes;
    fixture.host(0).ailing = true;
    fixture.host(0).drift(WEB);
    fixture.pass(HOUR);
    let repairs = fixture.host(0).changes - changes;
    assert!((2..20).contains(&repairs), "{repairs} repairs in an hour");
    fixture.host(0).ailing = false;
    fixture.pass(HOUR);
    assert!(fixture.host(0).facts.components[0].drift.is_none());
}

#[test]
fn machines_that_come_back_together_are_not_all_harmed() {
    let mut fixture = on_web_1(12, 6, 2);
    for id in 0..11 {
        fixture.host(id).up = false;
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Unhealthy))));
    }
    fixture.pass(HOUR);
    for id in 0..12 {
        fixture.host(id).broken = vec![web(2)];
    }
    fixture.host(11).broken.clear();
    fixture.store.edit_fleet(|spec| spec.pause_when_unavailable = CountOrPercent::Percent(100));
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.web()[11], Some(2), "whoever can be reached is served");
    // One has succeeded, so one more than `maxFailures` may be at work.
    for id in 0..11 {
        fixture.host(id).up = true;
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Healthy))));
    }
    let mut told = Vec::new();
    for _ in 0..10 {
        told.extend(fixture.turn().report.blocked);
        fixture.execute();
    }
    let waits = |told: &Blocked| matches!(told.blocker, Blocker::MaxFailures { at_work: 3, limit: 3 });
    assert!(told.iter().any(waits), "{told:?}");
    fixture.pass(4 * HOUR);
    let harmed = fixture.hosts.values().filter(|host| {
        let latest = host.facts.operation.as_ref();
        latest.is_some_and(|operation| matches!(operation.state, OperationState::Failed(_)))
    });
    let harmed = harmed.count();
    assert!((2..=3).contains(&harmed), "{harmed} harmed");
}

#[test]
fn a_store_that_was_set_back_is_followed_once_a_person_adopts() {
    let mut fixture = on_web_1(1, 1, 1);
    let backup = fixture.store.machines[&0].clone();
    let revision = fixture.store.revision;
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    fixture.settle();
    // The echo of the last write of the old history never arrives.
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(3))].into());
    fixture.deliver();
    fixture.watch_hangs = true;
    for _ in 0..2 {
        let _ = fixture.turn();
        fixture.execute();
    }
    assert!(fixture.engine.world().machine(MachineId(0)).progress.writes.written.is_some());
    fixture.watch_hangs = false;
    fixture.store.machines.insert(0, backup);
    fixture.store.revision = revision;
    fixture.store.lease = None;
    fixture.see(Observation::Lease(None));
    fixture.settle();
    let epoch = fixture.host(0).facts.epoch;
    adopt(&mut fixture, epoch);
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1)], "as the restored store says");
}

#[test]
fn a_joiner_that_fails_is_not_passed_over() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.store.add_machine(MachineId(1));
    let mut host = FakeHost::new(1);
    host.broken = vec![web(1)];
    fixture.hosts.insert(1, host);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().machine(MachineId(1)).standing(0), Standing::Failed);
    let told = &fixture.store.fleet.as_ref().unwrap().status.conditions[0];
    assert_eq!(told.reason, FleetReason::MachinesLeftOut);
}

#[test]
fn a_host_that_was_given_up_goes_to_its_next_machine_soon() {
    let mut fixture = Fixture::new(2);
    fixture.hosts.get_mut(&1).unwrap().facts.host = HostId(1000);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.store.edit_machine(1, |spec| spec.pins = [want(WEB, web(2))].into());
    for id in 0..2 {
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Healthy))));
    }
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(1), None]);
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [None, Some(2)]);
}

#[test]
fn a_larger_fleet_may_have_more_failures() {
    let mut fixture = on_web_1(10, 10, 1);
    for id in 1..10 {
        fixture.host(id).up = false;
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Unhealthy))));
    }
    fixture.pass(HOUR);
    fixture.host(0).broken = vec![web(2)];
    fixture.store.edit_fleet(|spec| {
        spec.components = vec![want(WEB, web(2))];
        spec.max_failures = CountOrPercent::Percent(10);
    });
    fixture.deliver();
    fixture.pass(HOUR);
    for id in 1..10 {
        fixture.host(id).up = true;
        fixture.see(Observation::Node(MachineId(id), Some(node(Health::Healthy))));
    }
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1); 10], "one of ten may fail, and did");
    for id in 10..40 {
        fixture.store.add_machine(MachineId(id));
        fixture.hosts.insert(id, FakeHost::new(id));
    }
    fixture.deliver();
    // Long before the next audit would read them.
    fixture.pass(5 * MINUTE);
    let upgraded = fixture.web().iter().filter(|version| **version == Some(2)).count();
    assert_eq!(upgraded, 39, "the one that failed needs a person");
}

#[test]
fn a_process_that_was_succeeded_lets_nothing_go_that_its_successor_installed() {
    let mut fixture = Fixture::new(1);
    fixture.pass(MINUTE);
    fixture.succeed();
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.settle();
    assert_eq!(fixture.web(), [Some(1)]);
    fixture.store.delete_machine(0);
    fixture.zombie_turn();
    fixture.zombie_turn();
    assert!(fixture.store.machines.contains_key(&0), "the software is still there");
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [None]);
}

#[test]
fn what_was_read_before_an_adoption_does_not_count_after_it() {
    let mut fixture = on_web_1(1, 1, 1);
    let epoch = fixture.engine.world().epoch();
    fixture.sleep(HOUR);
    let _ = fixture.turn();
    let read = fixture.pending.remove(0);
    let facts = fixture.outcome(&read);
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    adopt(&mut fixture, epoch);
    while fixture.engine.world().epoch() == epoch {
        let _ = fixture.turn();
        fixture.execute();
    }
    fixture.engine.observe(Event::Finished { action: read.id, outcome: facts });
    let machine = fixture.engine.world().machine(MachineId(0));
    assert!(
        machine.host.facts.is_none() && machine.progress.contact.stale,
        "it was read under the older fence"
    );
    fixture.pass(MINUTE);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

#[test]
fn a_predecessor_that_a_cache_still_shows_does_not_come_back() {
    let mut fixture = on_web_1(1, 1, 1);
    let old = fixture.store.machines[&0].clone();
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [None]);
    fixture.see(Observation::Machine(MachineId(0), Some(Box::new(old.clone()))));
    assert!(!fixture.engine.world().machine(MachineId(0)).is_live(), "it is older than its own end");
    fixture.store.add_machine(MachineId(0));
    fixture.deliver();
    fixture.see(Observation::Machine(MachineId(0), Some(Box::new(old))));
    let uid = fixture.engine.world().machine(MachineId(0)).uid();
    assert_eq!(uid, Some(fixture.store.machines[&0].meta.uid), "it is older than its successor");
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
}

#[test]
fn what_holds_a_machine_in_use_is_put_back() {
    let mut fixture = on_web_1(1, 1, 1);
    fixture.store.edit_machine(0, |_| ());
    fixture.store.machines.get_mut(&0).unwrap().meta.finalizers = Default::default();
    fixture.deliver();
    fixture.pass(MINUTE);
    assert!(fixture.store.machines[&0].meta.is_held());
}

/// A detail is read back under the reason that it was written with. Under another one it never equals what is to be said, and
/// the same status was written again and again.
#[test]
fn a_condition_that_stays_keeps_its_detail() {
    let mut fixture = on_web_1(20, 1, 1);
    let epoch = fixture.engine.world().epoch();
    fixture.store.delete_lease();
    fixture.store.edit_machine(0, |_| ());
    fixture.deliver();
    fixture.pass(MINUTE);
    let in_sync = |fixture: &Fixture| {
        let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap();
        (condition.reason, condition.detail.as_deref().cloned())
    };
    let regressed = in_sync(&fixture);
    assert!(matches!(regressed, (Reason::StoreRegressed, Some(Detail::Regress(_)))), "{regressed:?}");
    fixture.host(0).facts.epoch = Epoch(50);
    adopt(&mut fixture, epoch);
    fixture.pass(MINUTE);
    let ready = fixture.store.machines[&0].status.condition(ConditionKind::Ready).unwrap();
    assert_eq!(
        (ready.reason, ready.detail.as_deref()),
        (Reason::HostAhead, Some(&Detail::HostAhead(Epoch(50))))
    );
    assert_eq!(in_sync(&fixture), regressed);
}
