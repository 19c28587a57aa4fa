//! Kills the program after each of its steps, and looks at what a second call makes of it. A step is every change of the
//! disk and every order to systemd, as `Steps` is told of them.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]
#![allow(unreachable_pub, reason = "`world` is shared by tests that are crates of their own")]

mod world;

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::fs::{FlockOperation, flock};
use seaworthy_api::host::wire::{Command as Order, Request};
use seaworthy_host::Steps;

use world::artefacts::Artefacts;
use world::authority::Authority;
use world::identity::{self, IdentityScenario};
use world::scenario::{Scenario, Then, VICTIM, for_each};
use world::{World, apply, operation_id, request, scratch};

/// An exec takes far less, on the busiest machine.
const LOCKS_FREE_WITHIN: Duration = Duration::from_secs(30);

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match arguments.iter().position(|argument| argument == "--victim") {
        Some(at) => victim(&arguments[at + 1..]),
        None => kill_everywhere(),
    }
}

/// Counts steps, and dies at one of them as by `kill -9`: nothing is unwound, nothing flushed.
struct Death {
    at: u64,
    reached: AtomicU64,
}

impl Steps for Death {
    fn reached(&self, step: &str) {
        if self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            eprintln!("dies after: {step}");
            std::process::abort();
        }
    }
}

/// The process that is killed: carries out a stored request.
fn victim(arguments: &[String]) {
    let [base, at, name] = arguments else { panic!("--victim BASE AT SCENARIO") };
    let base = Path::new(base);
    // It lives on in the parent, which stops what it started.
    let world = std::mem::ManuallyDrop::new(World::make(base, &base.join("volatile")));
    let order: Request = serde_json::from_slice(&fs::read(base.join("request.json")).unwrap()).unwrap();
    let death = Death { at: at.parse().unwrap(), reached: AtomicU64::new(0) };
    Then::of(name).carry_through(&world, &order, &death);
}

fn run_victim(base: &Path, (name, order): (&str, &Request), at: u64) -> (ExitStatus, String) {
    fs::write(base.join("request.json"), serde_json::to_vec(order).unwrap()).unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .arg("--victim")
        .arg(base)
        .arg(at.to_string())
        .arg(name)
        .output()
        .unwrap();
    await_locks(base);
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Waits until nobody holds the locks of a victim that is dead. A unit that it had just started is its child here, and has
/// copies of them until the kernel closes those, late in the exec; the victim may die before that. On a host systemd
/// starts the units.
fn await_locks(base: &Path) {
    let deadline = Instant::now() + LOCKS_FREE_WITHIN;
    for name in ["admission.lock", "execution.lock"] {
        let path = base.join("host/opt/seaworthy/state").join(name);
        // Who dies early has not made it.
        let Ok(file) = File::open(&path) else { continue };
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            assert!(Instant::now() < deadline, "{}: what a dead victim has started holds it", path.display());
            thread::yield_now();
        }
        // Closing it is not enough: what another thread starts has a copy for a moment.
        flock(&file, FlockOperation::Unlock).unwrap();
    }
}

fn kill_everywhere() {
    let artefacts = Artefacts::serve();
    for_each("killed", |scenario| {
        let mut points = 0;
        while kill_after(scenario, &artefacts, points + 1, points % 3 == 2) {
            points += 1;
        }
        points
    });
    let authority = Authority::new();
    for scenario in &identity::SCENARIOS {
        let mut points = 0;
        while kill_identity_after(scenario, &authority, points + 1, points % 3 == 2) {
            points += 1;
        }
        assert!(points > 5, "{}: {points} steps are too few to be true", scenario.name);
        println!("killed after each of {points} steps: identity, {}", scenario.name);
    }
}

/// Kills the order after step `at`; every so often kills the next one of its kind as well.
fn kill_identity_after(scenario: &IdentityScenario, authority: &Authority, at: u64, twice: bool) -> bool {
    let base = scratch("kill-identity");
    let world = World::make(&base, &base.join("volatile"));
    scenario.set_up(&world, authority);
    let order = scenario.request(&world, authority);
    let (status, log) = run_victim(&base, (scenario.name, &order), at);
    let killed = !status.success();
    let what = format!("{} killed after step {at}: {log}", scenario.name);
    assert!(!killed || log.contains("dies after"), "{what}");
    if killed && twice {
        let mut again = order.clone();
        again.fence.sequence += 1;
        run_victim(&base, (scenario.name, &again), 1 + at / 3);
    }
    scenario.judge(&world, authority, &order, &what);
    drop(world);
    fs::remove_dir_all(&base).unwrap();
    killed
}

/// Kills the operation after step `at`; every so often kills the recovery as well. `false` when the operation has no such
/// step.
fn kill_after(scenario: &Scenario, artefacts: &Artefacts, at: u64, twice: bool) -> bool {
    let base = scratch(&format!("kill-{}", scenario.name.replace(' ', "-")));
    let world = World::make(&base, &base.join("volatile"));
    scenario.set_up(&world, artefacts);
    let (status, log) = run_victim(&base, (scenario.name, &apply(scenario.operation(artefacts, VICTIM))), at);
    let killed = !status.success();
    let what = format!("{} killed after step {at}: {log}", scenario.name);
    assert!(!killed || log.contains("dies after"), "{what}");
    if killed && twice {
        let status = request(VICTIM + 9, Order::Status(operation_id(VICTIM)));
        run_victim(&base, (scenario.name, &status), 1 + at / 3);
    }
    scenario.judge(&world, artefacts, &what);
    drop(world);
    fs::remove_dir_all(&base).unwrap();
    killed
}
