//! Whoever changes a release without changing the contents of a file: what root runs is decided there, so it is drift.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use seaworthy_api::host::wire::Command;
use seaworthy_model::host::Drift;

use super::{changed, new_host};
use crate::world::judge::facts;
use crate::world::{apply, request};

/// What is done to a release, in words and in deed.
type Attack = (&'static str, fn(&Path));

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn owners_modes_and_planted_files_are_drift() {
    let (world, artefacts) = new_host("planted");
    let attacks: [Attack; 8] = [
        ("a directory that others may write to", |release| mode(&release.join("bin"), 0o777)),
        ("the release itself open to others", |release| mode(release, 0o775)),
        ("a directory of another owner", |release| chown(release.join("share"), Some(65_534), None).unwrap()),
        ("a file of another owner", |release| chown(release.join("bin/webd"), Some(65_534), None).unwrap()),
        ("a planted file whose name is no text", |release| {
            fs::write(release.join(OsStr::from_bytes(b"bin/planted\xff")), "x").unwrap()
        }),
        ("a planted file", |release| fs::write(release.join("bin/planted"), "x").unwrap()),
        ("a planted link", |release| symlink("/etc/passwd", release.join("share/planted")).unwrap()),
        ("a planted directory", |release| fs::create_dir(release.join("planted")).unwrap()),
    ];
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give files away");
        return world.end();
    }
    facts(world.handle(&apply(changed(&artefacts, 1, "webd", |_| {}))));
    for (number, (what, attack)) in (1..).zip(attacks) {
        attack(&world.layout().current("webd").canonicalize().unwrap());
        let seen = facts(world.handle(&request(number * 10, Command::Facts)));
        assert_eq!(seen.components[0].drift, Drift::FILES, "{what}");
        let differs = seen.components[0].differs.as_deref().unwrap();
        assert_eq!(differs.ends_with("does not belong there"), what.contains("planted"), "{what}: {differs}");
        let repaired = facts(world.handle(&apply(changed(&artefacts, number * 10 + 1, "webd", |_| {}))));
        assert_eq!(repaired.components[0].drift, Drift::NONE, "{what}");
    }
    world.end();
}
