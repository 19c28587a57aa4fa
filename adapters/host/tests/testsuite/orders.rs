//! What a host makes of orders: who may give them, how often, and what they do to what is already right, was changed by
//! hand, or does not work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use seaworthy_api::host::wire::{Answer, Command, Facts, Fence, Reply, Request};
use seaworthy_host::{Host, Site, System, UnitState, Unobserved};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{CgroupVersion, Rollback};
use seaworthy_model::host::{Drift, OperationState};
use seaworthy_model::id::Uid;
use seaworthy_model::invocation::Invocation;
use seaworthy_model::lease::Epoch;

use crate::world::artefacts::{ANEW, Artefacts, BARE, Edition, NEW, OLD, SICK, UNFIT, install, remove};
use crate::world::flawed::{Flaw, Flawed};
use crate::world::judge::{assert_whole, facts};
use crate::world::{LAUNCHER, World, apply, fence, operation_id, request};

fn new_host(name: &str) -> (World, Artefacts) {
    (World::new(name), Artefacts::serve())
}

fn succeed(reply: Reply) -> Facts {
    let facts = facts(reply);
    assert_eq!(facts.operation.as_ref().unwrap().state, OperationState::Succeeded);
    facts
}

fn refusal(reply: Reply) -> (CauseKind, String) {
    match reply.answer {
        Answer::Refused(cause) => (cause.kind, cause.detail),
        other @ (Answer::Done(_) | Answer::Later(_) | Answer::Pending) => panic!("not refused: {other:?}"),
    }
}

fn later(reply: Reply) -> CauseKind {
    match reply.answer {
        Answer::Later(cause) => cause.kind,
        other @ (Answer::Done(_) | Answer::Refused(_) | Answer::Pending) => panic!("not later: {other:?}"),
    }
}

fn pid(world: &World) -> Option<u32> {
    match world.units(&Unobserved).unit("webd.service").unwrap() {
        UnitState::Running { pid } => Some(pid),
        UnitState::Exited | UnitState::Waiting | UnitState::Stopped => None,
    }
}

fn journal_lines(world: &World, sequence: u64) -> usize {
    let units = world.units(&Unobserved);
    world.with_host(&units, &Unobserved, |host| host.journal(operation_id(sequence)).unwrap().len())
}

#[test]
fn a_host_that_was_never_worked_on_remembers_who_looked_and_nothing_else() {
    let (world, artefacts) = new_host("orders-untouched");
    let seen = facts(world.handle(&request(5, Command::Facts)));
    assert_eq!(seen.owner, None);
    assert_eq!(seen.components, []);
    assert_eq!(seen.operation, None);
    assert!(seen.platform.program.is_some() && seen.platform.free_bytes > 0);
    assert_eq!(fs::read_dir(world.layout().root().join("current")).unwrap().count(), 0);
    // A late order of an older operator must not claim the host behind the back of the one that looked.
    let (kind, _) = refusal(world.handle(&apply(artefacts.install(4, OLD))));
    assert_eq!(kind, CauseKind::FenceRefused);
    let seen = facts(world.handle(&request(6, Command::Status(operation_id(9)))));
    assert_eq!((seen.owner, seen.operation), (None, None));
    world.end();
}

#[test]
fn what_is_right_is_left_alone() {
    let (world, artefacts) = new_host("orders-idempotent");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let before = pid(&world);
    assert!(before.is_some());
    artefacts.take("webd-1.0.0.tar.gz");
    let again = install(
        2,
        OLD.recipe("http://127.0.0.1:1/gone".into(), seaworthy_model::digest::Digest::of(&OLD.archive())),
    );
    succeed(world.handle(&apply(again)));
    assert_eq!(pid(&world), before, "the service was not restarted");
    assert_eq!(journal_lines(&world, 2), 3, "accepted, started, ended");
    world.end();
}

#[test]
fn a_repeated_order_is_answered_from_the_journal() {
    let (world, artefacts) = new_host("orders-repeated");
    let good = apply(artefacts.install(1, OLD));
    let bad = apply(artefacts.install(2, SICK));
    succeed(world.handle(&good));
    assert_eq!(refusal(world.handle(&bad)).0, CauseKind::ProbeFailed);
    let (lines, process) = (journal_lines(&world, 2), pid(&world));
    assert_eq!(refusal(world.handle(&bad)).0, CauseKind::ProbeFailed);
    // A later fence and an operation that ended long ago.
    let late = Request { fence: fence(3), ..good };
    succeed(world.handle(&late));
    assert_eq!((journal_lines(&world, 2), pid(&world)), (lines, process), "nothing was done again");
    assert_whole(&world, Some(OLD), &[SICK], "repeated");
    world.end();
}

#[test]
fn an_upgrade_a_way_back_and_a_removal() {
    let (world, artefacts) = new_host("orders-cycle");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    succeed(world.handle(&apply(artefacts.install(2, NEW))));
    assert_whole(&world, Some(NEW), &[OLD], "upgraded");
    // The old release is there still, so the way back needs no server.
    let back = artefacts.install(3, OLD);
    artefacts.take("webd-1.0.0.tar.gz");
    succeed(world.handle(&apply(back)));
    assert_whole(&world, Some(OLD), &[NEW], "gone back");
    let seen = succeed(world.handle(&apply(remove(4))));
    assert_eq!(seen.components, []);
    assert_eq!(seen.owner.unwrap().machine, Uid(1), "removing is not disowning");
    assert_whole(&world, None, &[OLD, NEW], "removed");
    assert_eq!(pid(&world), None);
    succeed(world.handle(&apply(remove(5))));
    let seen = facts(world.handle(&request(6, Command::Disown)));
    assert_eq!(seen.owner, None);
    assert!(!world.prefix().join("etc/systemd/system/seaworthy-resume.service").exists());
    world.end();
}

type Damage = fn(&Path, &World);

/// What is done to a release, how it is reported, and in which words.
const DAMAGES: &[(&str, Drift, &str, Damage)] = &[
    ("edited file", Drift::FILES, "etc/webd.conf has sha256 ", |release, _| {
        fs::write(release.join("etc/webd.conf"), "by hand").unwrap()
    }),
    ("missing file", Drift::FILES, "share/doc/README is gone", |release, _| {
        fs::remove_file(release.join("share/doc/README")).unwrap()
    }),
    ("other mode", Drift::FILES, "others than root may write to bin/check", |release, _| {
        fs::set_permissions(release.join("bin/check"), fs::Permissions::from_mode(0o777)).unwrap();
    }),
    ("file in place of a link", Drift::FILES, "share/README is no link", |release, _| {
        fs::remove_file(release.join("share/README")).unwrap();
        fs::write(release.join("share/README"), "by hand").unwrap();
    }),
    (
        "edited unit, and systemd has read it",
        Drift::FILES,
        ".seaworthy/webd.service has sha256 ",
        |release, world| {
            let line = format!("[Service]\nExecStart={} 1000000\n", release.join("bin/webd").display());
            fs::write(release.join(".seaworthy/webd.service"), line).unwrap();
            let units = world.units(&Unobserved);
            units.reload().unwrap();
            units.restart("webd.service").unwrap();
        },
    ),
    ("release gone", Drift::FILES, " is gone", |release, _| {
        fs::remove_dir_all(fs::canonicalize(release).unwrap()).unwrap()
    }),
    ("missing link", Drift::LINKS, "/usr/local/bin/webd is gone", |_, world| {
        fs::remove_file(world.prefix().join("usr/local/bin/webd")).unwrap();
    }),
    ("file in place of a host link", Drift::LINKS, "/usr/local/bin/webd is no link", |_, world| {
        fs::remove_file(world.prefix().join("usr/local/bin/webd")).unwrap();
        fs::write(world.prefix().join("usr/local/bin/webd"), "by hand").unwrap();
    }),
    ("not started at boot", Drift::LINKS, "multi-user.target.wants/webd.service is gone", |_, world| {
        let wanted = "etc/systemd/system/multi-user.target.wants/webd.service";
        fs::remove_file(world.prefix().join(wanted)).unwrap();
    }),
    ("stopped", Drift::NOT_RUNNING, "webd.service does not run", |_, world| {
        world.units(&Unobserved).stop("webd.service").unwrap()
    }),
    ("another binary runs", Drift::WRONG_BINARY, "webd.service runs another binary", |release, world| {
        let binary = release.join("bin/webd");
        let own = fs::read(&binary).unwrap();
        world.units(&Unobserved).stop("webd.service").unwrap();
        let replace = |contents: &[u8]| {
            fs::remove_file(&binary).unwrap();
            fs::write(&binary, contents).unwrap();
            fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        };
        replace(&[&own[..], b"changed"].concat());
        world.units(&Unobserved).restart("webd.service").unwrap();
        replace(&own);
    }),
];

#[test]
fn drift_is_seen_and_repaired() {
    let (world, artefacts) = new_host("orders-drift");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let release = world.layout().current("webd");
    fs::write(release.join("webd.pid"), "1").unwrap();
    for (number, (what, drift, words, damage)) in (1..).zip(DAMAGES) {
        damage(&release, &world);
        let seen = facts(world.handle(&request(number * 10, Command::Facts)));
        assert_eq!(seen.components[0].drift, *drift, "{what}");
        assert!(seen.components[0].differs.as_deref().unwrap().contains(words), "{what}: {seen:?}");
        assert_eq!(seen.components[0].version_name, "webd-1.0.0", "{what}");
        let repaired = succeed(world.handle(&apply(artefacts.install(number * 10 + 1, OLD))));
        assert_eq!(repaired.components[0].drift, Drift::NONE, "{what}: repaired");
        assert_whole(&world, Some(OLD), &[NEW], what);
    }
    world.end();
}

/// A service that dies and is started again runs whenever somebody looks: only the count tells of it. An order to start it
/// begins a new count.
#[test]
fn restarts_of_a_service_are_reported_until_it_is_started_by_an_order() {
    let (world, artefacts) = new_host("orders-restarts");
    let seen = |counter| {
        let facts = facts(world.handle(&request(counter, Command::Facts)));
        assert_eq!(facts.components[0].drift, Drift::NONE);
        facts.components[0].restarts
    };
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    assert_eq!(seen(2), Some(0));
    world.units(&Unobserved).crash("webd.service");
    world.units(&Unobserved).crash("webd.service");
    assert_eq!(seen(3), Some(2));
    let changed = succeed(world.handle(&apply(artefacts.install(4, NEW))));
    assert_eq!(changed.components[0].restarts, Some(0));
    world.units(&Unobserved).crash("webd.service");
    assert_eq!(seen(5), Some(1));
    world.end();
}

#[test]
fn a_release_that_does_not_work() {
    let (world, artefacts) = new_host("orders-sick");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let (kind, detail) = refusal(world.handle(&apply(artefacts.install(2, SICK))));
    assert_eq!(kind, CauseKind::ProbeFailed, "{detail}");
    assert!(detail.contains("bin/check"), "{detail}");
    assert_whole(&world, Some(OLD), &[SICK], "restored");

    let unsafe_one = Edition { rollback: Rollback::Unsafe, ..SICK };
    let (kind, detail) = refusal(world.handle(&apply(artefacts.install(3, unsafe_one))));
    assert_eq!(kind, CauseKind::RollbackFailed, "{detail}");
    assert_whole(&world, Some(SICK), &[], "what cannot go back stays");

    // Its way out is a release that works; then one to which there is no way back, since its binary is gone.
    succeed(world.handle(&apply(artefacts.install(4, OLD))));
    fs::remove_file(world.layout().current("webd").join("bin/webd")).unwrap();
    let (kind, detail) = refusal(world.handle(&apply(artefacts.install(5, SICK))));
    assert_eq!(kind, CauseKind::RollbackFailed, "{detail}");
    succeed(world.handle(&apply(artefacts.install(6, NEW))));
    assert_whole(&world, Some(NEW), &[SICK], "a good release puts everything right");
    world.end();
}

#[test]
fn one_operation_at_a_time() {
    let (world, artefacts) = new_host("orders-busy");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let slow = apply(artefacts.install(10, NEW));
    artefacts.hold("webd-1.1.0.tar.gz");
    let first = world.begin_beside(slow.clone());
    world.wait_for("staging/e1-s10", "it does not begin");
    assert_eq!(later(world.handle_beside(&apply(artefacts.install(20, SICK)))), CauseKind::HostBusy);
    assert_eq!(later(world.handle_beside(&apply(remove(21)))), CauseKind::HostBusy);
    assert_eq!(later(world.handle_beside(&request(22, Command::Disown))), CauseKind::HostBusy);
    let seen = facts(world.handle_beside(&request(23, Command::Facts)));
    assert_eq!(seen.operation.unwrap().state, OperationState::Running);
    assert_eq!(seen.components[0].version_name, "webd-1.0.0");
    // The same order again, under a later fence, attaches to what is under way.
    let second = world.begin_beside(Request { fence: fence(30), ..slow });
    artefacts.release("webd-1.1.0.tar.gz");
    succeed(first.join().unwrap());
    succeed(second.join().unwrap());
    assert_whole(&world, Some(NEW), &[OLD, SICK], "both were answered");
    world.end();
}

#[test]
fn owners_and_fences() {
    let (world, artefacts) = new_host("orders-owners");
    succeed(world.handle(&apply(artefacts.install(5, OLD))));
    let by = |fence: Fence, command: Command| Request { fence, ..request(0, command) };
    let other = || Fence { machine: Uid(2), machine_name: "m2".into(), ..fence(99) };
    let foreign = || Fence { cluster: "c2".into(), epoch: Epoch(9), ..fence(99) };
    for fence in [other(), foreign()] {
        let (kind, detail) = refusal(world.handle(&by(fence.clone(), apply(remove(6)).command)));
        assert_eq!(kind, CauseKind::OwnedByAnother);
        assert!(detail.contains("m1") && detail.contains("c1"), "{detail}");
        assert_eq!(refusal(world.handle(&by(fence.clone(), Command::Disown))).0, CauseKind::OwnedByAnother);
        let seen = facts(world.handle(&by(fence, Command::Facts)));
        assert_eq!(seen.owner.unwrap().machine, Uid(1));
        assert_eq!(seen.epoch, Epoch(1), "a stranger's epoch is not remembered");
    }
    // The owner's next operator is seen; then an order of the one before, which is late, is refused.
    let next = Fence { epoch: Epoch(2), ..fence(1) };
    assert_eq!(facts(world.handle(&by(next.clone(), Command::Facts))).epoch, Epoch(2));
    assert_eq!(refusal(world.handle(&apply(remove(7)))).0, CauseKind::FenceRefused);
    assert_eq!(refusal(world.handle(&request(8, Command::Disown))).0, CauseKind::FenceRefused);
    assert_eq!(
        refusal(world.handle(&request(8, Command::Status(operation_id(5))))).0,
        CauseKind::FenceRefused
    );
    let old = facts(world.handle(&request(8, Command::Facts)));
    assert_eq!(old.epoch, Epoch(2), "an operator that was set back learns of it");
    assert_whole(&world, Some(OLD), &[NEW], "nothing was done");
    // A person can free the host; the numbers stay.
    let units = world.units(&Unobserved);
    let before = world.with_host(&units, &Unobserved, |host| host.disown_by_force()).unwrap().unwrap();
    assert_eq!(before.owner.unwrap().machine_name, "m1");
    assert_eq!(refusal(world.handle(&apply(remove(9)))).0, CauseKind::FenceRefused);
    let mut removal = remove(99);
    removal.id.epoch = Epoch(9);
    succeed(world.handle(&by(foreign(), apply(removal).command)));
    world.end();
}

#[test]
fn a_damaged_memory_stops_everything_until_a_person_decides() {
    let (world, artefacts) = new_host("orders-damaged");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    fs::write(world.layout().root().join("state/memory.json"), "{").unwrap();
    for command in [Command::Facts, Command::Disown, apply(remove(2)).command] {
        assert_eq!(later(world.handle(&request(2, command))), CauseKind::HostFailed);
    }
    let units = world.units(&Unobserved);
    assert_eq!(world.with_host(&units, &Unobserved, |host| host.disown_by_force()).unwrap(), None);
    succeed(world.handle(&apply(artefacts.install(3, OLD))));
    world.end();
}

#[test]
fn operations_of_another_cluster_are_not_mistaken_for_ours() {
    let (world, artefacts) = new_host("orders-clusters");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    facts(world.handle(&request(2, Command::Disown)));
    let fence = Fence { cluster: "c2".into(), ..fence(1) };
    succeed(world.handle(&Request { fence, ..apply(artefacts.install(1, NEW)) }));
    assert_whole(&world, Some(NEW), &[OLD], "an operation of the same name was carried out");
    world.end();
}

#[test]
fn an_accepted_operation_is_never_said_not_to_have_begun() {
    for flaw in [Flaw::StartsNothing, Flaw::DeniesStart, Flaw::HidesUnits] {
        let (world, artefacts) = new_host("orders-flawed");
        let system = Flawed { units: world.units(&Unobserved), flaw };
        let host = Host::new(Site {
            layout: world.layout(),
            system: &system,
            steps: &Unobserved,
            program: &LAUNCHER,
        });
        let reply = host.handle(&apply(artefacts.install(1, OLD)));
        let state = facts(world.handle(&request(2, Command::Facts))).operation.unwrap().state;
        match system.flaw {
            Flaw::StartsNothing => {
                assert_eq!(refusal(reply), (CauseKind::HostFailed, "flawed".into()));
                assert!(matches!(state, OperationState::Failed(_)), "{state:?}");
            }
            Flaw::DeniesStart => {
                succeed(reply);
            }
            Flaw::HidesUnits => {
                assert_eq!(reply.answer, Answer::Pending);
                assert_eq!(state, OperationState::Succeeded);
            }
            Flaw::StaysUp | Flaw::IgnoresReloads => unreachable!("they are not among them"),
        }
        world.end();
    }
}

#[test]
fn a_host_that_refuses_to_reboot_keeps_the_old_release() {
    let (world, artefacts) = new_host("orders-stays-up");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let system = Flawed { units: world.units(&Unobserved), flaw: Flaw::StaysUp };
    let host =
        Host::new(Site { layout: world.layout(), system: &system, steps: &Unobserved, program: &LAUNCHER });
    let reply = host.handle(&apply(artefacts.install(2, ANEW)));
    assert_eq!(refusal(reply), (CauseKind::HostFailed, "flawed".into()));
    assert_whole(&world, Some(OLD), &[ANEW], "after the refusal");
    world.end();
}

#[test]
fn a_new_release_whose_manifest_is_lost_gives_way_to_the_old_one() {
    let (world, artefacts) = new_host("orders-manifest");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    succeed(world.handle(&apply(artefacts.install(2, NEW))));
    // As if the host had gone down right after the swap.
    let root = world.layout().root().to_owned();
    let journal = root.join("state/operations").join(format!("{}.journal", operation_id(2)));
    let lines = fs::read_to_string(&journal).unwrap();
    let (until, _) = lines.split_once("swapped").unwrap();
    fs::write(&journal, &until[..=until.rfind('\n').unwrap()]).unwrap();
    fs::remove_file(root.join("previous/webd")).unwrap();
    let manifests = root.join("manifests/webd");
    let lost = fs::read_dir(&manifests).unwrap().map(|entry| entry.unwrap().path());
    fs::remove_file(lost.into_iter().find(|path| path.to_string_lossy().contains("1.1.0")).unwrap()).unwrap();
    let seen = facts(world.handle(&request(3, Command::Facts)));
    let state = facts(world.handle(&request(4, Command::Facts))).operation.unwrap().state;
    assert!(matches!(state, OperationState::Failed(_)), "{state:?} after {seen:?}");
    assert_whole(&world, Some(OLD), &[NEW], "the old one is back");
    world.end();
}

#[test]
fn old_operations_are_forgotten() {
    let (world, artefacts) = new_host("orders-forgotten");
    for sequence in 1..=103 {
        succeed(world.handle(&apply(artefacts.install(sequence, OLD))));
    }
    let kept = fs::read_dir(world.layout().root().join("state/operations")).unwrap().count();
    assert_eq!(kept, 2 * 101, "orders and journals of a hundred operations and the one that came last");
    let seen = facts(world.handle(&request(200, Command::Status(operation_id(1)))));
    assert_eq!(seen.operation, None);
    world.end();
}

/// Orders the edition with other commands in its removal.
fn with_removal(artefacts: &Artefacts, sequence: u64, before: &str, after: &str) -> Request {
    let mut recipe = artefacts.recipe(OLD);
    let removal = recipe.content.removal.as_mut().unwrap();
    let shell = |script: &str| Invocation {
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        timeout_seconds: 1,
    };
    removal.before_stop = vec![shell(before)];
    removal.after_stop = vec![shell(after)];
    apply(install(sequence, recipe))
}

#[test]
fn a_preflight_that_fails_touches_nothing_and_says_why() {
    let (world, artefacts) = new_host("orders-preflight");
    succeed(world.handle(&apply(artefacts.install(1, OLD))));
    let before = pid(&world);
    let (kind, words) = refusal(world.handle(&apply(artefacts.install(2, UNFIT))));
    assert_eq!(kind, CauseKind::PreflightFailed);
    assert!(words.contains("exit status: 7") && words.ends_with("unfit"), "{words}");
    assert_eq!(pid(&world), before, "the service was not restarted");
    assert_whole(&world, Some(OLD), &[UNFIT], "preflight");
    world.end();
}

#[test]
fn a_removal_waits_for_its_commands_and_says_which_one_failed() {
    let (world, artefacts) = new_host("orders-removal");
    let flag = world.base.join("flag");
    let guarded = format!("echo no flag; test -e {}", flag.display());
    succeed(world.handle(&with_removal(&artefacts, 1, &guarded, "true")));
    let (kind, words) = refusal(world.handle(&apply(remove(2))));
    assert_eq!(kind, CauseKind::RemovalFailed);
    assert!(words.contains("exit status: 1") && words.ends_with("no flag"), "{words}");
    assert_whole(&world, Some(OLD), &[], "nothing is stopped by a command that comes first");
    fs::write(&flag, "").unwrap();
    succeed(world.handle(&apply(remove(3))));
    assert_whole(&world, None, &[OLD], "removed");
    // One that comes last finds the unit stopped, and one that ought to come first is left out from then on.
    succeed(world.handle(&with_removal(&artefacts, 4, &guarded, &format!("rm {}; exit 3", flag.display()))));
    assert_eq!(refusal(world.handle(&apply(remove(5)))).0, CauseKind::RemovalFailed);
    assert_eq!(pid(&world), None);
    let seen = facts(world.handle(&request(6, Command::Facts)));
    assert_eq!(seen.components[0].drift, Drift::LINKS.with(Drift::NOT_RUNNING));
    let (_, words) = refusal(world.handle(&apply(remove(7))));
    assert!(words.contains("exit status: 3"), "{words}");
    // Whoever wants it again gets it again.
    succeed(world.handle(&with_removal(&artefacts, 8, "true", "sleep 60")));
    let (kind, words) = refusal(world.handle(&apply(remove(9))));
    assert_eq!(kind, CauseKind::RemovalFailed);
    assert!(words.contains("not done after 1 s"), "{words}");
    succeed(world.handle(&with_removal(&artefacts, 10, "true", "no-such-program")));
    assert!(refusal(world.handle(&apply(remove(11)))).1.contains("127"));
    world.end();
}

#[test]
fn a_release_without_an_artefact_or_a_process_is_whole_all_the_same() {
    let (world, artefacts) = new_host("orders-bare");
    succeed(world.handle(&apply(artefacts.install(1, BARE))));
    assert_whole(&world, Some(BARE), &[], "bare");
    assert_eq!(world.units(&Unobserved).unit("webd.service").unwrap(), UnitState::Exited);
    world.units(&Unobserved).stop("webd.service").unwrap();
    let seen = facts(world.handle(&request(2, Command::Facts)));
    assert_eq!(seen.components[0].drift, Drift::NOT_RUNNING);
    succeed(world.handle(&apply(artefacts.install(3, BARE))));
    assert_whole(&world, Some(BARE), &[], "bare again");
    world.end();
}

#[test]
fn the_version_of_control_groups_is_what_is_mounted() {
    let (world, _) = new_host("orders-cgroups");
    let reported = |sequence| facts(world.handle(&request(sequence, Command::Facts))).cgroup_version;
    assert_eq!(reported(1), None);
    let root = world.prefix().join("sys/fs/cgroup");
    fs::create_dir_all(root.join("unified")).unwrap();
    assert_eq!(reported(2), Some(CgroupVersion::V1));
    fs::write(root.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
    assert_eq!(reported(3), Some(CgroupVersion::V2));
    world.end();
}
