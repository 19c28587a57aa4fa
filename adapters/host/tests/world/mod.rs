//! A host for tests in a plain directory: real files, real processes, and a small stand-in for systemd.
#![allow(dead_code, reason = "each test uses its own part of it")]

pub mod artefacts;
pub mod authority;
pub mod flawed;
pub mod identity;
pub mod judge;
pub mod scenario;
pub mod units;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{fs, mem, process, thread};

use seaworthy_api::host::wire::{Command, Fence, Operation, PROTOCOL, Reply, Request};
use seaworthy_host::{Host, Layout, Site, Steps, Unobserved};
use seaworthy_model::host::OperationId;
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;

pub use units::Units;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_seaworthy-host");

/// A script that runs the program. It stands in for it on hosts in a directory: the digest of the file is in every reply,
/// and the program itself is 24 MB without optimisation.
pub static LAUNCHER: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seaworthy-host");
    let text = format!("#!/bin/sh\nexec {PROGRAM} \"$@\"\n");
    if !fs::read_to_string(&path).is_ok_and(|found| found == text) {
        // No thread of this process may have the file open for writing: another could not run it then.
        let script = "printf %s \"$1\" > \"$2.$$\" && chmod 755 \"$2.$$\" && mv \"$2.$$\" \"$2\"";
        let status =
            process::Command::new("sh").args(["-c", script, "sh", &text]).arg(&path).status().unwrap();
        assert!(status.success(), "cannot write {}", path.display());
    }
    path
});

/// A host in the directory `base`; what does not survive a power cut is in `volatile`.
pub struct World {
    pub base: PathBuf,
    pub volatile: PathBuf,
}

impl World {
    /// A new host in a directory of its own.
    pub fn new(name: &str) -> Self {
        let base = scratch(name);
        Self::make(&base, &base.join("volatile"))
    }

    /// Ends what runs on the host, and then removes its directory: what runs is found there.
    pub fn end(self) {
        let base = self.base.clone();
        drop(self);
        fs::remove_dir_all(base).unwrap();
    }

    /// A new host.
    pub fn make(base: &Path, volatile: &Path) -> Self {
        let world = Self { base: base.to_owned(), volatile: volatile.to_owned() };
        let units = world.prefix().join("etc/systemd/system");
        fs::create_dir_all(&units).unwrap();
        // Whatever the umask of whoever runs the test.
        for directory in units.ancestors().take_while(|above| above.starts_with(base)) {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(&world.volatile).unwrap();
        fs::write(world.prefix().join("etc/machine-id"), "0123456789abcdef0123456789abcdef\n").unwrap();
        world
    }

    pub fn prefix(&self) -> PathBuf {
        self.base.join("host")
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.prefix().join("opt/seaworthy"), self.prefix())
    }

    pub fn units<'a>(&self, steps: &'a dyn Steps) -> Units<'a> {
        Units::new(&self.prefix(), &self.volatile, steps)
    }

    /// Carries out a request in this process, also what would run detached.
    pub fn handle(&self, request: &Request) -> Reply {
        self.handle_with(request, &Unobserved)
    }

    pub fn handle_with(&self, request: &Request, steps: &dyn Steps) -> Reply {
        let units = self.units(steps);
        self.with_host(&units, steps, |host| host.handle(request))
    }

    /// Carries out a request while this process carries out another one.
    pub fn handle_beside(&self, request: &Request) -> Reply {
        let mut units = self.units(&Unobserved);
        units.beside = true;
        self.with_host(&units, &Unobserved, |host| host.handle(request))
    }

    /// The same, on a thread of its own.
    pub fn begin_beside(&self, request: Request) -> thread::JoinHandle<Reply> {
        // The units are stopped once, by the world that the test owns.
        let world = mem::ManuallyDrop::new(Self { base: self.base.clone(), volatile: self.volatile.clone() });
        thread::spawn(move || world.handle_beside(&request))
    }

    /// Waits until there is such a file or folder on the host.
    pub fn wait_for(&self, path: &str, otherwise: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.layout().root().join(path).exists() {
            assert!(Instant::now() < deadline, "{otherwise}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn with_host<T>(&self, units: &Units<'_>, steps: &dyn Steps, act: impl FnOnce(&Host<'_>) -> T) -> T {
        act(&Host::new(Site { layout: self.layout(), system: units, steps, program: &LAUNCHER }))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        units::stop_all(&self.volatile);
    }
}

/// A directory in memory where there is one: what these tests ask of a disk is order, not durability.
pub fn scratch(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let path = parent.join(format!("seaworthy-{name}-{}", process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub fn operation_id(sequence: u64) -> OperationId {
    OperationId { epoch: Epoch(1), sequence }
}

pub fn fence(sequence: u64) -> Fence {
    Fence { cluster: "c1".into(), machine: Uid(1), machine_name: "m1".into(), epoch: Epoch(1), sequence }
}

pub fn request(sequence: u64, command: Command) -> Request {
    Request { protocol: PROTOCOL, fence: fence(sequence), command }
}

pub fn apply(operation: Operation) -> Request {
    request(operation.id.sequence, Command::Apply(Box::new(operation)))
}
