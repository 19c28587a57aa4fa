//! What a gate makes of services that are started again by themselves: they run whenever somebody looks.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, absent, course, told};
use seaworthy_model::component::Disruption;
use seaworthy_model::host::BootId;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::{OnFailure, Strategy};

const MINUTE: Duration = Duration::from_secs(60);

/// Twenty machines on `web-1`, each with a Node.
fn settled() -> Fixture {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.limit(20);
    fixture
}

/// The rollout goes to one, to a fifth, and to all.
fn begin(fixture: &mut Fixture, on_failure: OnFailure) {
    fixture.store.edit_fleet(|spec| {
        spec.strategy = Some(Strategy {
            batches: vec![Count(1), Percent(20)],
            first_bake: MINUTE * 30,
            bake: MINUTE * 10,
            on_failure,
            ..Strategy::default()
        });
    });
    fixture.upgrade();
}

/// The first machine is changed, and the gate after it reads its host in twenty minutes.
fn fleet(on_failure: OnFailure) -> (Fixture, u32) {
    let mut fixture = settled();
    begin(&mut fixture, on_failure);
    fixture.pass(MINUTE * 10);
    let first = updated(&fixture)[0];
    (fixture, first)
}

/// The machines with `web-2`.
fn updated(fixture: &Fixture) -> Vec<u32> {
    (0..).zip(fixture.web()).filter(|(_, version)| *version == Some(2)).map(|(id, _)| id).collect()
}

/// Whether the gate after the first machine stops the rollout.
fn is_stopped(mut fixture: Fixture, first: u32) -> bool {
    fixture.pass(MINUTE * 25);
    let is_stopped = told(&fixture).reason == FleetReason::GateFailed;
    assert_eq!(is_stopped, updated(&fixture) == [first]);
    is_stopped
}

#[test]
fn a_service_that_is_started_again_and_again_fails_the_gate() {
    let (mut fixture, first) = fleet(OnFailure::Pause);
    fixture.host(first).restart(WEB, 2);
    fixture.pass(MINUTE * 15);
    assert_eq!(told(&fixture).reason, FleetReason::Baking, "nobody knows yet");
    fixture.pass(MINUTE * 10);
    assert_eq!(told(&fixture).reason, FleetReason::GateFailed);
    let evidence = course(&fixture).failure.expect("the gate has failed").evidence;
    assert_eq!((evidence.changed, evidence.unavailable, evidence.untouched), (1, 1, 19));
    assert_eq!((evidence.failed, evidence.silent, evidence.untouched_unavailable), (0, 0, 0));
}

#[test]
fn a_release_that_is_started_again_and_again_is_taken_back_where_the_strategy_says_so() {
    let (mut fixture, first) = fleet(OnFailure::RollBack);
    fixture.host(first).restart(WEB, 5);
    fixture.pass(MINUTE * 25);
    assert_eq!(told(&fixture).reason, FleetReason::RolledBack);
    assert_eq!(updated(&fixture), []);
}

/// It may be due to the host. A second one tells, also if another look lies between them.
#[test]
fn one_restart_is_no_fault() {
    let (mut fixture, first) = fleet(OnFailure::Pause);
    fixture.host(first).restart(WEB, 1);
    assert!(!is_stopped(fixture, first));

    for again in [0, 1] {
        let (mut fixture, first) = fleet(OnFailure::Pause);
        fixture.store.edit_fleet(|spec| spec.audit_interval = MINUTE * 5);
        fixture.deliver();
        fixture.host(first).restart(WEB, 1);
        fixture.pass(MINUTE * 8);
        fixture.host(first).restart(WEB, again);
        assert_eq!(is_stopped(fixture, first), again > 0);
    }
}

/// A repair, a person or a boot starts the service, and with that the count begins anew. After a boot that is known; without
/// one, the same count may be the old one.
#[test]
fn a_count_that_began_anew_does_not_hide_what_was_seen() {
    for (seen, boots, again, stops) in
        [(2, false, 0, true), (1, true, 1, true), (1, false, 1, false), (0, true, 1, false)]
    {
        let (mut fixture, first) = fleet(OnFailure::Pause);
        fixture.store.edit_fleet(|spec| spec.audit_interval = MINUTE * 5);
        fixture.deliver();
        fixture.host(first).restart(WEB, seen);
        fixture.pass(MINUTE * 8);
        fixture.host(first).count_anew(WEB);
        if boots {
            fixture.host(first).facts.boot = BootId(2);
        }
        fixture.host(first).restart(WEB, again);
        assert_eq!(is_stopped(fixture, first), stops, "{seen} {boots} {again}");
    }
}

/// What befalls the others as well says something of chance, if it befell them since the rollout began.
#[test]
fn restarts_of_the_others_are_compared() {
    let mut evidence = Vec::new();
    for is_old in [false, true] {
        let mut fixture = settled();
        fixture.store.edit_fleet(|spec| spec.audit_interval = MINUTE * 5);
        fixture.deliver();
        let restart = |fixture: &mut Fixture| (0..20).for_each(|id| fixture.host(id).restart(WEB, 3));
        if is_old {
            restart(&mut fixture);
            fixture.pass(MINUTE * 10);
        }
        begin(&mut fixture, OnFailure::Pause);
        fixture.pass(MINUTE * 10);
        if !is_old {
            restart(&mut fixture);
            fixture.pass(MINUTE * 8);
        }
        let first = updated(&fixture)[0];
        fixture.host(first).count_anew(WEB);
        fixture.host(first).restart(WEB, 2);
        fixture.pass(MINUTE * 25);
        evidence.push(course(&fixture).failure.expect("the only changed machine decides").evidence);
    }
    let untouched = evidence.iter().map(|evidence| evidence.untouched_unavailable);
    assert_eq!(untouched.collect::<Vec<_>>(), [19, 0], "what was before the rollout is not compared");
}

/// A new operator has seen none of the restarts happen. The change has started the service, so all of them came after it.
#[test]
fn a_new_operator_counts_what_its_predecessor_did_not_see() {
    for restarts in [1, 2] {
        let (mut fixture, first) = fleet(OnFailure::Pause);
        fixture.host(first).restart(WEB, restarts);
        fixture.restart();
        assert_eq!(is_stopped(fixture, first), restarts > 1);
    }
}

/// What ran before anybody rolled it out may have been started again long ago: the count that it brings says nothing.
#[test]
fn what_was_taken_over_brings_a_count_of_its_own() {
    for (is_new, again) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
        let mut fixture = settled();
        fixture.store.defaults(vec![absent(WEB)]);
        fixture.deliver();
        fixture.pass(MINUTE * 10);
        assert_eq!(fixture.host(0).version(WEB), None);
        for id in 0..20 {
            fixture.host(id).adopts = Some(9);
        }
        begin(&mut fixture, OnFailure::Pause);
        fixture.pass(MINUTE * 10);
        let first = updated(&fixture)[0];
        fixture.host(first).restart(WEB, again);
        if is_new {
            fixture.restart();
        }
        // A new operator cannot tell which of them are new.
        assert_eq!(is_stopped(fixture, first), again > 1 && !is_new, "{is_new} {again}");
    }
}

/// A reload starts nothing: the count goes on, and the old release may be why it is what it is.
#[test]
fn restarts_before_a_reload_say_nothing_of_what_was_loaded() {
    for (is_seen, again) in [(false, 0), (true, 0), (true, 2)] {
        let mut fixture = settled();
        for version in fixture.store.versions.values_mut() {
            Arc::make_mut(version.spec.as_mut().unwrap()).content.less_than_restart =
                Some(Disruption::Reload);
        }
        fixture.restart();
        (0..20).for_each(|id| fixture.host(id).restart(WEB, 5));
        if is_seen {
            fixture.pass(MINUTE * 70);
        }
        begin(&mut fixture, OnFailure::Pause);
        fixture.pass(MINUTE * 10);
        let first = updated(&fixture)[0];
        fixture.host(first).restart(WEB, again);
        if !is_seen {
            fixture.restart();
        }
        assert_eq!(is_stopped(fixture, first), again > 1, "{is_seen} {again}");
    }
}

/// A host program of an earlier version does not tell of restarts. That they are unknown is no evidence, and neither is the
/// first count of the next host program.
#[test]
fn unknown_restarts_are_no_evidence() {
    let (mut fixture, first) = fleet(OnFailure::Pause);
    fixture.store.edit_fleet(|spec| spec.audit_interval = MINUTE * 5);
    fixture.deliver();
    fixture.host(first).hide_count(WEB);
    fixture.pass(MINUTE * 8);
    fixture.host(first).restart(WEB, 7);
    assert!(!is_stopped(fixture, first));
}
