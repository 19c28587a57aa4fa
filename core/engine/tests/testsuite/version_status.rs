//! The status of versions: what it says, how fresh it is, and that the finalizer never waits for it.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, picture, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{VersionConditionKind, VersionReason, VersionStatus};
use seaworthy_model::detail::VersionDetail;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::id::VersionId;
use seaworthy_model::machine::Truth;
use seaworthy_model::meta::SpecError;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A fleet on `web-1`.
fn on_web_1(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.limit(machines);
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture
}

fn status(fixture: &Fixture, version: VersionId) -> &VersionStatus {
    &fixture.store.versions[&version.0].status
}

/// What a condition says.
fn told(fixture: &Fixture, version: VersionId, kind: VersionConditionKind) -> (Truth, VersionReason) {
    let told = status(fixture, version).condition(kind).expect("every status has the condition");
    (told.truth, told.reason)
}

fn in_use(fixture: &Fixture, version: VersionId) -> (Truth, VersionReason) {
    told(fixture, version, VersionConditionKind::InUse)
}

/// What a deletion waits for, as it was told.
fn leaving(fixture: &Fixture, version: VersionId) -> Option<(u32, String)> {
    let told = status(fixture, version).condition(VersionConditionKind::InUse)?;
    let Some(VersionDetail::Leaving { users, machine }) = &told.detail else { return None };
    Some((*users, machine.as_deref().unwrap_or_default().to_owned()))
}

/// A number that grows with every write of the object.
fn written(fixture: &Fixture, version: VersionId) -> u64 {
    fixture.store.versions[&version.0].meta.resource_version
}

fn pin(fixture: &mut Fixture, machine: u32, version: Option<VersionId>) {
    let pins = version.map(|version| want(WEB, version)).into_iter().collect();
    fixture.store.edit_machine(machine, |spec| spec.pins = pins);
    fixture.deliver();
}

const fn is_status(action: &Action) -> bool {
    matches!(action.effect, Effect::WriteVersionStatus(_))
}

/// Turns until the status of a version is to be written; everything else is executed on the way.
fn next_status(fixture: &mut Fixture, version: VersionId) -> Action {
    for _ in 0..20 {
        let _ = fixture.turn();
        let is_meant = |action: &Action| is_status(action) && action.target == Target::Version(version);
        if let Some(index) = fixture.pending.iter().position(is_meant) {
            return fixture.pending.remove(index);
        }
        fixture.execute();
    }
    panic!("the status of {version:?} is not written");
}

#[test]
fn a_version_is_accepted_and_says_what_uses_it() {
    let mut fixture = on_web_1(2);
    for version in [web(1), web(2)] {
        let accepted = told(&fixture, version, VersionConditionKind::Accepted);
        assert_eq!(accepted, (Truth::True, VersionReason::Accepted));
        assert_eq!(status(&fixture, version).observed_generation, 1);
    }
    assert_eq!(in_use(&fixture, web(1)), (Truth::True, VersionReason::Default));
    assert_eq!(in_use(&fixture, web(2)), (Truth::False, VersionReason::NotInUse));
    pin(&mut fixture, 1, Some(web(2)));
    fixture.settle();
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines));
    fixture.upgrade();
    fixture.settle();
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Default));
    assert_eq!(in_use(&fixture, web(1)), (Truth::True, VersionReason::Default), "some would go back to it");
    fixture.pass(HOUR);
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(in_use(&fixture, web(1)), (Truth::False, VersionReason::NotInUse));
    assert_eq!(in_use(&fixture, web(3)), (Truth::True, VersionReason::Default));
}

#[test]
fn a_spec_that_is_refused_is_told_with_its_faults() {
    let mut fixture = Fixture::new(1);
    let fault = SpecError { field: "spec.probe".into(), message: "exactly one must be set".into() };
    fixture.store.versions.get_mut(&1).unwrap().spec = Err([fault.clone()].into());
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.pass(HOUR);
    let accepted = status(&fixture, web(2)).condition(VersionConditionKind::Accepted).unwrap();
    assert_eq!((accepted.truth, accepted.reason), (Truth::False, VersionReason::InvalidSpec));
    assert_eq!(accepted.detail, Some(VersionDetail::Faults([fault].into())));
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Default), "it is wanted all the same");
    let before = written(&fixture, web(2));
    fixture.pass(HOUR);
    assert_eq!(written(&fixture, web(2)), before);
}

#[test]
fn the_same_is_not_written_again() {
    let mut fixture = on_web_1(3);
    let versions = || (0..6).map(VersionId);
    let before: Vec<u64> = versions().map(|version| written(&fixture, version)).collect();
    fixture.pass(HOUR);
    fixture.store.touch_version(1);
    fixture.deliver();
    fixture.list();
    fixture.settle();
    fixture.restart();
    fixture.pass(HOUR);
    let mut after: Vec<u64> = versions().map(|version| written(&fixture, version)).collect();
    assert!(after[1] > before[1], "somebody else has written it");
    after[1] = before[1];
    assert_eq!(after, before);
}

/// Of what the hosts report nothing leads to another look.
#[test]
fn what_a_machine_does_is_no_reason_to_look() {
    let mut fixture = on_web_1(2);
    pin(&mut fixture, 0, Some(web(2)));
    fixture.pass(HOUR);
    pin(&mut fixture, 0, None);
    fixture.settle();
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines), "the machine still has it");
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines), "as of the last look");
    fixture.store.touch_version(1);
    fixture.deliver();
    fixture.settle();
    assert_eq!(in_use(&fixture, web(2)), (Truth::False, VersionReason::NotInUse));
}

#[test]
fn a_deletion_says_what_it_waits_for_and_goes() {
    let mut fixture = on_web_1(2);
    pin(&mut fixture, 1, Some(web(2)));
    fixture.pass(HOUR);
    for version in [web(1), web(2)] {
        fixture.store.delete_version(version);
        fixture.deliver();
        fixture.settle();
    }
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines));
    assert_eq!(leaving(&fixture, web(2)), Some((1, "m1".into())));
    assert_eq!(leaving(&fixture, web(1)), Some((2, "m0".into())), "the defaults count as one");
    let before = (written(&fixture, web(1)), written(&fixture, web(2)));
    fixture.pass(HOUR);
    assert_eq!((written(&fixture, web(1)), written(&fixture, web(2))), before);
    pin(&mut fixture, 1, None);
    fixture.pass(HOUR);
    assert!(!fixture.store.versions.contains_key(&web(2).0), "nobody uses it any more");
    assert!(fixture.store.versions.contains_key(&web(1).0));
}

#[test]
fn a_number_of_users_is_told_again_when_it_is_another_and_not_at_once() {
    let mut fixture = on_web_1(10);
    for machine in 0..10 {
        pin(&mut fixture, machine, Some(web(2)));
    }
    fixture.pass(HOUR);
    fixture.store.delete_version(web(2));
    fixture.deliver();
    fixture.settle();
    assert_eq!(leaving(&fixture, web(2)), Some((10, "m0".into())));
    for machine in 0..4 {
        pin(&mut fixture, machine, None);
    }
    fixture.pass(HOUR);
    assert_eq!(leaving(&fixture, web(2)), Some((10, "m0".into())), "six are about as many");
    for machine in 4..6 {
        pin(&mut fixture, machine, None);
    }
    fixture.pass(HOUR);
    assert_eq!(leaving(&fixture, web(2)), Some((4, "m6".into())));
    pin(&mut fixture, 6, None);
    pin(&mut fixture, 7, None);
    let since = fixture.now;
    while leaving(&fixture, web(2)) != Some((2, "m8".into())) {
        assert!(fixture.now < since + MINUTE + MINUTE, "two are half of four");
        fixture.pass(Duration::from_secs(1));
    }
    pin(&mut fixture, 8, None);
    fixture.store.touch_version(1);
    fixture.deliver();
    fixture.settle();
    assert_eq!(leaving(&fixture, web(2)), Some((2, "m8".into())), "one a minute");
    fixture.pass(MINUTE + MINUTE);
    assert_eq!(leaving(&fixture, web(2)), Some((1, "m9".into())));
}

#[test]
fn the_finalizer_goes_first() {
    let mut fixture = Fixture::new(1);
    let mut first = None;
    while first.is_none() {
        let turn = fixture.turn();
        first = turn.actions.iter().find(|action| action.target == Target::Version(web(1))).cloned();
        fixture.execute_or_wait(&turn);
    }
    assert!(matches!(first.unwrap().effect, Effect::WriteFinalizers(_)));
    fixture.pass(HOUR);
    fixture.store.delete_version(web(3));
    fixture.deliver();
    while fixture.store.versions.contains_key(&web(3).0) {
        let turn = fixture.turn();
        assert!(!turn.actions.iter().any(is_status), "{}", picture(&turn));
        fixture.execute_or_wait(&turn);
    }
}

/// Nobody may write the status, for instance because a role was not updated.
#[test]
fn a_status_that_is_refused_holds_up_no_finalizer() {
    let mut fixture = on_web_1(1);
    pin(&mut fixture, 0, Some(web(2)));
    let refused = || Outcome::Refused(Cause::new(CauseKind::ApiRefused, "forbidden"));
    let action = next_status(&mut fixture, web(2));
    fixture.engine.observe(Event::Finished { action: action.id, outcome: refused() });
    let turn = fixture.turn();
    assert!(!turn.actions.iter().any(is_status), "it is tried later: {}", picture(&turn));
    fixture.execute();
    // Somebody takes our finalizer away, and no watch has shown that the object is another one in between.
    let version = fixture.store.versions.get_mut(&web(2).0).unwrap();
    version.meta.finalizers = std::sync::Arc::default();
    let seen = version.clone();
    fixture.see(Observation::Version(web(2), Some(Box::new(seen))));
    let held = fixture.turn();
    assert!(picture(&held).contains("version 1: finalizers"), "{}", picture(&held));
    fixture.pass(HOUR);
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines), "it was tried again");
}

#[test]
fn a_lost_reply_is_followed_by_a_look_and_no_second_write() {
    let mut fixture = on_web_1(1);
    pin(&mut fixture, 0, Some(web(2)));
    let action = next_status(&mut fixture, web(2));
    let outcome = fixture.outcome(&action);
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    fixture.engine.observe(Event::Finished { action: action.id, outcome: Outcome::Unknown });
    let before = written(&fixture, web(2));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(in_use(&fixture, web(2)), (Truth::True, VersionReason::Machines));
    assert_eq!(written(&fixture, web(2)), before);
}

#[test]
fn nothing_is_told_while_the_store_counts_as_regressed() {
    let mut fixture = on_web_1(1);
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    let before = written(&fixture, web(2));
    pin(&mut fixture, 0, Some(web(2)));
    fixture.pass(HOUR);
    assert_eq!(written(&fixture, web(2)), before);
    assert_eq!(in_use(&fixture, web(2)), (Truth::False, VersionReason::NotInUse));
}
