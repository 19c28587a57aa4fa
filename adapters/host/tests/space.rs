//! Disks that are too small, or become full: the operation fails with the cause that says so, leaves nothing behind, and
//! succeeds once there is room. The host's disk is a small one in memory.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]
#![allow(unreachable_pub, reason = "`world` is shared by tests that are crates of their own")]

mod world;

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seaworthy_api::host::wire::Answer;
use seaworthy_host::Steps;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Recipe;
use seaworthy_model::digest::Digest;
use seaworthy_model::host::OperationState;

use world::artefacts::{Archive, Artefacts, NEW, OLD, SICK, Served, install};
use world::judge::{assert_refused, assert_whole, facts, outcome};
use world::{World, apply, operation_id, scratch};

/// What the program leaves to others, and little more.
const DISK: &str = "size=72m,nr_inodes=1300,mode=755";

/// The room that it has on such a disk at most, in bytes.
const ROOM: u64 = 8 << 20;

fn main() {
    if let Some(reason) = unsupported() {
        println!("skipped: {reason}");
        return;
    }
    artefacts_that_do_not_fit();
    archives_that_do_not_fit();
    a_disk_that_is_full_before();
    a_disk_that_becomes_full();
}

/// Why this machine cannot do it.
fn unsupported() -> Option<&'static str> {
    if !cfg!(target_os = "linux") {
        return Some("it needs Linux, for tmpfs");
    }
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, to mount");
    }
    None
}

/// A host with the old edition on a small disk, and a server.
struct Small {
    world: World,
    artefacts: Artefacts,
    directory: PathBuf,
}

impl Small {
    fn host(name: &str) -> Self {
        let directory = scratch(name);
        let mount = directory.join("disk");
        fs::create_dir_all(&mount).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", DISK, "seaworthy-test"]).arg(&mount);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        let world = World::make(&mount, &directory.join("volatile"));
        let small = Self { world, artefacts: Artefacts::serve(), directory };
        small.succeed(1, small.artefacts.recipe(OLD));
        small
    }

    fn succeed(&self, sequence: u64, recipe: Recipe) {
        let reply = self.world.handle(&apply(install(sequence, recipe)));
        assert_eq!(facts(reply).operation.unwrap().state, OperationState::Succeeded);
    }

    /// Orders `recipe`, and checks that it fails for want of space and changes nothing. Gives the words.
    fn lack(&self, sequence: u64, recipe: Recipe, what: &str) -> String {
        let operation = install(sequence, recipe);
        assert_refused(&self.world, sequence, operation, CauseKind::NoSpace, what)
    }

    fn disk(&self) -> &Path {
        &self.world.base
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        world::units::stop_all(&self.world.volatile);
        // Whatever else goes wrong, no mount is left behind.
        let _ = Command::new("umount").arg("--lazy").arg(self.disk()).status();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn artefacts_that_do_not_fit() {
    let small = Small::host("space-artefacts");
    let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
    let table = [
        ("announced", "Content-Length: 1073741824\r\n", b"x".to_vec()),
        ("announced, all that may be", "Content-Length: 4294967296\r\n", b"x".to_vec()),
        ("without an end", "", vec![b'x'; 0x10000]),
        ("in chunks without an end", "Transfer-Encoding: chunked\r\n", chunk),
    ];
    for (sequence, (what, head, body)) in (10..).zip(table) {
        let served = Served { head: head.to_owned(), body, endless: true };
        let url = small.artefacts.put_as("large.tar.gz", served);
        let detail = small.lack(sequence, NEW.recipe(url, Digest::of(b"")), what);
        assert!(detail.starts_with("the artefact is larger than"), "{what}: {detail}");
    }
    small.succeed(100, small.artefacts.recipe(NEW));
    assert_whole(&small.world, Some(NEW), &[OLD, SICK], "what fits");
    println!("artefacts that do not fit: ok");
}

fn archives_that_do_not_fit() {
    let small = Small::host("space-archives");
    let large = vec![0; usize::try_from(ROOM).unwrap()];
    let files = || Archive::new().file("bin/webd", 0o755, b"x");
    let table = [
        ("one large file", files().file("large", 0o644, &large).finish()),
        (
            "many files",
            (0..64).fold(files(), |a, n| a.file(&format!("f{n}"), 0o644, &large[..1 << 17])).finish(),
        ),
    ];
    for (sequence, (what, archive)) in (10..).zip(table) {
        assert!(
            (archive.len() as u64) < ROOM / 20,
            "{what}: the artefact itself is small: {}",
            archive.len()
        );
        let url = small.artefacts.put("large.tar.gz", &archive);
        let detail = small.lack(sequence, NEW.recipe(url, Digest::of(&archive)), what);
        assert!(detail.starts_with("the release is larger than"), "{what}: {detail}");
    }
    println!("archives that do not fit: ok");
}

/// Somebody else has filled the disk as far as the reserve.
fn a_disk_that_is_full_before() {
    let small = Small::host("space-before");
    let lack_after = |sequence, what, fill: fn(&Path)| {
        let others = small.disk().join("others");
        fs::create_dir_all(&others).unwrap();
        fill(&others);
        let detail = small.lack(sequence, small.artefacts.recipe(NEW), what);
        let words = format!(" {what} are free");
        assert!(detail.starts_with("only ") && detail.contains(&words), "{what}: {detail}");
        fs::remove_dir_all(&others).unwrap();
    };
    lack_after(10, "bytes", |others| {
        fs::write(others.join("large"), vec![0; usize::try_from(ROOM).unwrap()]).unwrap();
    });
    lack_after(11, "inodes", |others| {
        for number in 0..300 {
            fs::write(others.join(number.to_string()), b"").unwrap();
        }
    });
    small.succeed(100, small.artefacts.recipe(NEW));
    assert_whole(&small.world, Some(NEW), &[OLD, SICK], "after room was made");
    println!("a disk that is full before: ok");
}

/// Takes all that is left of a disk after so many steps.
struct Greedy {
    after: u32,
    steps: Cell<u32>,
    file: PathBuf,
}

impl Steps for Greedy {
    fn reached(&self, _step: &str) {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() == self.after {
            let mut file = fs::File::create(&self.file).unwrap();
            while file.write_all(&[0; 4096]).is_ok() {}
        }
    }
}

/// Somebody else takes the reserve as well, after each step of an operation. Once there is room again the host has the
/// old release or the new one, whole, and what it says about the operation is true.
fn a_disk_that_becomes_full() {
    let (mut failed, mut succeeded) = (0, 0);
    for after in 1.. {
        let small = Small::host("space-meanwhile");
        let file = small.disk().join("others");
        let greedy = Greedy { after, steps: Cell::new(0), file };
        let order = apply(install(10, small.artefacts.recipe(NEW)));
        let reply = small.world.handle_with(&order, &greedy);
        if greedy.steps.get() < after {
            break;
        }
        fs::remove_file(&greedy.file).unwrap();
        let state = outcome(&small.world, 11, operation_id(10));
        let what = format!("full after step {after}: {reply:?}, then {state:?}");
        if state == Some(OperationState::Succeeded) {
            succeeded += 1;
            assert_whole(&small.world, Some(NEW), &[OLD, SICK], &what);
        } else {
            failed += 1;
            let (Answer::Later(cause) | Answer::Refused(cause)) = reply.answer else { panic!("{what}") };
            assert_eq!(cause.kind, CauseKind::NoSpace, "{what}");
            assert_whole(&small.world, Some(OLD), &[NEW, SICK], &what);
            small.succeed(100, small.artefacts.recipe(NEW));
        }
    }
    assert!(failed > 0 && succeeded > 0, "{failed} and {succeeded}: it was not full at all times");
    println!("a disk that becomes full after each of {} steps: ok, {failed} failed", failed + succeeded);
}
