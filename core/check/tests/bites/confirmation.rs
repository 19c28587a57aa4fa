//! The check `confirmation` bites.

use std::sync::Arc;

use seaworthy_check::check;
use seaworthy_model::component::Confirm;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::event::{Event, Outcome, Receipt};
use seaworthy_model::host::{OperationId, OperationState, Owner};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;
use seaworthy_model::report::Turn;

use super::fixture::{Fixture, WEB, want, web};
use super::{broken, turn_with};

fn is_confirm(action: &Action) -> bool {
    matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Confirm(_)))
}

fn about_to_confirm() -> (Fixture, Turn) {
    let mut fixture = Fixture::new(1);
    for version in fixture.store.versions.values_mut() {
        let spec = Arc::make_mut(version.spec.as_mut().expect("it is acceptable"));
        spec.content.confirm = Some(Confirm { within_seconds: 60 });
    }
    fixture.restart();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.deliver();
    let turn = turn_with(&mut fixture, is_confirm);
    (fixture, turn)
}

#[test]
fn confirmation_sees_what_does_not_wait() {
    let (fixture, turn) = about_to_confirm();
    let another = |action: &mut Action| {
        if let Effect::Host(order) = &mut action.effect {
            order.command = HostCommand::Confirm(OperationId { epoch: Epoch(1), sequence: 999 });
        }
    };
    assert_eq!(broken(&fixture, turn, is_confirm, another), ["confirmation"]);

    // The operation has ended meanwhile.
    let (mut fixture, turn) = about_to_confirm();
    let action = turn.actions.iter().find(|action| is_confirm(action)).expect("it is there").id;
    let mut facts = fixture.host(0).facts.clone();
    facts.operation.as_mut().expect("there is one").state = OperationState::Succeeded;
    let outcome = Outcome::Done(Receipt::Host(Box::new(facts)));
    fixture.engine.observe(Event::Finished { action, outcome });
    let names = check(fixture.engine.world(), &turn).into_iter().map(|breach| breach.invariant);
    assert!(names.collect::<Vec<_>>().contains(&"confirmation"));
}

#[test]
fn confirmation_sees_a_host_that_is_not_the_machines() {
    for change in [0, 1] {
        let (mut fixture, turn) = about_to_confirm();
        let action = turn.actions.iter().find(|action| is_confirm(action)).expect("it is there").id;
        let mut facts = fixture.host(0).facts.clone();
        if change == 0 {
            facts.owner = Owner::Machine(Uid(77));
        } else {
            facts.host = HostId(77);
        }
        let outcome = Outcome::Done(Receipt::Host(Box::new(facts)));
        fixture.engine.observe(Event::Finished { action, outcome });
        let names = check(fixture.engine.world(), &turn).into_iter().map(|breach| breach.invariant);
        assert!(names.collect::<Vec<_>>().contains(&"confirmation"), "{change}");
    }
}
