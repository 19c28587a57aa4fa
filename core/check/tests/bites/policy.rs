//! What `policy` sees.

use seaworthy_engine::Owner;
use seaworthy_model::component_set::{OnLeave, SetSpec};
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::id::SetId;

use seaworthy_model::policy::Freeze;
use seaworthy_model::selector::Selector;
use seaworthy_model::strategy::Strategy;
use seaworthy_model::time::Timestamp;

use super::fixture::{Fixture, WEB, want, web};
use super::{broken, is_admission, is_install, turn_with};

/// A freeze arrives behind the back of the engine: the turn was decided without it.
fn freeze(fixture: &mut Fixture) {
    let until = Timestamp::from_millis(fixture.now.millis() + 3_600_000);
    fixture.store.edit_policy(0, |spec| {
        spec.freezes = vec![Freeze { from: Timestamp::from_millis(0), until, reason: "sale".into() }];
    });
    fixture.deliver();
}

fn grants(action: &Action) -> bool {
    let (Effect::WritePackageVersionStatus(status) | Effect::WriteSetStatus(status)) = &action.effect else {
        return false;
    };
    status.rollouts.iter().any(|rollout| rollout.granted.as_ref().is_some_and(|ranks| !ranks.is_empty()))
}

fn everybody_on_web_2() -> SetSpec {
    SetSpec {
        selector: Selector::default(),
        priority: 0,
        components: vec![want(WEB, web(2))],
        on_leave: OnLeave::Keep,
        paused: false,
        strategy: Strategy::default(),
        canary: None,
    }
}

#[test]
fn policy_sees_a_change_during_a_freeze() {
    let mut fixture = Fixture::on_web_1(2, 1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    let turn = turn_with(&mut fixture, is_install);
    assert!(broken(&fixture, turn.clone(), is_install, |_| {}).is_empty());
    freeze(&mut fixture);
    assert_eq!(broken(&fixture, turn, is_install, |_| {}), ["policy"]);
}

#[test]
fn policy_sees_a_grant_during_a_freeze() {
    let mut fixture = Fixture::on_web_1(4, 2);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    let turn = turn_with(&mut fixture, grants);
    assert!(broken(&fixture, turn.clone(), is_admission, |_| {}).is_empty());
    freeze(&mut fixture);
    assert_eq!(broken(&fixture, turn, is_admission, |_| {}), ["policy"]);
}

#[test]
fn policy_sees_a_grant_of_a_set_during_a_freeze() {
    let mut fixture = Fixture::on_web_1(4, 2);
    fixture.store.apply_set(Owner::Set(SetId(0)), everybody_on_web_2());
    fixture.deliver();
    let turn = turn_with(&mut fixture, grants);
    assert!(broken(&fixture, turn.clone(), grants, |_| {}).is_empty());
    freeze(&mut fixture);
    assert_eq!(broken(&fixture, turn, grants, |_| {}), ["policy"]);
}
