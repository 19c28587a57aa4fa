//! Cuts the power after each step of an operation: all that was not synced is lost. The host's disk is an ext4 in a file
//! that commits nothing by itself; a copy of that file, taken at the moment of the cut, is the disk after it.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]
#![allow(unreachable_pub, reason = "`world` is shared by tests that are crates of their own")]

mod world;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seaworthy_api::host::wire::Request;
use seaworthy_host::{Steps, Unobserved};

use world::artefacts::Artefacts;
use world::authority::Authority;
use world::identity;
use world::scenario::{Then, VICTIM, for_each};
use world::{World, apply, scratch};

/// The smallest disk that has the free space which the program leaves to others. Nearly all of it is a hole.
const DISK_BYTES: u64 = 160 << 20;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--victim") {
        return victim(&arguments[at + 1..]);
    }
    if let Some(reason) = unsupported() {
        println!("skipped: {reason}");
        return;
    }
    let artefacts = Artefacts::serve();
    for_each("power cut", |scenario| {
        cut_everywhere(
            scenario.name,
            |world| {
                scenario.set_up(world, &artefacts);
                apply(scenario.operation(&artefacts, VICTIM))
            },
            |world, _, what| scenario.judge(world, &artefacts, what),
        )
    });
    let authority = Authority::new();
    for scenario in &identity::SCENARIOS {
        let points = cut_everywhere(
            scenario.name,
            |world| {
                scenario.set_up(world, &authority);
                scenario.request(world, &authority)
            },
            |world, order, what| scenario.judge(world, &authority, order, what),
        );
        assert!(points > 5, "{}: {points} steps are too few to be true", scenario.name);
        println!("power cut after each of {points} steps: identity, {}", scenario.name);
    }
}

/// Why this machine cannot do it.
fn unsupported() -> Option<&'static str> {
    if !cfg!(target_os = "linux") {
        return Some("it needs Linux, for ext4 and loop devices");
    }
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, to mount");
    }
    None
}

/// Stops at each step until it is told to go on, so that the disk can be copied.
struct Pause;

impl Steps for Pause {
    fn reached(&self, step: &str) {
        let mut output = stdout().lock();
        writeln!(output, "{step}").unwrap();
        output.flush().unwrap();
        stdin().lock().read_exact(&mut [0]).unwrap();
    }
}

/// The process whose disk loses power: carries out the request that it is given.
fn victim(arguments: &[String]) {
    let [base, volatile, name] = arguments else { panic!("--victim BASE VOLATILE SCENARIO") };
    // It lives on in the parent, which stops what it started.
    let world = std::mem::ManuallyDrop::new(World::make(Path::new(base), Path::new(volatile)));
    let mut line = String::new();
    stdin().lock().read_line(&mut line).unwrap();
    let order: Request = serde_json::from_str(&line).unwrap();
    Then::of(name).carry_through(&world, &order, &Pause);
}

/// A file that holds a disk.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn format(image: PathBuf, mount: PathBuf) -> Self {
        fs::create_dir_all(&mount).unwrap();
        fs::File::create(&image).unwrap().set_len(DISK_BYTES).unwrap();
        let features = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run(Command::new("mkfs.ext4")
            .args(["-q", "-F", "-b", "1024", "-N", "4096", "-J", "size=4", "-E", features])
            .arg(&image));
        Self { image, mount }
    }

    /// Mounts it so that nothing reaches the image unless it is synced, within the time of this test.
    fn mount(&self) -> Mounted<'_> {
        run(Command::new("mount")
            .args(["-o", "loop,noatime,data=ordered,commit=600"])
            .args([&self.image, &self.mount]));
        Mounted { mount: &self.mount }
    }

    /// The disk as it would be if the power failed now.
    fn copy(&self, image: PathBuf) -> Self {
        run(Command::new("cp").arg("--sparse=always").args([&self.image, &image]));
        Self { image, mount: self.mount.clone() }
    }
}

struct Mounted<'a> {
    mount: &'a Path,
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Whatever else goes wrong, no mount is left behind.
        let _ = Command::new("umount").arg("--lazy").arg(self.mount).status();
    }
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Cuts the power after each step of the order that `set_up` brings a host to; gives the number of steps.
fn cut_everywhere(
    name: &str,
    set_up: impl Fn(&World) -> Request,
    judge: impl Fn(&World, &Request, &str),
) -> u64 {
    let directory = scratch(&format!("power-cut-{}", name.replace(' ', "-")));
    let (mount, volatile) = (directory.join("disk"), directory.join("volatile"));
    let disk = Disk::format(directory.join("image"), mount.clone());
    let mut cuts = Vec::new();
    let order = {
        let _mounted = disk.mount();
        let world = World::make(&mount, &volatile);
        let order = set_up(&world);
        // What was there before is old and safe.
        rustix::fs::syncfs(fs::File::open(&mount).unwrap()).unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .arg("--victim")
            .args([&mount, &volatile])
            .arg(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        for step in BufReader::new(child.stdout.take().unwrap()).lines() {
            let copy = disk.copy(directory.join(format!("cut-{}", cuts.len() + 1)));
            cuts.push((step.unwrap(), copy));
            input.write_all(b"\n").unwrap();
        }
        assert!(child.wait().unwrap().success());
        order
    };
    for (number, (step, disk)) in cuts.iter().enumerate() {
        let _mounted = disk.mount();
        let world = World::make(&mount, &volatile);
        world.units(&Unobserved).boot_up();
        let what = format!("{name}: power cut after step {}: {step}", number + 1);
        judge(&world, &order, &what);
        drop(world);
        fs::remove_file(&disk.image).unwrap();
    }
    let _ = fs::remove_dir_all(&directory);
    cuts.len() as u64
}
