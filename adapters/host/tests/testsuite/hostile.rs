//! Orders, archives, templates and answers that mean harm, or are merely wrong: each is refused with the right cause, and
//! nothing on the host is changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use seaworthy_api::host::wire::{Answer, Change, Operation};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Architecture, ArtefactFormat, ConfigFile, Probe, ProbeCheck, Recipe, Unit};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::OperationState;
use seaworthy_model::removal::Removal;
use tar::EntryType;

use crate::world::artefacts::{Archive, Artefacts, NEW, OLD, SICK, Served, install, remove};
use crate::world::judge::{assert_refused, assert_whole, facts};
use crate::world::{World, apply, scratch};

/// A host with the old edition, and a server.
fn old_host(name: &str) -> (World, Artefacts) {
    let base = scratch(name);
    let world = World::make(&base, &base.join("volatile"));
    let artefacts = Artefacts::serve();
    let reply = world.handle(&apply(artefacts.install(1, OLD)));
    assert_eq!(facts(reply).operation.unwrap().state, OperationState::Succeeded);
    (world, artefacts)
}

/// The new edition with an archive of one's own.
fn with_archive(artefacts: &Artefacts, archive: &[u8]) -> Recipe {
    let url = artefacts.put("special.tar.gz", archive);
    NEW.recipe(url, Digest::of(archive))
}

fn files() -> Archive {
    Archive::new().file("bin/webd", 0o755, b"x")
}

/// Archives with names and links that lead where they should not.
fn archives_that_leave() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("parent", files().file("../evil", 0o644, b"").finish()),
        ("parent in the middle", files().file("a/../../evil", 0o644, b"").finish()),
        ("absolute", files().file("/etc/evil", 0o644, b"").finish()),
        ("empty name", files().file("", 0o644, b"").finish()),
        (
            "not utf-8",
            files()
                .entry(EntryType::XHeader, ("x", ""), 0o644, &pax("path", "a\0b"))
                .file("b", 0o644, b"")
                .finish(),
        ),
        ("absolute link", files().link("evil", "/etc/passwd").finish()),
        ("link to the parent", files().link("evil", "../outside").finish()),
        ("link through a link", files().link("a", "bin").link("evil", "a/../../x").finish()),
        ("file through a link", files().link("a", "bin").file("a/evil", 0o644, b"").finish()),
        ("directory over a link", files().link("a", "bin").directory("a/").finish()),
        ("file over a link", files().link("a", "bin").file("a", 0o644, b"").finish()),
        ("file below a file", files().file("bin/webd/evil", 0o644, b"").finish()),
        ("the same twice", files().file("bin/webd", 0o644, b"").finish()),
        ("the program's own", files().file(".seaworthy/webd.service", 0o644, b"").finish()),
    ]
}

/// Archives with things in them that are no business of a release, and archives that are none.
fn archives_of_odd_things() -> Vec<(&'static str, Vec<u8>)> {
    let good = NEW.archive();
    let long = vec![b'a'; 70_000];
    vec![
        ("hard link", files().entry(EntryType::Link, ("evil", "bin/webd"), 0o644, b"").finish()),
        ("device", files().entry(EntryType::Char, ("evil", ""), 0o644, b"").finish()),
        ("block device", files().entry(EntryType::Block, ("evil", ""), 0o644, b"").finish()),
        ("fifo", files().entry(EntryType::Fifo, ("evil", ""), 0o644, b"").finish()),
        ("sparse", files().entry(EntryType::GNUSparse, ("evil", ""), 0o644, b"").finish()),
        ("set-uid", files().file("evil", 0o4755, b"").finish()),
        ("set-gid directory", files().entry(EntryType::Directory, ("evil/", ""), 0o2755, b"").finish()),
        ("endless name", files().entry(EntryType::GNULongName, ("x", ""), 0o644, &long).finish()),
        (
            "long name that leaves",
            files()
                .entry(EntryType::GNULongName, ("x", ""), 0o644, b"../../evil\0")
                .file("harmless", 0o644, b"")
                .finish(),
        ),
        (
            "extension that leaves",
            files()
                .entry(EntryType::XHeader, ("x", ""), 0o644, &pax("path", "../evil"))
                .file("harmless", 0o644, b"")
                .finish(),
        ),
        (
            "extension of a link that leaves",
            files()
                .entry(EntryType::XHeader, ("x", ""), 0o644, &pax("linkpath", "/etc/passwd"))
                .link("harmless", "bin")
                .finish(),
        ),
        (
            "extension of a size",
            files()
                .entry(EntryType::XHeader, ("x", ""), 0o644, &pax("size", "9999999999"))
                .file("harmless", 0o644, b"")
                .finish(),
        ),
        ("not gzip", b"#!/bin/sh\nrm -rf /\n".to_vec()),
        ("cut off", good[..good.len() / 2].to_vec()),
    ]
}

/// One record of an extended header: its own length in front counts itself.
fn pax(key: &str, value: &str) -> Vec<u8> {
    let length = key.len() + value.len() + 3;
    let length = length + (length + 2).to_string().len();
    format!("{length} {key}={value}\n").into_bytes()
}

#[test]
fn archives() {
    let (world, artefacts) = old_host("hostile-archives");
    let table = archives_that_leave().into_iter().chain(archives_of_odd_things());
    for (sequence, (what, archive)) in (10..).zip(table) {
        let operation = install(sequence, with_archive(&artefacts, &archive));
        assert_refused(&world, sequence, operation, CauseKind::ArchiveRefused, what);
    }
    world.end();
}

/// Archives that say they hold more than anybody may send, and hold next to nothing.
fn archives_that_boast() -> Vec<(String, Vec<u8>)> {
    let kinds = [
        ("file", EntryType::Regular),
        ("directory", EntryType::Directory),
        ("link", EntryType::Symlink),
        ("long name", EntryType::GNULongName),
        ("extension", EntryType::XHeader),
        ("extension of everything", EntryType::XGlobalHeader),
    ];
    let mut table = Vec::new();
    for (what, kind) in kinds {
        for size in [9 << 30, u64::MAX - 511, u64::MAX] {
            let archive = files().claim((kind, size), ("evil", "bin"), 0o755, b"little").finish();
            table.push((format!("{what} of {size} bytes"), archive));
        }
    }
    table
}

#[test]
fn sizes_that_are_only_claimed() {
    let (world, artefacts) = old_host("hostile-claims");
    for (sequence, (what, archive)) in (10..).zip(archives_that_boast()) {
        let operation = install(sequence, with_archive(&artefacts, &archive));
        assert_refused(&world, sequence, operation, CauseKind::ArchiveRefused, &what);
    }
    world.end();
}

#[test]
fn more_things_than_one_release_may_have() {
    let (world, artefacts) = old_host("hostile-entries");
    // Together with the directory and the program there is one too many.
    let crowd = (0..99_999).fold(files(), |archive, n| archive.file(&format!("f{n}"), 0o644, b""));
    let operation = install(10, with_archive(&artefacts, &crowd.finish()));
    let detail = assert_refused(&world, 10, operation, CauseKind::ArchiveRefused, "a crowd of files");
    assert!(detail.contains("more than 100000 files"), "{detail}");
    world.end();
}

#[test]
fn archives_that_lack_what_the_recipe_names() {
    let (world, artefacts) = old_host("hostile-lacking");
    let table = [
        ("no executable", Archive::new().file("bin/check", 0o755, b"").finish()),
        (
            "executable is a link",
            Archive::new().file("bin/check", 0o755, b"").link("bin/webd", "check").finish(),
        ),
        (
            "executable is none",
            Archive::new().file("bin/check", 0o755, b"").file("bin/webd", 0o644, b"").finish(),
        ),
        ("no target of a link, no probe", Archive::new().file("bin/webd", 0o755, b"").finish()),
        (
            "config file over a directory",
            Archive::new().file("bin/check", 0o755, b"").directory("etc/webd.conf/").finish(),
        ),
        (
            "config file through a link",
            Archive::new().file("bin/check", 0o755, b"").link("etc", "bin").finish(),
        ),
    ];
    for (sequence, (what, archive)) in (10..).zip(table) {
        let operation = install(sequence, with_archive(&artefacts, &archive));
        assert_refused(&world, sequence, operation, CauseKind::OperationInvalid, what);
    }
    world.end();
}

#[test]
fn servers() {
    let (world, artefacts) = old_host("hostile-servers");
    let good = NEW.archive();
    let other = artefacts.put("other.tar.gz", b"something else");
    let gone = other.replace("other", "gone");
    let announcing = |length: &str| {
        let head = format!("Content-Length: {length}\r\n");
        artefacts.put_as(&format!("{length}.tar.gz"), Served { head, body: good.clone(), endless: false })
    };
    let table = [
        ("one byte too many", announcing("4294967297"), CauseKind::DownloadFailed),
        ("all bytes there are", announcing("18446744073709551615"), CauseKind::DownloadFailed),
        ("more than there are", announcing("18446744073709551616"), CauseKind::DownloadFailed),
        ("less than nothing", announcing("-1"), CauseKind::DownloadFailed),
        ("wrong contents", other, CauseKind::DigestMismatch),
        ("not there", gone, CauseKind::DownloadFailed),
        ("nobody there", "http://127.0.0.1:1/webd.tar.gz".to_owned(), CauseKind::DownloadFailed),
    ];
    for (sequence, (what, url, kind)) in (10..).zip(table) {
        let operation = install(sequence, NEW.recipe(url.clone(), Digest::of(&good)));
        let detail = assert_refused(&world, sequence, operation, kind, what);
        assert!(detail.contains(&url), "{what}: the cause names the url: {detail}");
    }
    world.end();
}

/// What makes a recipe unacceptable.
type Spoil = fn(&mut Recipe);

#[test]
fn programs_and_removals() {
    let (world, artefacts) = old_host("hostile-programs");
    fn removal(recipe: &mut Recipe) -> &mut Removal {
        recipe.content.removal.as_mut().unwrap()
    }
    let table: &[(&str, Spoil)] = &[
        ("preflight outside", |r| r.content.preflight.as_mut().unwrap().command = vec!["../x".into()]),
        ("endless preflight", |r| r.content.preflight.as_mut().unwrap().timeout_seconds = u32::MAX),
        ("removal by nobody", |r| removal(r).after_stop[0].command = Vec::new()),
        ("removal outside", |r| removal(r).before_stop[0].command = vec!["a/../../x".into()]),
        ("removal of the system", |r| removal(r).paths[0] = "/var/lib".into()),
        ("removal of all", |r| removal(r).paths[0] = "/".into()),
        ("removal with dots", |r| removal(r).paths[0] = "/var/lib/webd/../../../etc".into()),
        ("removal of our own", |r| removal(r).paths[0] = "/opt/seaworthy/state".into()),
        ("removal of a relative path", |r| removal(r).paths[0] = "var/lib/webd".into()),
    ];
    for (sequence, (what, spoil)) in (10..).zip(table) {
        let mut recipe = artefacts.recipe(NEW);
        spoil(&mut recipe);
        assert_refused(&world, sequence, install(sequence, recipe), CauseKind::OperationInvalid, what);
    }
    world.end();
}

#[test]
fn links() {
    let (world, artefacts) = old_host("hostile-links");
    let table: &[(&str, Spoil)] = &[
        ("relative link", |r| r.content.links[0].path = "usr/local/bin/webd".into()),
        ("link with dots", |r| r.content.links[0].path = "/usr/../etc/webd".into()),
        ("link in /proc", |r| r.content.links[0].path = "/proc/webd".into()),
        ("link in /run", |r| r.content.links[0].path = "/run/webd".into()),
        ("link in /run by another name", |r| r.content.links[0].path = "/var/run/webd".into()),
        ("link over the unit of an operation", |r| {
            r.content.links[0].path = "/etc/systemd/system/seaworthy-e1-s999.service".into();
        }),
        ("link into the unit that resumes", |r| {
            r.content.links[0].path = "/etc/systemd/system/seaworthy-resume.service.d/x.conf".into();
        }),
        ("link in our own root", |r| r.content.links[0].path = "/opt/seaworthy/state/memory.json".into()),
        ("link target outside", |r| r.content.links[0].target = "../../../etc/shadow".into()),
        ("the same link twice", |r| r.content.links.push(r.content.links[0].clone())),
    ];
    for (sequence, (what, spoil)) in (10..).zip(table) {
        let mut recipe = artefacts.recipe(NEW);
        spoil(&mut recipe);
        assert_refused(&world, sequence, install(sequence, recipe), CauseKind::OperationInvalid, what);
    }
    world.end();
}

#[test]
fn orders() {
    let (world, artefacts) = old_host("hostile-orders");
    fn unit(recipe: &mut Recipe) -> &mut Unit {
        recipe.content.unit.as_mut().unwrap()
    }
    fn probe(recipe: &mut Recipe) -> &mut Probe {
        recipe.content.probe.as_mut().unwrap()
    }
    let table: &[(&str, Spoil)] = &[
        ("version with a path", |r| r.version = "1/../../x".into()),
        ("version of dots", |r| r.version = "..".into()),
        ("empty version", |r| r.version = String::new()),
        ("endless version", |r| r.version = "1".repeat(129)),
        ("other architecture", |r| r.artefact.as_mut().unwrap().architecture = Architecture::S390x),
        ("file url", |r| r.artefact.as_mut().unwrap().url = "file:///etc/shadow".into()),
        ("url with a line break", |r| r.artefact.as_mut().unwrap().url = "http://a/\r\nHost: b".into()),
        ("binary outside", |r| {
            r.artefact.as_mut().unwrap().format = ArtefactFormat::Binary { path: "../x".into() }
        }),
        ("absolute file", |r| r.content.files[0].path = "/etc/passwd".into()),
        ("file outside", |r| r.content.files[0].path = "a/../../x".into()),
        ("file with a line break", |r| r.content.files[0].path = "a\nb".into()),
        ("file of the program's own", |r| r.content.files[0].path = ".seaworthy/x".into()),
        ("set-uid file", |r| r.content.files[0].mode = 0o4755),
        ("endless template", |r| r.content.files[0].template = "x".repeat(3 << 20)),
        ("the same file twice", |r| r.content.files.push(r.content.files[0].clone())),
        ("too many files", |r| {
            let file = |n| ConfigFile { path: format!("f{n}"), template: String::new(), mode: 0o644 };
            r.content.files = (0..1025).map(file).collect();
        }),
        ("unit with a path", |r| unit(r).name = "../../x.service".into()),
        ("unit that is no service", |r| unit(r).name = "webd.socket".into()),
        ("unit of our own", |r| unit(r).name = "seaworthy-resume.service".into()),
        ("unit template", |r| unit(r).name = "webd@.service".into()),
        ("option as a unit", |r| unit(r).name = "--now.service".into()),
        ("executable outside", |r| unit(r).executable = Some("/bin/sh".into())),
        ("no success needed", |r| probe(r).success_threshold = 0),
        ("endless deadline", |r| probe(r).deadline_seconds = u32::MAX),
        ("port 0", |r| probe(r).check = ProbeCheck::Tcp { port: 0 }),
        ("path without /", |r| probe(r).check = ProbeCheck::Http { port: 80, path: "@evil/".into() }),
        ("no command", |r| probe(r).check = ProbeCheck::Exec { command: Vec::new() }),
        ("command outside", |r| probe(r).check = ProbeCheck::Exec { command: vec!["../../x".into()] }),
    ];
    for (sequence, (what, spoil)) in (10..).zip(table) {
        let mut recipe = artefacts.recipe(NEW);
        spoil(&mut recipe);
        assert_refused(&world, sequence, install(sequence, recipe), CauseKind::OperationInvalid, what);
    }
    for (sequence, component) in (100..).zip(["", "../webd", "a/b", ".", "webd\n", "Webd", &"x".repeat(300)])
    {
        let operation = Operation { component: component.into(), ..artefacts.install(sequence, NEW) };
        assert_refused(&world, sequence, operation, CauseKind::OperationInvalid, component);
    }
    let mut operation = artefacts.install(200, NEW);
    let Change::Install(release) = &mut operation.change else { panic!("not an install") };
    release.recipe.parameters = Arc::default();
    assert_refused(&world, 200, operation, CauseKind::OperationInvalid, "another recipe than promised");
    world.end();
}

#[test]
fn templates() {
    let (world, artefacts) = old_host("hostile-templates");
    let table = [
        ("undefined", "{{ parameters.nothing }}"),
        ("fact that was not asked for", "{{ facts.ip }}"),
        ("syntax", "{{ parameters."),
        ("another file", "{% include '/etc/shadow' %}"),
        ("endless loop", "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"),
        ("long output", "{% for a in range(50000) %}{{ 'x' * 1000 }}{% endfor %}"),
        (
            "much memory",
            "{% set ns = namespace(x='xxxxxxxxxxxxxxxx') %}{% for a in range(40) %}{% set ns.x = ns.x ~ ns.x %}\
             {% endfor %}{{ ns.x }}",
        ),
        ("deep nesting", &"(".repeat(100_000).replacen('(', "{{ (", 1)),
    ];
    for (sequence, (what, template)) in (10..).zip(table) {
        let mut recipe = artefacts.recipe(NEW);
        recipe.content.files[0].template = template.into();
        assert_refused(&world, sequence, install(sequence, recipe), CauseKind::TemplateFailed, what);
    }
    world.end();
}

#[test]
fn directories_of_others_get_no_links() {
    let (world, artefacts) = old_host("hostile-directories");
    let local = world.prefix().join("usr/local");
    for mode in [0o775, 0o777, 0o1777] {
        fs::set_permissions(&local, fs::Permissions::from_mode(mode)).unwrap();
        let what = format!("mode {mode:o}");
        let operation = artefacts.install(u64::from(mode), NEW);
        let detail = assert_refused(&world, 10, operation, CauseKind::HostFailed, &what);
        assert!(detail.contains("usr/local can be written to by others"), "{detail}");
    }
    world.end();
}

/// Links above a path that is to be deleted do not lead root to what is somebody else's.
#[test]
fn a_removal_does_not_follow_links() {
    let (world, artefacts) = old_host("hostile-removal");
    let at = |path: &str| world.prefix().join(&path[1..]);
    fs::create_dir_all(at("/etc/ssh/webd")).unwrap();
    fs::create_dir_all(at("/srv/data")).unwrap();
    fs::write(at("/srv/data/precious"), "x").unwrap();
    fs::create_dir_all(at("/var/lib")).unwrap();
    for directory in ["/etc/ssh", "/srv", "/srv/data", "/var", "/var/lib"] {
        fs::set_permissions(at(directory), fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("../../etc/ssh", at("/var/lib/trap")).unwrap();
    let with = |path: &str, sequence| {
        let mut recipe = artefacts.recipe(NEW);
        recipe.content.removal.as_mut().unwrap().paths = vec![path.into()];
        install(sequence, recipe)
    };
    facts(world.handle(&apply(with("/var/lib/trap/webd", 10))));
    let reply = world.handle(&apply(remove(11)));
    let Answer::Refused(cause) = reply.answer else { panic!("{reply:?}") };
    assert_eq!(cause.kind, CauseKind::OperationInvalid);
    assert!(cause.detail.contains("leads to") && at("/etc/ssh/webd").exists(), "{}", cause.detail);
    // A link in the place itself goes, and what it leads to stays.
    symlink("../../srv/data", at("/var/lib/webd")).unwrap();
    facts(world.handle(&apply(with("/var/lib/webd", 12))));
    facts(world.handle(&apply(remove(13))));
    assert!(at("/srv/data/precious").exists() && fs::symlink_metadata(at("/var/lib/webd")).is_err());
    // A directory that others may write to is nothing to delete from.
    fs::create_dir_all(at("/var/lib/open/webd")).unwrap();
    fs::set_permissions(at("/var/lib/open"), fs::Permissions::from_mode(0o777)).unwrap();
    facts(world.handle(&apply(with("/var/lib/open/webd", 14))));
    let reply = world.handle(&apply(remove(15)));
    let Answer::Refused(cause) = reply.answer else { panic!("{reply:?}") };
    assert!(cause.detail.contains("written to by others"), "{}", cause.detail);
    world.end();
}

#[test]
fn what_is_in_the_way_stays() {
    let (world, artefacts) = old_host("hostile-in-the-way");
    let place = world.prefix().join("usr/local/bin/webnew");
    fs::write(&place, "somebody's own").unwrap();
    let reply = world.handle(&apply(artefacts.install(10, NEW)));
    let Answer::Refused(cause) = reply.answer else { panic!("{reply:?}") };
    assert_eq!(cause.kind, CauseKind::OperationInvalid);
    assert!(cause.detail.contains("usr/local/bin/webnew"), "{}", cause.detail);
    assert_eq!(fs::read_to_string(&place).unwrap(), "somebody's own");
    fs::remove_file(&place).unwrap();
    assert_whole(&world, Some(OLD), &[NEW, SICK], "the old edition");
    world.end();
}
