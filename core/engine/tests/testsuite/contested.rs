//! A part that is repaired again and again is contested: repairs become slower, and a condition reports it.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, is_change, want, web};
use seaworthy_model::detail::Detail;
use seaworthy_model::host::Drift;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};

const MINUTE: Duration = Duration::from_secs(60);
const AUDIT: Duration = Duration::from_secs(600);

/// One machine that is audited every ten minutes and has everything.
fn settled() -> Fixture {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.store.edit_fleet(|spec| spec.audit_interval = AUDIT);
    fixture.deliver();
    fixture.pass(2 * AUDIT);
    assert_eq!(fixture.web(), [Some(1)]);
    fixture
}

/// Lets another agent undo every repair within a minute, for this long. Returns the number of repairs.
fn fight(fixture: &mut Fixture, minutes: u32) -> u32 {
    let before = fixture.host(0).changes;
    for _ in 0..minutes {
        fixture.host(0).drift(WEB);
        fixture.pass(MINUTE);
    }
    fixture.host(0).changes - before
}

/// Waits until the host is changed, and loses the answer.
fn lose_answer(fixture: &mut Fixture) {
    for _ in 0..40 {
        let turn = fixture.turn();
        let is_change = fixture.pending.iter().any(is_change);
        if is_change {
            fixture.lost_replies.insert(0, 1);
        }
        fixture.execute_or_wait(&turn);
        if is_change {
            return;
        }
    }
    panic!("nothing is changed");
}

fn told(fixture: &Fixture) -> (Truth, Reason, Option<Detail>) {
    let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap();
    (condition.truth, condition.reason, condition.detail.as_deref().cloned())
}

#[test]
fn each_repair_that_did_not_last_makes_the_next_one_wait_longer() {
    let mut fixture = settled();
    let first_hour = fight(&mut fixture, 60);
    assert!((4..=9).contains(&first_hour), "{first_hour}");
    let (_, reason, detail) = told(&fixture);
    assert_eq!(reason, Reason::Contested);
    let Some(Detail::Contested { component, .. }) = detail else { panic!("{detail:?}") };
    assert_eq!(component.as_deref(), Some("web"));
    let (second, third) = (fight(&mut fixture, 120), fight(&mut fixture, 240));
    assert!(second <= 2 && third <= 2, "{second} {third}");
    assert_eq!(told(&fixture).0, Truth::False, "it waits, and says so");
}

#[test]
fn a_repair_counts_whose_answer_is_lost() {
    let mut fixture = settled();
    for _ in 0..3 {
        fixture.host(0).drift(WEB);
        lose_answer(&mut fixture);
        fixture.pass(MINUTE);
        assert!(fixture.host(0).facts.components.iter().all(|found| found.drift == Drift::NONE));
    }
    let contested = Detail::Contested { component: Some("web".into()), times: 3, minutes: 1 };
    assert_eq!(told(&fixture), (Truth::True, Reason::Contested, Some(contested)));
}

#[test]
fn an_installation_whose_answer_is_lost_is_no_repair() {
    let mut fixture = settled();
    for version in [2, 1, 2] {
        fixture.store.defaults(vec![want(WEB, web(version))]);
        fixture.deliver();
        lose_answer(&mut fixture);
        fixture.pass(MINUTE);
        assert_eq!(fixture.web(), [Some(version)]);
    }
    assert_eq!(told(&fixture).1, Reason::AsDesired);
}

#[test]
fn whoever_repairs_last_says_that_it_will_hardly_stay_so() {
    let mut fixture = settled();
    for _ in 0..3 {
        fixture.host(0).drift(WEB);
        fixture.pass(AUDIT);
    }
    let contested = Detail::Contested { component: Some("web".into()), times: 3, minutes: 1 };
    assert_eq!(told(&fixture), (Truth::True, Reason::Contested, Some(contested)));
    fixture.pass(3 * AUDIT);
    assert_eq!(told(&fixture).1, Reason::Contested, "half an hour is less than it would wait before long");
    fixture.pass(4 * AUDIT);
    assert_eq!(told(&fixture).1, Reason::AsDesired, "it was left alone since");
    fixture.host(0).drift(WEB);
    let changes = fixture.host(0).changes;
    fixture.pass(AUDIT);
    assert_eq!(fixture.host(0).changes, changes + 1);
}

#[test]
fn who_audits_often_does_not_take_his_own_wait_for_peace() {
    let mut fixture = settled();
    fixture.store.edit_fleet(|spec| spec.audit_interval = MINUTE);
    fixture.deliver();
    let before = fixture.host(0).changes;
    // The other agent undoes each repair after two audits have found it in order.
    for _ in 0..20 {
        fixture.host(0).drift(WEB);
        fixture.pass(3 * MINUTE);
    }
    let repairs = fixture.host(0).changes - before;
    assert!((4..=9).contains(&repairs), "{repairs}");
}

#[test]
fn a_changed_spec_ends_the_wait() {
    let mut fixture = settled();
    fight(&mut fixture, 120);
    assert!(!fixture.host(0).facts.components.iter().all(|found| found.drift == Drift::NONE));
    fixture.store.edit_machine(0, |_| ());
    fixture.deliver();
    fixture.settle();
    assert!(fixture.host(0).facts.components.iter().all(|found| found.drift == Drift::NONE));
}

#[test]
fn another_version_does_not_wait() {
    let mut fixture = settled();
    fight(&mut fixture, 120);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
}
