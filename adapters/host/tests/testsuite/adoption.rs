//! A host on which somebody else has installed just what is ordered: it is taken over as it is, and what runs goes on
//! running. Whatever interrupts that or speaks against it leaves him what he had.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use seaworthy_api::host::wire::Answer;
use seaworthy_host::{Steps, System, UnitState, Unobserved};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::ProbeCheck;
use seaworthy_model::host::OperationState;

use crate::world::artefacts::{Artefacts, NEW, install};
use crate::world::judge::{assert_whole, facts, outcome};
use crate::world::{World, apply, operation_id, scratch};

/// What somebody has put there, and what he has linked.
const FILES: [&str; 3] = ["usr/local/bin/webd", "usr/local/bin/webnew", "etc/systemd/system/webd.service"];
const WANTED: &str = "etc/systemd/system/multi-user.target.wants/webd.service";

/// A host on which the release runs, and nothing tells of who has installed it.
struct Found {
    world: World,
    artefacts: Artefacts,
    pid: u32,
    contents: Vec<Vec<u8>>,
}

impl Found {
    fn new(name: &str) -> Self {
        let base = scratch(name);
        let world = World::make(&base, &base.join("volatile"));
        let artefacts = Artefacts::serve();
        facts(world.handle(&apply(artefacts.install(1, NEW))));
        let contents: Vec<Vec<u8>> =
            FILES.iter().map(|path| fs::read(world.prefix().join(path)).unwrap()).collect();
        for (path, contents) in FILES.iter().zip(&contents) {
            let path = world.prefix().join(path);
            fs::remove_file(&path).unwrap();
            fs::write(&path, contents).unwrap();
        }
        let wanted = world.prefix().join(WANTED);
        fs::remove_file(&wanted).unwrap();
        std::os::unix::fs::symlink(world.prefix().join(FILES[2]), &wanted).unwrap();
        fs::remove_dir_all(world.layout().root()).unwrap();
        let pid = pid(&world).unwrap();
        Self { world, artefacts, pid, contents }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.world.prefix().join(path)
    }

    /// He still has what he had, and it runs.
    fn assert_left_alone(&self, what: &str) {
        for (path, contents) in FILES.iter().zip(&self.contents) {
            assert!(!fs::symlink_metadata(self.path(path)).unwrap().is_symlink(), "{what}: {path}");
            assert_eq!(&fs::read(self.path(path)).unwrap(), contents, "{what}: {path}");
        }
        assert_eq!(fs::canonicalize(self.path(WANTED)).unwrap(), self.path(FILES[2]), "{what}");
        assert_eq!(pid(&self.world), Some(self.pid), "{what}: it was started anew");
    }

    fn assert_taken_over(&self, what: &str) {
        assert_whole(&self.world, Some(NEW), &[], what);
        assert_eq!(pid(&self.world), Some(self.pid), "{what}: it was started anew");
    }

    fn end(self) {
        let base = self.world.base.clone();
        drop(self.world);
        fs::remove_dir_all(base).unwrap();
    }
}

fn pid(world: &World) -> Option<u32> {
    match world.units(&Unobserved).unit("webd.service").unwrap() {
        UnitState::Running { pid } => Some(pid),
        UnitState::Exited | UnitState::Waiting | UnitState::Stopped => None,
    }
}

#[test]
fn what_is_the_same_is_taken_over_while_it_runs() {
    let found = Found::new("adopted");
    let state = facts(found.world.handle(&apply(found.artefacts.install(2, NEW)))).operation.unwrap().state;
    assert_eq!(state, OperationState::Succeeded);
    found.assert_taken_over("adopted");
    found.end();
}

#[test]
fn what_does_not_run_is_started() {
    let found = Found::new("adopted-stopped");
    found.world.units(&Unobserved).stop("webd.service").unwrap();
    facts(found.world.handle(&apply(found.artefacts.install(2, NEW))));
    assert_whole(&found.world, Some(NEW), &[], "stopped");
    assert!(pid(&found.world).is_some_and(|pid| pid != found.pid));
    found.end();
}

#[test]
fn what_is_not_the_same_is_in_the_way() {
    for path in FILES {
        let mut found = Found::new("adopted-other");
        let index = FILES.iter().position(|other| *other == path).unwrap();
        found.contents[index].extend(b"\n# his own");
        // Not into the file that runs.
        fs::remove_file(found.path(path)).unwrap();
        fs::write(found.path(path), &found.contents[index]).unwrap();
        let reply = found.world.handle(&apply(found.artefacts.install(2, NEW)));
        let Answer::Refused(cause) = reply.answer else { panic!("{path}: {reply:?}") };
        assert_eq!(cause.kind, CauseKind::OperationInvalid);
        assert!(cause.detail.contains(path) && cause.detail.contains("in the way"), "{}", cause.detail);
        found.assert_left_alone(path);
        found.end();
    }
}

#[test]
fn what_turns_out_not_to_work_is_given_back() {
    let found = Found::new("adopted-sick");
    let mut recipe = found.artefacts.recipe(NEW);
    let probe = recipe.content.probe.as_mut().unwrap();
    probe.check = ProbeCheck::Exec { command: vec!["/bin/false".to_owned()] };
    probe.deadline_seconds = 2;
    let reply = found.world.handle(&apply(install(2, recipe)));
    let Answer::Refused(cause) = reply.answer else { panic!("{reply:?}") };
    assert_eq!(cause.kind, CauseKind::ProbeFailed, "{}", cause.detail);
    found.assert_left_alone("sick");
    assert!(!found.world.layout().current("webd").exists());
    found.end();
}

/// Unwinds at one of the steps.
struct Interruption {
    at: u64,
    reached: AtomicU64,
}

impl Steps for Interruption {
    fn reached(&self, _: &str) {
        if self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            resume_unwind(Box::new("interrupted"));
        }
    }
}

#[test]
fn interrupted_anywhere_it_is_taken_over_or_left_alone() {
    let mut points = 0;
    for at in 1.. {
        let found = Found::new("adopted-interrupted");
        let interruption = Interruption { at, reached: AtomicU64::new(0) };
        let order = apply(found.artefacts.install(2, NEW));
        let interrupted =
            catch_unwind(AssertUnwindSafe(|| found.world.handle_with(&order, &interruption))).is_err();
        let what = format!("interrupted after step {at}");
        match outcome(&found.world, 3, operation_id(2)) {
            Some(OperationState::Succeeded) => found.assert_taken_over(&what),
            Some(OperationState::Interrupted) | None => found.assert_left_alone(&what),
            other => panic!("{what}: {other:?}"),
        }
        facts(found.world.handle(&apply(found.artefacts.install(9, NEW))));
        found.assert_taken_over(&format!("{what}, then again"));
        found.end();
        if !interrupted {
            break;
        }
        points = at;
    }
    assert!(points > 40, "{points} steps are too few to be true");
}
