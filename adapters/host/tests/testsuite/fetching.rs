//! An artefact that is fetched before an operation needs it: who may order that, what it changes, and what becomes of it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use seaworthy_api::host::wire::{Answer, Command, Fence, Reply, Request};
use seaworthy_host::Steps;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Architecture, Artefact};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::OperationState;
use seaworthy_model::id::Uid;

use crate::world::artefacts::{Artefacts, NEW, OLD, SICK, remove};
use crate::world::judge::{assert_whole, facts};
use crate::world::{World, apply, fence, request, scratch};

const FILE: &str = "webd-1.1.0.tar.gz";

/// A host on the old edition, and the server of both.
fn host(name: &str) -> (World, Artefacts) {
    let base = scratch(name);
    let (world, artefacts) = (World::make(&base, &base.join("volatile")), Artefacts::serve());
    install(&world, &artefacts, 1);
    (world, artefacts)
}

fn install(world: &World, artefacts: &Artefacts, sequence: u64) {
    let edition = if sequence == 1 { OLD } else { NEW };
    succeed(world.handle(&apply(artefacts.install(sequence, edition))));
}

fn succeed(reply: Reply) {
    assert_eq!(facts(reply).operation.unwrap().state, OperationState::Succeeded);
}

/// The artefact of the new edition, which is served.
fn artefact(artefacts: &Artefacts) -> Artefact {
    artefacts.recipe(NEW).artefact.unwrap()
}

fn fetch(sequence: u64, artefact: Artefact) -> Request {
    request(sequence, Command::Fetch(Box::new(artefact)))
}

fn cause(reply: Reply) -> Cause {
    match reply.answer {
        Answer::Later(cause) | Answer::Refused(cause) => cause,
        other @ (Answer::Done(_) | Answer::Pending) => panic!("not refused: {other:?}"),
    }
}

/// What is kept, by its name.
fn kept(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.layout().root().join("artefacts")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_was_fetched_is_installed_without_a_server() {
    let (world, artefacts) = host("fetching-reused");
    let wanted = artefact(&artefacts);
    let before = facts(world.handle(&request(2, Command::Facts)));
    let after = facts(world.handle(&fetch(3, wanted.clone())));
    assert_eq!((&after.components, &after.operation), (&before.components, &before.operation));
    assert_eq!(kept(&world), [wanted.sha256.to_string()]);
    assert_whole(&world, Some(OLD), &[NEW], "fetched");
    // Once more, also without a server.
    let new = artefacts.install(5, NEW);
    artefacts.take(FILE);
    facts(world.handle(&fetch(4, wanted)));
    succeed(world.handle(&apply(new)));
    assert_whole(&world, Some(NEW), &[OLD], "installed");
    assert_eq!(kept(&world), [""; 0], "it takes no room twice");
    world.end();
}

#[test]
fn what_cannot_be_fetched_leaves_nothing() {
    let (world, artefacts) = host("fetching-failed");
    let wanted = artefact(&artefacts);
    let wrong = Artefact { sha256: Digest::of(b"another"), ..wanted.clone() };
    let told = cause(world.handle(&fetch(2, wrong)));
    assert_eq!(told.kind, CauseKind::DigestMismatch, "{}", told.detail);
    assert_eq!(kept(&world), [""; 0]);
    artefacts.take(FILE);
    let told = cause(world.handle(&fetch(3, wanted.clone())));
    assert_eq!(told.kind, CauseKind::DownloadFailed);
    assert!(told.detail.contains("404") && told.detail.contains(&wanted.url), "{}", told.detail);
    assert_eq!(kept(&world), [""; 0]);
    let other =
        if wanted.architecture == Architecture::Amd64 { Architecture::Arm64 } else { Architecture::Amd64 };
    let told = cause(world.handle(&fetch(4, Artefact { architecture: other, ..wanted.clone() })));
    assert_eq!(told.kind, CauseKind::OperationInvalid);
    let told = cause(world.handle(&fetch(5, Artefact { url: "file:///etc/shadow".into(), ..wanted })));
    assert_eq!(told.kind, CauseKind::OperationInvalid);
    assert_whole(&world, Some(OLD), &[NEW], "untouched");
    world.end();
}

#[test]
fn a_damaged_artefact_is_fetched_again() {
    let (world, artefacts) = host("fetching-damaged");
    let wanted = artefact(&artefacts);
    let place = world.layout().root().join("artefacts").join(wanted.sha256.to_string());
    facts(world.handle(&fetch(2, wanted.clone())));
    fs::write(&place, "another").unwrap();
    facts(world.handle(&fetch(3, wanted.clone())));
    assert_eq!(Digest::of(&fs::read(&place).unwrap()), wanted.sha256);
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("/etc/machine-id", &place).unwrap();
    install(&world, &artefacts, 4);
    assert_whole(&world, Some(NEW), &[OLD], "fetched by the operation");
    world.end();
}

#[test]
fn one_artefact_is_kept_until_an_operation_has_ended_or_the_host_is_given_up() {
    let (world, artefacts) = host("fetching-bounded");
    let first = artefacts.recipe(SICK).artefact.unwrap();
    let second = artefact(&artefacts);
    facts(world.handle(&fetch(2, first)));
    facts(world.handle(&fetch(3, second.clone())));
    assert_eq!(kept(&world), [second.sha256.to_string()]);
    succeed(world.handle(&apply(remove(4))));
    facts(world.handle(&fetch(5, second)));
    facts(world.handle(&request(6, Command::Disown)));
    assert_eq!(kept(&world), [""; 0]);
    world.end();
}

#[test]
fn only_the_owner_has_a_host_fetch_and_in_order() {
    let (world, artefacts) = host("fetching-owners");
    let wanted = artefact(&artefacts);
    let by = |fence: Fence| Request { fence, ..fetch(0, wanted.clone()) };
    let other = Fence { machine: Uid(2), machine_name: "m2".into(), ..fence(99) };
    assert_eq!(cause(world.handle(&by(other))).kind, CauseKind::OwnedByAnother);
    facts(world.handle(&by(fence(5))));
    facts(world.handle(&by(fence(5))));
    assert_eq!(cause(world.handle(&by(fence(4)))).kind, CauseKind::FenceRefused);
    succeed(world.handle(&apply(remove(6))));
    facts(world.handle(&request(7, Command::Disown)));
    assert_eq!(cause(world.handle(&by(fence(8)))).kind, CauseKind::FenceRefused, "nobody's");
    assert_eq!(kept(&world), [""; 0]);
    world.end();
}

#[test]
fn it_is_not_begun_beside_an_operation_and_keeps_none_from_beginning() {
    let (world, artefacts) = host("fetching-busy");
    let (wanted, new) = (artefact(&artefacts), artefacts.install(10, NEW));
    artefacts.hold(FILE);
    let fetching = world.begin_beside(fetch(2, wanted.clone()));
    world.wait_for("state/fetch.lock", "it does not begin");
    assert_eq!(cause(world.handle(&fetch(3, wanted.clone()))).kind, CauseKind::HostBusy, "one at a time");
    let installing = world.begin_beside(apply(new));
    world.wait_for("staging/e1-s10", "the operation waits for what is fetched");
    assert_eq!(cause(world.begin_beside(fetch(11, wanted)).join().unwrap()).kind, CauseKind::HostBusy);
    artefacts.release(FILE);
    succeed(installing.join().unwrap());
    drop(fetching.join().unwrap());
    assert_whole(&world, Some(NEW), &[OLD], "installed");
    world.end();
}

/// Ends the thread at one of its steps.
struct Death {
    at: u64,
    reached: AtomicU64,
}

impl Steps for Death {
    fn reached(&self, _step: &str) {
        if self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            resume_unwind(Box::new(()));
        }
    }
}

#[test]
fn it_may_be_killed_after_each_of_its_steps() {
    let mut points = 0;
    loop {
        let (world, artefacts) = host("fetching-killed");
        let wanted = artefact(&artefacts);
        let death = Death { at: points + 1, reached: AtomicU64::new(0) };
        let order = fetch(2, wanted.clone());
        let is_over = catch_unwind(AssertUnwindSafe(|| facts(world.handle_with(&order, &death)))).is_ok();
        let seen = facts(world.handle(&request(3, Command::Facts)));
        assert_eq!(seen.operation.unwrap().id.sequence, 1, "nobody hears of it");
        if points % 2 == 0 {
            facts(world.handle(&fetch(4, wanted.clone())));
            assert_eq!(kept(&world), [wanted.sha256.to_string()], "after step {points}");
        }
        install(&world, &artefacts, 5);
        assert_eq!(kept(&world), [""; 0], "after step {points}");
        assert_whole(&world, Some(NEW), &[OLD], "killed");
        world.end();
        if is_over {
            break;
        }
        points += 1;
    }
    assert!(points > 5, "{points} steps are too few to be true");
}
