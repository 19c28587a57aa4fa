//! Grants: who is permitted, who gets its turn, and what a new operator concludes from the record.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::fixture::{FakeHost, Fixture, WEB, host_of, is_change, record, want, web};
use seaworthy_engine::RankKey;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::event::{Event, Outcome};
use seaworthy_model::host::{Change, OperationReport, OperationState};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::Installed;
use seaworthy_model::node::Health;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The changes of each host so far.
fn changes(fixture: &Fixture) -> BTreeMap<u32, u32> {
    fixture.hosts.iter().map(|(id, host)| (*id, host.changes)).collect()
}

/// An operator of the build before grants admitted by the threshold alone. Its record is carried over in the middle of a
/// rollout: nothing is done twice, nothing is forgotten, and never are more at work than may be.
#[test]
fn a_record_without_grants_is_carried_over() {
    let mut fixture = Fixture::on_web_1(30, 5);
    fixture.upgrade();
    fixture.until_at_work(5);
    let busy = fixture.at_work();
    let before = changes(&fixture);
    // What the predecessor has ordered goes on unseen.
    let adrift: Vec<Action> = fixture.pending.drain(..).filter(is_change).collect();
    let revision = fixture.store.revision + 1;
    let fleet = fixture.store.fleet.as_mut().unwrap();
    let (uid, status) = (fleet.meta.uid, &mut fleet.status);
    let rollout = &mut status.rollouts[0];
    let key = RankKey::new(uid, rollout.generation, "web");
    let ranks = busy.iter().map(|id| key.rank(fixture.store.machines[id].meta.uid));
    rollout.admitted_below = ranks.max().unwrap() + 1;
    (rollout.granted, status.epoch) = (None, Epoch::VACANT);
    fleet.meta.resource_version = revision;
    fixture.store.revision = revision;
    fixture.restart();
    let _ = fixture.turn();
    fixture.execute();
    let _ = fixture.turn();
    assert!(fixture.at_work().is_subset(&busy), "nobody else starts before those were read");
    for action in adrift {
        let _unheard = fixture.outcome(&action);
    }
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    let done = changes(&fixture);
    assert!(done.iter().all(|(id, times)| *times == before[id] + 1), "{before:?} {done:?}");
    assert_eq!(record(&fixture).granted, Some(Vec::new()));
}

/// A new operator holds a unit for each granted machine, and reads those hosts; it does not read the fleet.
#[test]
fn a_new_operator_reads_the_wave_and_not_the_fleet() {
    let mut fixture = Fixture::on_web_1(100, 10);
    fixture.upgrade();
    fixture.until_at_work(10);
    let granted = record(&fixture).granted.as_ref().unwrap().len();
    fixture.pending.clear();
    fixture.restart();
    let mut read = BTreeSet::new();
    for _ in 0..50 {
        let _ = fixture.turn();
        let facts = |action: &&Action| matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Facts));
        read.extend(fixture.pending.iter().filter(facts).filter_map(host_of));
        if !fixture.at_work().is_empty() {
            break;
        }
        fixture.execute();
    }
    assert!(!fixture.at_work().is_empty(), "the wave goes on");
    assert_eq!((read.len(), granted), (10, 10));
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// The version is taken back while a host is cut off in the middle of its change, which goes on. It keeps its unit in the
/// younger rollout, also for a new operator.
#[test]
fn who_is_at_work_for_a_superseded_rollout_keeps_its_unit() {
    for restarts in [false, true] {
        let mut fixture = Fixture::on_web_1(6, 2);
        fixture.upgrade();
        fixture.until_at_work(2);
        let busy = fixture.at_work();
        fixture.store.defaults(vec![want(WEB, web(3))]);
        fixture.deliver();
        let adrift: Vec<Action> = fixture.pending.drain(..).filter(is_change).collect();
        if restarts {
            fixture.restart();
            for id in &busy {
                fixture.host(*id).up = false;
            }
        }
        for _ in 0..50 {
            let _ = fixture.turn();
            assert!(fixture.at_work().is_empty(), "both units are taken, restarts: {restarts}");
            fixture.execute();
        }
        let superseded: usize = record(&fixture).superseded.iter().map(|old| old.granted.len()).sum();
        assert_eq!((record(&fixture).generation, superseded), (6, 2), "restarts: {restarts}");
        drop(adrift);
    }
}

/// Two of the machines that may not be worked on at once are broken by themselves. Each is repaired although the other
/// is away: neither becomes less available by its repair.
#[test]
fn repairs_of_what_is_unavailable_do_not_wait_for_each_other() {
    let mut fixture = Fixture::with_pods(6, 0);
    for id in 0..3 {
        fixture.host(id).drift(WEB);
        fixture.cluster.report(id, Health::Unhealthy, fixture.now);
    }
    fixture.store.edit_fleet(|spec| spec.pause_when_unavailable = CountOrPercent::Percent(100));
    fixture.upgrade();
    // The rollout shares their drains: a repaired Node is held for its next wave, which follows within 2 s.
    fixture.pass(Duration::from_secs(10));
    let is_drifted = |id: u32| fixture.hosts[&id].facts.components.iter().any(|it| !it.drift.is_none());
    assert!(!(0..3).any(is_drifted), "all of them are repaired");
}

/// A host fails or comes back, and its Node says so.
fn see(fixture: &mut Fixture, id: u32, health: Health) {
    fixture.host(id).up = health == Health::Healthy;
    fixture.cluster.report(id, health, fixture.now);
    fixture.deliver();
}

/// More machines are unavailable than `pauseWhenUnavailable` allows: nothing starts, until fewer than four fifths are.
#[test]
fn a_lost_zone_pauses_and_its_return_resumes() {
    let mut fixture = Fixture::with_pods(10, 0);
    for id in 0..3 {
        see(&mut fixture, id, Health::Unknown);
    }
    fixture.upgrade();
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    let told = fixture.engine.world().breaker();
    assert_eq!(told, Some(Blocker::TooManyUnavailable { unavailable: 3, limit: 2 }));
    see(&mut fixture, 0, Health::Healthy);
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "two of ten are four fifths and more");
    fixture.restart();
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "a new operator knows that it was open");
    see(&mut fixture, 1, Health::Healthy);
    fixture.pass(HOUR);
    assert_eq!(fixture.web().iter().filter(|version| **version == Some(2)).count(), 9);
}

/// What goes back may be why machines are unavailable.
#[test]
fn a_lost_zone_does_not_keep_a_bad_version_in_place() {
    let mut fixture = Fixture::with_pods(10, 0);
    fixture.limit(10);
    fixture.upgrade();
    fixture.pass(HOUR);
    for id in 0..3 {
        see(&mut fixture, id, Health::Unknown);
    }
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(fixture.engine.world().breaker().is_some());
    assert!(fixture.web()[3..].iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
}

/// Of three machines one may be unavailable. When it stays so for ever, the others still get the new version.
#[test]
fn a_dead_machine_of_a_small_fleet_does_not_stop_it_for_ever() {
    let mut fixture = Fixture::with_pods(3, 0);
    for id in 0..2 {
        see(&mut fixture, id, Health::Unknown);
    }
    fixture.upgrade();
    fixture.pass(HOUR);
    let told = fixture.engine.world().breaker();
    assert_eq!(told, Some(Blocker::TooManyUnavailable { unavailable: 2, limit: 1 }));
    see(&mut fixture, 1, Health::Healthy);
    fixture.pass(HOUR);
    assert_eq!(fixture.web()[1..], [Some(2), Some(2)], "the two that live");
}

/// A failed machine holds the only unit. A machine that is to become a Node does not wait for it: nothing can be disrupted
/// there.
#[test]
fn a_machine_that_joins_takes_no_unit() {
    let mut fixture = Fixture::with_pods(2, 0);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(2));
    fixture.store.need_identity(web(2));
    for host in fixture.hosts.values_mut() {
        host.broken = vec![web(2)];
    }
    let pass = |fixture: &mut Fixture| {
        fixture.deliver();
        fixture.pass(MINUTE);
        fixture.store.sign();
        fixture.deliver();
        fixture.pass(HOUR);
    };
    fixture.upgrade();
    pass(&mut fixture);
    assert_eq!((fixture.engine.world().failed(), fixture.engine.world().occupied()), (1, 1));
    fixture.store.add_machine(MachineId(2));
    fixture.hosts.insert(2, FakeHost::new(2));
    pass(&mut fixture);
    let world = fixture.engine.world();
    assert!(world.machine(MachineId(2)).standing(0).is_granted(), "it has its turn");
    assert_eq!(world.occupied(), 1);
}

/// With `maxUnavailable` 1 a single failed machine holds every unit, though two may fail: nothing can go on, and the
/// status says why.
#[test]
fn failed_machines_that_hold_every_unit_stop_the_rollout() {
    let mut fixture = Fixture::on_web_1(5, 1);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(2));
    for host in fixture.hosts.values_mut() {
        host.broken = vec![web(2)];
    }
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().failed(), 1);
    let status = &fixture.store.fleet.as_ref().unwrap().status;
    assert!(status.conditions.iter().all(|told| told.reason == FleetReason::TooManyFailures), "{status:?}");
    let detail = status.conditions[0].detail.as_ref();
    assert_eq!(detail, Some(&FleetDetail::Failures { failed: 1, limit: 1 }));
    fixture.store.edit_fleet(|spec| spec.max_unavailable = CountOrPercent::Count(2));
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().failed(), 2, "one more may fail");
}

/// A new operator does not know whether what is under way began on a machine that was out of service: its Node may have
/// recovered meanwhile. So it counts for the units and for the repair lane.
#[test]
fn what_a_predecessor_began_takes_a_unit_and_a_place_in_the_lane() {
    let mut fixture = Fixture::with_pods(5, 0);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(5));
    fixture.store.edit_fleet(|spec| spec.pause_when_unavailable = CountOrPercent::Percent(100));
    fixture.cluster.report(0, Health::Unhealthy, fixture.now);
    fixture.pass(3 * MINUTE);
    fixture.upgrade();
    fixture.until_at_work(2);
    let busy = fixture.at_work();
    assert!(busy.contains(&0), "{busy:?}");
    fixture.pending.clear();
    for id in &busy {
        fixture.host(*id).up = false;
    }
    fixture.cluster.report(0, Health::Healthy, fixture.now);
    let third = (0..5).find(|id| !busy.contains(id)).unwrap();
    fixture.cluster.report(third, Health::Unhealthy, fixture.now);
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web()[third as usize], Some(1), "two may be under way, and no more");
    for id in &busy {
        fixture.host(*id).up = true;
    }
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// Five machines with Nodes, of which three have just stopped reporting.
fn with_late_nodes() -> Fixture {
    let mut fixture = Fixture::with_pods(5, 0);
    fixture.store.edit_fleet(|spec| {
        spec.max_failures = CountOrPercent::Count(3);
        spec.pause_when_unavailable = CountOrPercent::Percent(100);
    });
    for id in 0..3 {
        fixture.cluster.report(id, Health::Unknown, fixture.now);
    }
    fixture
}

/// Upgrades the fleet, with hosts that do not end their work, and tells how many have begun after this time.
fn at_work_after(fixture: &mut Fixture, span: Duration) -> usize {
    let end = fixture.now + span;
    fixture.upgrade();
    while fixture.now < end {
        let turn = fixture.turn();
        match fixture.pending.iter().position(|action| !is_change(action)) {
            Some(other) => fixture.execute_one(other),
            None => fixture.now = turn.wake.map_or(end, |wake| wake.at.max(fixture.now)),
        }
    }
    fixture.at_work().len()
}

/// When API servers were away for minutes, Nodes are `Unknown` for up to 70 s afterwards, and their pods run on. That lends
/// nobody a place in the repair lane: of three masters, no two are changed at once.
#[test]
fn nodes_that_report_late_after_an_outage_are_in_service() {
    let mut fixture = with_late_nodes();
    assert_eq!(at_work_after(&mut fixture, Duration::from_secs(70)), 1, "maxUnavailable is 1");
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// An operator that was paused, or whose clock was set forward, has not seen a Node out of service for as long as it seems.
#[test]
fn a_clock_that_is_set_forward_puts_no_node_out_of_service() {
    let mut fixture = with_late_nodes();
    fixture.pass(Duration::from_secs(40));
    fixture.sleep(HOUR);
    assert_eq!(at_work_after(&mut fixture, Duration::from_secs(70)), 1, "maxUnavailable is 1");
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// A host is lost at work, where the operation may go on. It keeps its unit for as long as that may last.
#[test]
fn who_is_lost_at_work_keeps_its_unit_while_it_may_go_on() {
    let mut fixture = Fixture::on_web_1(3, 1);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(3));
    fixture.upgrade();
    fixture.until_at_work(1);
    let order = fixture.pending.iter().position(is_change).unwrap();
    let order = fixture.pending.remove(order);
    let lost = host_of(&order).unwrap();
    fixture.host(lost).up = false;
    fixture.engine.observe(Event::Finished { action: order.id, outcome: Outcome::Unknown });
    fixture.pass(15 * MINUTE);
    assert!(fixture.engine.world().machine(MachineId(lost)).is_unreachable());
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture.pass(HOUR);
    let done = fixture.web().iter().filter(|version| **version == Some(2)).count();
    assert_eq!(done, 2, "the others have their turn");
}

/// What is installed is repaired while its machine waits for its turn, also when that never comes.
#[test]
fn what_drifts_is_repaired_before_its_turn() {
    let mut fixture = Fixture::on_web_1(3, 2);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(1));
    for host in fixture.hosts.values_mut() {
        host.broken = vec![web(2)];
    }
    fixture.upgrade();
    fixture.pass(HOUR);
    let world = fixture.engine.world();
    let waits = (0..3).find(|id| !world.machine(MachineId(*id)).has_failed()).unwrap();
    fixture.host(waits).drift(WEB);
    fixture.pass(25 * HOUR);
    let installed = &fixture.host(waits).facts.components[0];
    assert_eq!((installed.version, installed.drift.is_none()), (web(1), true));
}

/// A host is lost at work for longer than an operation may take, and goes on by itself when it is back. It counts for
/// `maxFailures` all the time.
#[test]
fn who_comes_back_at_work_counts_as_at_work() {
    let mut fixture = Fixture::on_web_1(4, 4);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(1));
    // Others come before it in the order of the ranks.
    let lost = 3;
    for id in 0..4 {
        fixture.store.edit_machine(id, |spec| spec.paused = true);
    }
    fixture.upgrade();
    fixture.store.edit_machine(lost, |spec| spec.paused = false);
    fixture.until_at_work(1);
    let order = fixture.pending.iter().position(is_change).unwrap();
    let order = fixture.pending.remove(order);
    fixture.host(lost).up = false;
    fixture.engine.observe(Event::Finished { action: order.id, outcome: Outcome::Unknown });
    fixture.pass(HOUR);
    assert!(fixture.engine.world().machine(MachineId(lost)).is_lost());
    let host = fixture.host(lost);
    host.up = true;
    host.facts.operation = Some(running(&order));
    for id in 0..4 {
        fixture.store.edit_machine(id, |spec| spec.paused = false);
    }
    fixture.pass(HOUR);
    assert!(fixture.engine.world().machine(MachineId(lost)).is_unresolved());
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    let _unheard = fixture.outcome(&order);
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// What a host says while it does what it was ordered to do.
fn running(order: &Action) -> OperationReport {
    let Effect::Host(order) = &order.effect else { panic!("{order:?}") };
    let HostCommand::Apply(operation) = &order.command else { panic!("{order:?}") };
    let Change::Install(release) = &operation.change else { panic!("{operation:?}") };
    OperationReport {
        id: operation.id,
        generation: operation.generation,
        component: operation.component,
        release: Some(Installed { version: release.version, release: release.id }),
        state: OperationState::Running,
    }
}

/// One machine failed, fewer than may, and all others are done: nothing more can be done, and the status does not say that
/// machines are being changed.
#[test]
fn a_rollout_that_only_a_failed_machine_lacks_is_at_its_end() {
    let mut fixture = Fixture::on_web_1(3, 3);
    fixture.host(1).broken = vec![web(2)];
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2), Some(1), Some(2)]);
    let told = &fixture.store.fleet.as_ref().unwrap().status.conditions;
    assert!(told.iter().all(|told| told.reason == FleetReason::MachinesLeftOut), "{told:?}");
    assert_eq!(told[0].detail, Some(FleetDetail::LeftOut { left: 1, failed: 1 }));
}

/// A machine fails, and the next wave is written before its status says so. The record goes on to list it: otherwise a new
/// operator that cannot read it would let one machine more than `maxFailures` fail.
#[test]
fn a_grant_stays_until_the_failure_is_recorded() {
    let mut fixture = Fixture::on_web_1(10, 2);
    fixture.store.edit_fleet(|spec| spec.max_failures = CountOrPercent::Count(4));
    for host in fixture.hosts.values_mut() {
        host.broken = vec![web(2)];
    }
    fixture.upgrade();
    fixture.until_at_work(2);
    let first = fixture.pending.iter().position(is_change).unwrap();
    let failed = host_of(&fixture.pending[first]).unwrap();
    fixture.execute_one(first);
    fixture.store.edit_fleet(|spec| spec.max_unavailable = CountOrPercent::Count(10));
    fixture.deliver();
    for _ in 0..50 {
        let _ = fixture.turn();
        let other =
            |action: &Action| !is_change(action) && !matches!(action.effect, Effect::WriteMachineStatus(_));
        let Some(other) = fixture.pending.iter().position(other) else { break };
        fixture.execute_one(other);
    }
    assert!(record(&fixture).granted.as_ref().unwrap().len() > 1, "the next wave is out");
    fixture.pending.clear();
    fixture.host(failed).up = false;
    fixture.restart();
    fixture.pass(10 * MINUTE);
    let has_failed = |host: &&FakeHost| {
        let last = host.facts.operation.as_ref();
        last.is_some_and(|last| matches!(last.state, OperationState::Failed(_)))
    };
    assert!(
        fixture.hosts.values().filter(has_failed).count() <= 4,
        "the one that it has not seen counts, too"
    );
}

/// Lets the fleet go on until a change of this host is ordered, and takes the order away.
fn take_change_of(fixture: &mut Fixture, host: u32) -> Action {
    for _ in 0..200 {
        let turn = fixture.turn();
        let is_it = |action: &Action| is_change(action) && host_of(action) == Some(host);
        if let Some(place) = fixture.pending.iter().position(is_it) {
            return fixture.pending.remove(place);
        }
        fixture.execute_or_wait(&turn);
    }
    panic!("no change of host {host} was ordered");
}

/// Two of four changed machines went down, and so had two of four others: one is put down to chance. One of those others is
/// worked on, and lost. That it was down before tells as much as ever, so no more is charged to the rollout.
#[test]
fn who_was_down_before_its_work_is_compared_when_it_is_lost() {
    let mut fixture = Fixture::with_pods(8, 0);
    fixture.store.edit_fleet(|spec| {
        spec.max_unavailable = CountOrPercent::Count(4);
        spec.max_failures = CountOrPercent::Count(4);
        spec.pause_when_unavailable = CountOrPercent::Percent(100);
    });
    for id in 5..8 {
        fixture.store.edit_machine(id, |spec| spec.paused = true);
    }
    for id in [6, 7] {
        fixture.cluster.report(id, Health::Unhealthy, fixture.now);
    }
    fixture.upgrade();
    // It never ends, so the rollout is under way all the time.
    let _endless = take_change_of(&mut fixture, 4);
    fixture.pass(HOUR);
    assert!(fixture.web()[..4].iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    for id in [0, 1] {
        fixture.cluster.report(id, Health::Unhealthy, fixture.now);
    }
    fixture.deliver();
    let world = fixture.engine.world();
    assert_eq!((world.claims(), world.fallen(), world.occupied()), (1, 2, 2));
    fixture.store.edit_machine(6, |spec| spec.paused = false);
    let order = take_change_of(&mut fixture, 6);
    fixture.host(6).up = false;
    fixture.engine.observe(Event::Finished { action: order.id, outcome: Outcome::Unknown });
    fixture.pass(HOUR);
    let world = fixture.engine.world();
    assert!(world.machine(MachineId(6)).is_lost());
    assert_eq!((world.claims(), world.fallen(), world.occupied()), (1, 2, 2));
}

/// Machines that become unavailable after they were changed take units: a release that breaks Nodes minutes after its probe
/// does not walk the fleet. They come back, and the rollout goes on.
#[test]
fn machines_that_fell_take_units() {
    let mut fixture = Fixture::with_pods(8, 0);
    fixture.store.edit_fleet(|spec| {
        spec.max_unavailable = CountOrPercent::Count(2);
        spec.pause_when_unavailable = CountOrPercent::Percent(100);
    });
    fixture.upgrade();
    let mut fallen = BTreeSet::new();
    for _ in 0..2_000 {
        let turn = fixture.turn();
        let web = fixture.web();
        for id in (0..8).filter(|id| web[*id as usize] == Some(2)) {
            if fallen.insert(id) {
                fixture.cluster.report(id, Health::Unhealthy, fixture.now + MINUTE);
            }
        }
        match fixture.pending.is_empty() {
            false => fixture.execute_one(0),
            true => fixture.now = turn.wake.map_or(fixture.now, |wake| wake.at.max(fixture.now)),
        }
    }
    let fallen: Vec<u32> = fallen.into_iter().collect();
    assert!((2..=3).contains(&fallen.len()), "{fallen:?}");
    assert_eq!(fixture.engine.world().occupied(), fixture.engine.world().slots());
    for id in fallen {
        fixture.cluster.report(id, Health::Healthy, fixture.now);
    }
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// One unit is free, and those who have the others hang. A wave of one waits for more, but not until they are done.
#[test]
fn a_small_wave_waits_for_a_while_and_not_for_those_at_work() {
    let mut fixture = Fixture::on_web_1(20, 8);
    fixture.upgrade();
    fixture.until_at_work(8);
    let first = fixture.pending.iter().position(is_change).unwrap();
    fixture.execute_one(first);
    fixture.pending.retain(|action| !is_change(action));
    fixture.pass(MINUTE);
    let updated = fixture.web().iter().filter(|version| **version == Some(2)).count();
    assert!(updated > 1, "nobody had its turn after the first one");
}

/// Nobody waits without a reason, not even who is as it should be until its turn.
#[test]
fn who_waits_for_its_turn_says_so() {
    let mut fixture = Fixture::on_web_1(6, 1);
    fixture.upgrade();
    fixture.until_at_work(1);
    let busy = fixture.at_work();
    let waiting = (0..6).filter(|id| !busy.contains(id));
    for id in waiting {
        let blocker = fixture.engine.world().blocker(Subject::Machine(MachineId(id)));
        assert_eq!(blocker, Some(Blocker::AwaitingGrant), "machine {id}");
    }
}

/// The record lists no more machines than it can. Who waits for that is told so, and not that the budget is free.
#[test]
fn a_full_record_is_told_as_the_limit() {
    let mut fixture = Fixture::on_web_1(1_100, 1_100);
    fixture.upgrade();
    fixture.until_at_work(512);
    let told = fixture.engine.world().blocker(Subject::PackageVersion);
    assert_eq!(told, Some(Blocker::MaxUnavailable { occupied: 1_024, limit: 1_024 }));
}
