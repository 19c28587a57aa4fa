//! Rollouts with a strategy: batches, the time in which machines are watched, gates, and what people do about them.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, course, is_change, record, resume, told, want, web};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::node::Health;
use seaworthy_model::package_version::{End, FleetReason, Past};
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::{OnFailure, Strategy};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Twenty machines on `web-1`, each with a Node. The next rollout goes to one, to a fifth, and to all.
fn fleet(on_failure: OnFailure) -> Fixture {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.limit(20);
    fixture.store.edit_fleet(|spec| {
        spec.strategy = Some(Strategy {
            batches: vec![Count(1), Percent(20)],
            first_bake: MINUTE * 30,
            bake: MINUTE * 10,
            tolerance: None,
            on_failure,
            ..Strategy::default()
        });
    });
    fixture.upgrade();
    fixture
}

fn reason(fixture: &Fixture) -> FleetReason {
    told(fixture).reason
}

/// Whether the batch that is watched is told as the last one.
fn is_last(fixture: &Fixture) -> bool {
    let detail = &told(fixture).detail;
    let Some(FleetDetail::Bake { is_last, .. }) = detail else { panic!("no batch is watched: {detail:?}") };
    *is_last
}

/// The machines with `web-2`.
fn updated(fixture: &Fixture) -> Vec<u32> {
    (0..).zip(fixture.web()).filter(|(_, version)| *version == Some(2)).map(|(id, _)| id).collect()
}

fn report(fixture: &mut Fixture, id: u32, health: Health) {
    let now = fixture.now;
    fixture.cluster.report(id, health, now);
    fixture.deliver();
}

#[test]
fn each_batch_is_watched_before_the_next_one() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 29);
    assert_eq!(updated(&fixture).len(), 1);
    assert_eq!(reason(&fixture), FleetReason::Baking);
    assert!(!is_last(&fixture));
    fixture.pass(MINUTE * 2);
    assert_eq!((updated(&fixture).len(), course(&fixture).batch), (4, 2));
    fixture.pass(MINUTE * 8);
    assert_eq!(updated(&fixture).len(), 4);
    fixture.pass(MINUTE * 3);
    assert_eq!((updated(&fixture).len(), course(&fixture).batch), (20, 3));
    assert_eq!(record(&fixture).completed_at, None, "the last batch has a gate as well");
    assert!(is_last(&fixture));
    fixture.pass(MINUTE * 11);
    assert!(record(&fixture).completed_at.is_some());
    assert_eq!(reason(&fixture), FleetReason::AllUpdated);
}

/// The time in which a batch is watched does not begin anew with each operator.
#[test]
fn a_new_operator_goes_on_watching() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 20);
    let done_at = course(&fixture).done_at;
    assert!(done_at.is_some());
    fixture.restart();
    fixture.pass(MINUTE * 5);
    assert_eq!((updated(&fixture).len(), course(&fixture).done_at), (1, done_at));
    fixture.pass(MINUTE * 6);
    assert_eq!(updated(&fixture).len(), 4);
}

/// An operator that was paused, or whose clock was set forward, has watched nothing meanwhile.
#[test]
fn a_clock_that_is_set_forward_ends_no_watch() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 20);
    let done_at = course(&fixture).done_at;
    fixture.sleep(HOUR);
    fixture.pass(MINUTE * 29);
    assert_eq!((updated(&fixture).len(), course(&fixture).done_at), (1, done_at));
    assert_eq!(reason(&fixture), FleetReason::Baking);
    fixture.pass(MINUTE * 2);
    assert_eq!(updated(&fixture).len(), 4);
}

/// What was at work at a pause ends, and people read the record while the rollout stands still.
#[test]
fn a_rollout_that_stands_still_does_not_tell_of_machines_that_have_ended() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.until_at_work(2);
    assert_eq!(record(&fixture).progress.at_work, 2, "also those that are about to begin");
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(reason(&fixture), FleetReason::Paused);
    let progress = &record(&fixture).progress;
    assert_eq!((progress.at_work, progress.updated), (0, 2));
    let written = fixture.store.changes();
    fixture.pass(HOUR);
    assert_eq!(fixture.store.changes(), written);
}

/// People who let a rollout go on have seen what is wrong by then, and not only what had failed the gate.
#[test]
fn what_went_wrong_until_people_decide_is_excused() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 33);
    let changed = updated(&fixture);
    assert_eq!(changed.len(), 4);
    for id in &changed[..3] {
        report(&mut fixture, *id, Health::Unhealthy);
    }
    fixture.pass(MINUTE);
    assert_eq!(reason(&fixture), FleetReason::GateFailed);
    report(&mut fixture, changed[3], Health::Unhealthy);
    fixture.pass(MINUTE);
    let batch = course(&fixture).batch;
    resume(&mut fixture, batch);
    fixture.pass(MINUTE);
    assert_eq!((course(&fixture).excused, course(&fixture).failure), (4, None));
}

#[test]
fn a_node_that_reports_a_problem_since_its_change_fails_the_gate() {
    for (is_old, reason) in [(false, FleetReason::GateFailed), (true, FleetReason::Baking)] {
        let mut fixture = fleet(OnFailure::Pause);
        fixture.pass(MINUTE * 10);
        let (first, now) = (updated(&fixture)[0], fixture.now);
        let since = if is_old { record(&fixture).started_at - HOUR } else { now };
        fixture.cluster.trouble(first, Some(since));
        fixture.deliver();
        fixture.pass(MINUTE * 22);
        assert_eq!((self::reason(&fixture), is_old), (reason, is_old));
        assert_eq!(updated(&fixture).len() > 1, is_old);
    }
}

#[test]
fn a_machine_that_goes_down_after_its_change_stops_the_rollout_for_good() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    report(&mut fixture, first, Health::Unhealthy);
    fixture.pass(MINUTE);
    assert_eq!(reason(&fixture), FleetReason::GateFailed);
    let evidence = course(&fixture).failure.expect("the gate has failed").evidence;
    assert_eq!((evidence.changed, evidence.unavailable, evidence.untouched), (1, 1, 19));
    report(&mut fixture, first, Health::Healthy);
    fixture.restart();
    fixture.pass(HOUR * 24);
    assert_eq!(updated(&fixture), [first], "that it is well again does not excuse the release");
    let told = fixture.store.fleet.as_ref().unwrap().status.conditions[0].detail.clone();
    assert!(matches!(told, Some(FleetDetail::Gate(gate, _)) if &*gate.component == "web" && gate.batch == 1));
}

#[test]
fn people_let_a_rollout_go_on_once() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    report(&mut fixture, first, Health::Unhealthy);
    fixture.pass(MINUTE);
    resume(&mut fixture, 2);
    fixture.pass(MINUTE);
    assert_eq!(reason(&fixture), FleetReason::GateFailed, "that is not the gate which failed");
    resume(&mut fixture, 1);
    fixture.pass(MINUTE * 5);
    assert_eq!((updated(&fixture).len(), course(&fixture).excused), (4, 1));
    assert_eq!(reason(&fixture), FleetReason::Baking);
    for id in updated(&fixture) {
        report(&mut fixture, id, Health::Unhealthy);
    }
    fixture.pass(MINUTE);
    assert_eq!(reason(&fixture), FleetReason::GateFailed, "three more count");
    fixture.pass(HOUR);
    assert_eq!(updated(&fixture).len(), 4);
}

/// What went down before the rollout, and what the others suffer as well, is not put down to the release.
#[test]
fn what_has_another_cause_stops_nothing() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.store.edit_fleet(|spec| spec.pause_when_unavailable = Percent(100));
    fixture.deliver();
    fixture.pass(MINUTE * 35);
    let (changed, all) = (updated(&fixture), 0..20);
    assert_eq!(changed.len(), 4);
    for id in all.filter(|id| id % 2 == 0 || changed.first() == Some(id)) {
        report(&mut fixture, id, Health::Unhealthy);
    }
    fixture.pass(MINUTE);
    assert_ne!(reason(&fixture), FleetReason::GateFailed);
}

#[test]
fn a_release_is_taken_back_where_the_strategy_says_so() {
    let mut fixture = fleet(OnFailure::RollBack);
    fixture.pass(MINUTE * 35);
    let changed = updated(&fixture);
    assert_eq!(changed.len(), 4);
    for id in &changed {
        report(&mut fixture, *id, Health::Unhealthy);
    }
    fixture.pass(MINUTE * 5);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    assert_eq!(reason(&fixture), FleetReason::RolledBack);
    assert!(record(&fixture).completed_at.is_some());
    let changes: u32 = fixture.hosts.values().map(|host| host.changes).sum();
    fixture.restart();
    fixture.pass(HOUR * 24);
    assert_eq!(reason(&fixture), FleetReason::RolledBack);
    let after: u32 = fixture.hosts.values().map(|host| host.changes).sum();
    assert_eq!(after, changes, "nothing more is changed");
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(MINUTE * 5);
    assert_eq!(course(&fixture).batch, 1, "another version gets its chance");
    assert_eq!(record(&fixture).from, Some(want(WEB, web(1)).want));
}

/// To go back to what works takes no gates.
#[test]
fn people_go_back_at_once() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 35);
    assert_eq!(updated(&fixture).len(), 4);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(MINUTE * 2);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    assert_eq!(record(&fixture).course, None);
}

/// A release that fails its probe on the first machine stops there, also if many may fail.
#[test]
fn a_release_that_fails_stops_at_the_first_gate() {
    let mut fixture = fleet(OnFailure::Pause);
    for id in 0..20 {
        fixture.host(id).broken = vec![web(2)];
    }
    fixture.pass(HOUR * 2);
    assert_eq!(reason(&fixture), FleetReason::GateFailed);
    let failed = fixture
        .store
        .machines
        .values()
        .filter(|machine| machine.status.component(WEB).is_some_and(|status| status.failed.is_some()));
    assert_eq!(failed.count(), 1);
}

/// What was rolled out before, how it ended, who wanted it, and why.
#[test]
fn the_record_keeps_the_last_rollouts() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    report(&mut fixture, first, Health::Unhealthy);
    fixture.pass(MINUTE);
    report(&mut fixture, first, Health::Healthy);
    for turn in 0..12 {
        let fleet = fixture.store.fleet.as_mut().expect("there are defaults");
        fleet.cause = Some(format!("ticket {turn}").into());
        fleet.by = Some(format!("seaworthy/person-{turn}").into());
        fixture.store.defaults(vec![want(WEB, web(1 + turn % 2 * 2))]);
        fixture.deliver();
        fixture.pass(HOUR * 2);
    }
    let history = &fixture.store.fleet.as_ref().expect("there are defaults").status.history;
    let ends: Vec<_> =
        history.iter().map(|past| (past.cause.as_deref(), past.by.as_deref(), past.end)).collect();
    assert_eq!(ends.len(), Past::KEPT);
    assert_eq!(ends[0], (Some("ticket 1"), Some("seaworthy/person-1"), End::Completed));
    assert_eq!(ends[9], (Some("ticket 10"), Some("seaworthy/person-10"), End::Completed));
    assert_eq!(record(&fixture).cause.as_deref(), Some("ticket 11"));
    // Who edits the spec while a rollout is under way does not take it over.
    fixture.store.fleet.as_mut().expect("there are defaults").by = Some("kubectl-edit".into());
    fixture.limit(3);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(record(&fixture).by.as_deref(), Some("seaworthy/person-11"));
}

#[test]
fn the_history_tells_a_gate_that_failed_and_a_release_that_was_taken_back() {
    for (on_failure, end) in [(OnFailure::Pause, End::GateFailed), (OnFailure::RollBack, End::RolledBack)] {
        let mut fixture = fleet(on_failure);
        fixture.pass(MINUTE * 10);
        let first = updated(&fixture)[0];
        report(&mut fixture, first, Health::Unhealthy);
        fixture.pass(MINUTE * 5);
        fixture.store.defaults(vec![want(WEB, web(1))]);
        fixture.deliver();
        fixture.pass(MINUTE * 5);
        let history = &fixture.store.fleet.as_ref().expect("there are defaults").status.history;
        assert_eq!(history.last().map(|past| past.end), Some(end));
    }
}

/// The history says that it was replaced, and the record of the newer one which machines are at work for it still.
#[test]
fn a_newer_version_replaces_one_that_is_under_way() {
    let mut fixture = Fixture::on_web_1(6, 2);
    fixture.upgrade();
    fixture.until_at_work(2);
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    let replaced = |fixture: &Fixture| record(fixture).to == want(WEB, web(3)).want;
    while !replaced(&fixture) {
        let _ = fixture.turn();
        let other = fixture.pending.iter().position(|action| !is_change(action));
        fixture.execute_one(other.expect("the new record is written before the hosts have ended"));
    }
    let older = &record(&fixture).superseded[..];
    let told: Vec<_> = older.iter().map(|older| (&older.to, older.granted.len())).collect();
    assert_eq!(told, [(&want(WEB, web(2)).want, 2)]);
    let history = &fixture.store.fleet.as_ref().expect("there are defaults").status.history;
    let last = history.last().map(|past| (&past.to, past.end));
    assert_eq!(last, Some((&want(WEB, web(2)).want, End::Superseded)));
    fixture.pass(HOUR);
    assert_eq!((record(&fixture).superseded.len(), fixture.web()), (0, vec![Some(3); 6]));
}

/// No Node shows that a service has ended: the gate reads the hosts.
#[test]
fn a_service_that_ends_after_its_change_fails_the_gate() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    fixture.host(first).stop(WEB);
    fixture.pass(MINUTE * 15);
    assert_eq!(reason(&fixture), FleetReason::Baking, "nobody knows yet");
    fixture.pass(MINUTE * 10);
    assert_eq!(reason(&fixture), FleetReason::GateFailed);
    assert_eq!(updated(&fixture), [first]);
}

/// The hosts of the machines that were changed are read before their gate, and no others.
#[test]
fn a_gate_reads_the_hosts_that_were_changed() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.store.edit_fleet(|spec| spec.audit_interval = HOUR * 24 * 7);
    fixture.deliver();
    fixture.pass(MINUTE * 29);
    let first = updated(&fixture)[0];
    let before: Vec<u32> = fixture.hosts.values().map(|host| host.orders).collect();
    fixture.pass(MINUTE * 5);
    let changed = updated(&fixture);
    let after: Vec<u32> = fixture.hosts.values().map(|host| host.orders).collect();
    for (id, (before, after)) in (0..).zip(before.into_iter().zip(after)) {
        let is_read = after > before;
        assert_eq!(is_read, id == first || changed.contains(&id), "{id}");
    }
}

/// A Node that is ready says nothing of the other services of its host.
#[test]
fn a_gate_waits_for_a_host_that_does_not_say_what_runs_there() {
    let mut fixture = fleet(OnFailure::Pause);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    fixture.host(first).up = false;
    fixture.pass(HOUR * 2);
    assert_eq!((updated(&fixture), reason(&fixture)), (vec![first], FleetReason::GateInconclusive));
    let FleetDetail::Gate(_, evidence) = told(&fixture).detail.clone().expect("it says what it knows") else {
        panic!("{:?}", told(&fixture).detail)
    };
    assert_eq!((evidence.changed, evidence.silent), (1, 1));
    fixture.host(first).up = true;
    fixture.pass(HOUR);
    assert!(updated(&fixture).len() > 1);
}
