//! Releases that have to be confirmed: who may confirm what, and until when.

use std::time::Duration;

use seaworthy_api::host::wire::{Answer, Change, Command, Fence, Operation, Reply};
use seaworthy_host::Unobserved;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Confirm, Rollback};
use seaworthy_model::host::OperationState;
use seaworthy_model::id::Uid;

use crate::world::artefacts::{Artefacts, GUARDED, NEW, OLD, SICK, WITHIN};
use crate::world::judge::{assert_whole, confirm, facts, lapse};
use crate::world::{World, apply, fence, operation_id, request};

fn new_host(name: &str) -> (World, Artefacts) {
    (World::new(name), Artefacts::serve())
}

fn state(reply: Reply) -> OperationState {
    facts(reply).operation.unwrap().state
}

fn cause(reply: Reply) -> CauseKind {
    match reply.answer {
        Answer::Refused(cause) | Answer::Later(cause) => cause.kind,
        other @ (Answer::Done(_) | Answer::Pending) => panic!("done: {other:?}"),
    }
}

/// A host with the old edition, on which operation 2 waits to be confirmed.
fn waiting(name: &str) -> (World, Artefacts) {
    let (world, artefacts) = new_host(name);
    assert_eq!(state(world.handle(&apply(artefacts.install(1, OLD)))), OperationState::Succeeded);
    let applied = world.handle(&apply(artefacts.install(2, GUARDED)));
    assert_eq!(state(applied), OperationState::Unconfirmed);
    (world, artefacts)
}

#[test]
fn what_waits_is_reported_and_keeps_everything_else_out() {
    let (world, artefacts) = waiting("confirm-waits");
    assert_eq!(state(world.handle(&apply(artefacts.install(2, GUARDED)))), OperationState::Unconfirmed);
    let status = world.handle(&request(3, Command::Status(operation_id(2))));
    assert_eq!(state(status), OperationState::Unconfirmed);
    assert_eq!(cause(world.handle(&apply(artefacts.install(4, NEW)))), CauseKind::HostBusy);
    assert_eq!(cause(world.handle(&request(5, Command::Disown))), CauseKind::HostBusy);
    let units = world.units(&Unobserved);
    let resumed = world.with_host(&units, &Unobserved, |host| host.resume()).unwrap();
    assert_eq!(resumed, Some(operation_id(2)));
    let status = world.handle(&request(6, Command::Status(operation_id(2))));
    assert_eq!(state(status), OperationState::Unconfirmed, "nothing confirms it by itself");
    world.end();
}

#[test]
fn a_confirmation_ends_it_and_is_answered_again() {
    let (world, artefacts) = waiting("confirm-ends");
    for sequence in [3, 3, 4] {
        let confirmed = confirm(&world, sequence, operation_id(2), &Unobserved);
        assert_eq!(state(confirmed), OperationState::Succeeded);
    }
    assert_whole(&world, Some(GUARDED), &[OLD], "confirmed");
    // Its alarm rings all the same.
    lapse(&world, operation_id(2), &Unobserved);
    assert_whole(&world, Some(GUARDED), &[OLD], "confirmed, and the alarm rang");
    // What changes nothing needs no confirmation.
    assert_eq!(state(world.handle(&apply(artefacts.install(5, GUARDED)))), OperationState::Succeeded);
    world.end();
}

#[test]
fn what_is_not_confirmed_in_time_is_taken_back() {
    let (world, artefacts) = waiting("confirm-lapses");
    lapse(&world, operation_id(2), &Unobserved);
    assert_whole(&world, Some(OLD), &[GUARDED], "lapsed");
    let status = world.handle(&request(3, Command::Status(operation_id(2))));
    assert!(matches!(state(status), OperationState::Failed(cause) if cause.kind == CauseKind::NotConfirmed));
    for sequence in [4, 5] {
        let late = confirm(&world, sequence, operation_id(2), &Unobserved);
        assert_eq!(cause(late), CauseKind::NotConfirmed);
    }
    // Neither is another that failed confirmed afterwards.
    assert_eq!(cause(world.handle(&apply(artefacts.install(6, SICK)))), CauseKind::ProbeFailed);
    assert_eq!(cause(confirm(&world, 7, operation_id(6), &Unobserved)), CauseKind::ProbeFailed);
    world.end();
}

#[test]
fn who_comes_too_late_before_the_alarm_rang_confirms_nothing() {
    let (world, _artefacts) = waiting("confirm-late");
    world.units(&Unobserved).pass(Duration::from_secs(WITHIN.into()));
    assert_eq!(cause(confirm(&world, 3, operation_id(2), &Unobserved)), CauseKind::NotConfirmed);
    assert_whole(&world, Some(OLD), &[GUARDED], "too late");
    world.end();
}

#[test]
fn a_boot_begins_the_time_anew_and_once() {
    let (world, _artefacts) = waiting("confirm-boot");
    let units = world.units(&Unobserved);
    units.pass(Duration::from_secs(50));
    units.boot_up();
    let status = world.handle(&request(3, Command::Status(operation_id(2))));
    assert_eq!(state(status), OperationState::Unconfirmed);
    assert_eq!(units.pass(Duration::from_secs(50)), [], "not yet");
    world.with_host(&units, &Unobserved, |host| host.execute(operation_id(2))).unwrap();
    lapse(&world, operation_id(2), &Unobserved);
    assert_whole(&world, Some(OLD), &[GUARDED], "lapsed after a boot");
    world.end();
}

#[test]
fn only_the_owner_confirms_and_only_what_was_ordered() {
    let (world, _artefacts) = waiting("confirm-owner");
    let id = operation_id(2);
    let with = |fence: Fence| {
        let mut order = request(0, Command::Confirm(id));
        order.fence = fence;
        cause(world.handle(&order))
    };
    assert_eq!(with(Fence { machine: Uid(2), ..fence(9) }), CauseKind::OwnedByAnother);
    assert_eq!(with(Fence { cluster: "c2".into(), ..fence(9) }), CauseKind::OwnedByAnother);
    assert_eq!(with(fence(1)), CauseKind::FenceRefused, "older than the order itself");
    assert_eq!(cause(confirm(&world, 3, operation_id(7), &Unobserved)), CauseKind::FenceRefused);
    // One that is over is answered with its own end, and the one that waits goes on waiting.
    assert_eq!(state(confirm(&world, 4, operation_id(1), &Unobserved)), OperationState::Succeeded);
    let status = world.handle(&request(5, Command::Status(id)));
    assert_eq!(state(status), OperationState::Unconfirmed);
    world.end();
}

#[test]
fn what_nothing_would_take_back_does_not_stay() {
    let (world, artefacts) = new_host("confirm-no-alarm");
    assert_eq!(state(world.handle(&apply(artefacts.install(1, OLD)))), OperationState::Succeeded);
    let mut units = world.units(&Unobserved);
    units.alarms = false;
    let order = apply(artefacts.install(2, GUARDED));
    let reply = world.with_host(&units, &Unobserved, |host| host.handle(&order));
    assert_eq!(cause(reply), CauseKind::HostFailed);
    assert_whole(&world, Some(OLD), &[GUARDED], "no alarm");
    world.end();
}

#[test]
fn a_confirmation_that_makes_no_sense_is_refused() {
    let (world, artefacts) = new_host("confirm-nonsense");
    let order = |change: fn(&mut seaworthy_model::component::Content)| {
        let mut operation: Operation = artefacts.install(1, GUARDED);
        let Change::Install(release) = &mut operation.change else { unreachable!("it installs") };
        change(&mut release.recipe.content);
        cause(world.handle(&apply(operation)))
    };
    let invalid = CauseKind::OperationInvalid;
    assert_eq!(order(|content| content.confirm = Some(Confirm { within_seconds: 9 })), invalid);
    assert_eq!(order(|content| content.confirm = Some(Confirm { within_seconds: 3601 })), invalid);
    assert_eq!(order(|content| content.rollback = Rollback::Unsafe), invalid);
    world.end();
}
