//! What a paused machine says of itself.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, want, web};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};

const MINUTE: Duration = Duration::from_secs(60);

fn told(fixture: &Fixture, kind: ConditionKind) -> Option<(Truth, Reason)> {
    let condition = fixture.store.machines[&0].status.condition(kind)?;
    Some((condition.truth, condition.reason))
}

/// Its software runs. Alerts for machines that are not ready must not fire because of what a person wants.
#[test]
fn a_paused_machine_stays_ready_and_has_a_condition_of_its_own() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(60 * MINUTE);
    let ready = Some((Truth::True, Reason::AsDesired));
    assert_eq!(told(&fixture, ConditionKind::Paused), None);
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(MINUTE);
    let paused = Some((Truth::True, Reason::Paused));
    assert_eq!(
        (told(&fixture, ConditionKind::Ready), told(&fixture, ConditionKind::Paused)),
        (ready, paused)
    );

    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.host(0).version(WEB), Some(web(1)));
    assert_eq!(
        (told(&fixture, ConditionKind::Ready), told(&fixture, ConditionKind::Paused)),
        (ready, paused)
    );
    assert_eq!(told(&fixture, ConditionKind::InSync), Some((Truth::False, Reason::Paused)));

    fixture.store.edit_machine(0, |spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.host(0).version(WEB), Some(web(2)));
    assert_eq!((told(&fixture, ConditionKind::Ready), told(&fixture, ConditionKind::Paused)), (ready, None));
}

/// Why a version failed says nothing of the pause that comes after it.
#[test]
fn a_reason_does_not_keep_the_detail_of_the_one_before() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(60 * MINUTE);
    fixture.host(0).broken = vec![web(2)];
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    fixture.pass(60 * MINUTE);
    let in_sync = |fixture: &Fixture| {
        let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap();
        (condition.reason, condition.detail.is_some())
    };
    assert_eq!(in_sync(&fixture), (Reason::Cause(CauseKind::ProbeFailed), true));
    fixture.store.edit_machine(0, |spec| (spec.pins, spec.paused) = ([want(WEB, web(3))].into(), true));
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(in_sync(&fixture), (Reason::Paused, false));
}
