//! Orders that are not what they pass for, and words that are too many.

use std::fs;

use seaworthy_api::host::wire::Command;
use seaworthy_host::Unobserved;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::lease::Epoch;

use super::{changed, new_host, refusal};
use crate::world::judge::facts;
use crate::world::{apply, operation_id, request};

#[test]
fn an_operation_has_the_number_of_its_order() {
    let (world, artefacts) = new_host("number");
    let mut order = apply(changed(&artefacts, 5, "webd", |_| {}));
    for (epoch, sequence) in [(1, 4), (1, 6), (2, 5)] {
        (order.fence.epoch, order.fence.sequence) = (Epoch(epoch), sequence);
        let cause = refusal(&world, &order);
        assert_eq!(cause.kind, CauseKind::OperationInvalid, "{}", cause.detail);
        assert!(cause.detail.contains("e1-s5"), "{}", cause.detail);
    }
    assert_eq!(facts(world.handle(&request(1, Command::Facts))).owner, None, "nothing was claimed");
    (order.fence.epoch, order.fence.sequence) = (Epoch(1), 5);
    facts(world.handle(&order));
    // Once it is known, a later order may ask what became of it.
    order.fence.sequence = 7;
    assert_eq!(facts(world.handle(&order)).operation.unwrap().id, operation_id(5));
    world.end();
}

#[test]
fn an_answer_does_not_repeat_whatever_it_was_told() {
    let (world, _) = new_host("words");
    let mut order = request(1, Command::Facts);
    order.fence.cluster = "x".repeat(8 << 20);
    let cause = refusal(&world, &order);
    assert!(cause.detail.len() < 5_000, "{} bytes", cause.detail.len());
    order.fence.cluster = "\u{1b}[2J".into();
    assert!(!refusal(&world, &order).detail.contains('\u{1b}'));
    world.end();
}

/// Whoever can give one order can give one with the highest epoch there is. After that nobody is obeyed, until people say so.
#[test]
fn fences_are_forgotten_when_people_say_so() {
    let (world, artefacts) = new_host("fences");
    facts(world.handle(&apply(changed(&artefacts, 1, "webd", |_| {}))));
    let mut highest = request(9, Command::Facts);
    highest.fence.epoch = Epoch(u32::MAX);
    facts(world.handle(&highest));
    let next = apply(changed(&artefacts, 2, "webd", |_| {}));
    assert_eq!(refusal(&world, &next).kind, CauseKind::FenceRefused);
    let units = world.units(&Unobserved);
    let before = world.with_host(&units, &Unobserved, |host| host.forget_fences_by_force()).unwrap();
    assert_eq!(before.epoch("c1"), Epoch(u32::MAX));
    facts(world.handle(&next));
    let journal = fs::read_to_string(world.layout().root().join("state/people.journal")).unwrap();
    assert!(journal.contains("fencesForgotten") && journal.contains("4294967295"), "{journal}");
    world.end();
}

/// The same by the operator, when a person has told it to: once, and only for the epoch that was named. The ids of earlier
/// operations may come again.
#[test]
fn fences_are_reset_once_by_an_order_of_the_owner() {
    let (world, artefacts) = new_host("reset");
    facts(world.handle(&apply(changed(&artefacts, 1, "webd", |_| {}))));
    let mut highest = request(9, Command::Facts);
    highest.fence.epoch = Epoch(u32::MAX);
    facts(world.handle(&highest));
    let reset = |sequence, epoch| request(sequence, Command::ResetFences(Epoch(epoch)));
    assert_eq!(refusal(&world, &reset(2, 7)).kind, CauseKind::FenceRefused);
    let told = facts(world.handle(&reset(2, u32::MAX)));
    assert_eq!((told.epoch, told.operation), (reset(2, 0).fence.epoch, None));
    assert_eq!(refusal(&world, &reset(3, u32::MAX)).kind, CauseKind::FenceRefused);
    let journal = fs::read_to_string(world.layout().root().join("state/people.journal")).unwrap();
    assert!(journal.contains("fencesForgotten") && journal.contains("4294967295"), "{journal}");
    facts(world.handle(&apply(changed(&artefacts, 4, "webd", |_| {}))));
    world.end();
}
