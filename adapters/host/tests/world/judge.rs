//! Whether a host is in one of the states that it may be in: one release, whole, running, and nothing else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use seaworthy_api::host::wire::{Answer, Command, Facts, Operation, Reply};
use seaworthy_host::{Steps, System, Unobserved};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::host::{Drift, OperationId, OperationState};

use super::artefacts::{Edition, LEFT, NEW, OLD, SICK, WITHIN};
use super::{World, apply, request};

/// What is reported after a request that was answered.
pub fn facts(reply: Reply) -> Facts {
    match reply.answer {
        Answer::Done(facts) => *facts,
        other @ (Answer::Later(_) | Answer::Refused(_) | Answer::Pending) => panic!("not done: {other:?}"),
    }
}

/// Asks for an operation until it has ended; `None` when the host has never heard of it.
pub fn outcome(world: &World, sequence: u64, id: OperationId) -> Option<OperationState> {
    outcome_with(world, sequence, id, &Unobserved)
}

/// The same, with somebody who is told of each step.
pub fn outcome_with(
    world: &World,
    sequence: u64,
    id: OperationId,
    steps: &dyn Steps,
) -> Option<OperationState> {
    let rebooted = started_anew(world, id);
    let mut attempts = 0;
    loop {
        let status = request(sequence + attempts, Command::Status(id));
        let facts = facts(world.handle_with(&status, steps));
        attempts += 1;
        match facts.operation.map(|operation| operation.state) {
            // Asking makes the host go on, here at once: only the first answer says `Running`, and each that ends with a
            // reboot.
            Some(OperationState::Running) => {
                let reboots = started_anew(world, id) - rebooted;
                assert!(attempts < 2 + reboots, "{id} runs for ever: {}", journal(world, id));
            }
            ended => return ended,
        }
    }
}

/// Confirms an operation that waits for that.
pub fn confirm(world: &World, sequence: u64, id: OperationId, steps: &dyn Steps) -> Reply {
    world.handle_with(&request(sequence, Command::Confirm(id)), steps)
}

/// Lets the time pass in which an operation is to be confirmed: the alarm rings, and what it calls is carried out.
pub fn lapse(world: &World, id: OperationId, steps: &dyn Steps) {
    let units = world.units(steps);
    assert_eq!(units.pass(Duration::from_secs(WITHIN.into())), [id], "its alarm rings, and no other");
    world.with_host(&units, steps, |host| host.execute(id)).unwrap();
}

/// How often an operation has started the host anew, as its journal proves it.
pub fn started_anew(world: &World, id: OperationId) -> u64 {
    let text = journal(world, id);
    let lines: Vec<serde_json::Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut last = None;
    let mut reboots = 0;
    for line in &lines {
        if line["step"] == "rebooting" {
            last = Some(&line["boot"]);
        }
        if line["step"] == "rebooted" {
            assert_ne!(last.expect("it was about to be"), &line["boot"], "{text}");
            reboots += 1;
        }
    }
    reboots
}

/// The journal of an operation as it is; empty when there is none.
fn journal(world: &World, id: OperationId) -> String {
    let path = world.layout().root().join(format!("state/operations/{id}.journal"));
    fs::read_to_string(path).unwrap_or_default()
}

/// Orders `operation`, and checks that it fails with `expected` and leaves the old edition untouched.
pub fn assert_refused(
    world: &World,
    sequence: u64,
    operation: Operation,
    expected: CauseKind,
    what: &str,
) -> String {
    let reply = world.handle(&apply(operation));
    let Answer::Refused(cause) = &reply.answer else { panic!("{what}: {reply:?}") };
    assert_eq!(cause.kind, expected, "{what} ({sequence}): {}", cause.detail);
    assert_whole(world, Some(OLD), &[NEW, SICK], what);
    cause.detail.clone()
}

/// Checks everything about a host that should have exactly `installed`; `others` are editions of which nothing may be
/// left but the files of one previous release.
pub fn assert_whole(world: &World, installed: Option<Edition>, others: &[Edition], what: &str) {
    let units = world.units(&Unobserved);
    let facts = world.with_host(&units, &Unobserved, |host| host.facts()).unwrap();
    let names: Vec<&str> = facts.components.iter().map(|found| found.version_name.as_str()).collect();
    let expected: Vec<String> = installed.iter().map(|edition| format!("webd-{}", edition.version)).collect();
    assert_eq!(names, expected, "{what}: installed");
    for component in &facts.components {
        assert_eq!(component.drift, Drift::NONE, "{what}: drift of {}", component.version_name);
    }
    let prefix = world.prefix();
    let is_there = |path: &str| fs::symlink_metadata(prefix.join(&path[1..])).is_ok();
    for edition in others {
        assert!(!is_there(edition.link), "{what}: {} is left behind", edition.link);
    }
    for path in ["/usr/local/bin/webd", "/etc/systemd/system/webd.service"] {
        assert_eq!(is_there(path), installed.is_some(), "{what}: {path}");
    }
    let is_used = is_there(LEFT);
    assert!(!is_used || installed.is_some(), "{what}: {LEFT} is left behind");
    let mounts = units.mounts().unwrap();
    assert!(is_used || mounts.is_empty(), "{what}: {mounts:?} are mounted");
    if let Some(edition) = installed {
        assert!(is_there(edition.link), "{what}: {}", edition.link);
        let unit = fs::read_to_string(prefix.join("etc/systemd/system/webd.service")).unwrap();
        assert!(unit.contains(edition.build()), "{what}: the unit is {unit}");
        assert_eq!(units.loaded("webd.service"), Some(unit), "{what}: systemd runs the unit as it is");
        if !edition.bare {
            let read = units.configuration("webd.service");
            assert_eq!(
                read.as_deref(),
                Some(edition.version),
                "{what}: the service has read another configuration"
            );
        }
    }
    assert_tidy(world, what);
}

/// Nothing is left that nobody needs.
fn assert_tidy(world: &World, what: &str) {
    let root = world.layout().root().to_owned();
    if !root.exists() {
        return;
    }
    let list = |path: &Path| -> Vec<String> {
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(list(&root.join("staging")), [""; 0], "{what}: staging");
    let mut kept: Vec<String> = ["current/webd", "previous/webd"]
        .iter()
        .filter_map(|link| fs::read_link(root.join(link)).ok())
        .map(|target| target.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    kept.sort();
    assert_eq!(list(&root.join("releases/webd")), kept, "{what}: releases");
    let manifests: Vec<String> = kept.iter().map(|name| format!("{name}.json")).collect();
    assert_eq!(list(&root.join("manifests/webd")), manifests, "{what}: manifests");
    let mut directories = vec![world.prefix()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let temporary = entry.file_name().to_string_lossy().ends_with(".seaworthy-new");
            // The program's own files are put right when they are written next.
            let own = directory.starts_with(root.join("state"))
                || entry.file_name().to_string_lossy().contains("seaworthy-resume");
            assert!(!temporary || own, "{what}: {} is left behind", entry.path().display());
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
        }
    }
}
