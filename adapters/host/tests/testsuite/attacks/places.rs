//! A component that asks for what is not its own: to have it deleted, or to have a link there.

use std::fs;
use std::os::unix::fs::symlink;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Link;

use super::{accept, changed, new_host, put, refusal, removal};
use crate::world::apply;

/// Accounts, the identity of the host, its boot, its network, data and programs of others.
const NOT_DELETED: [&str; 13] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/fstab",
    "/etc/sudoers",
    "/etc/machine-id",
    "/etc/alternatives",
    "/etc/resolv.conf",
    "/etc/netplan",
    "/etc/systemd/system/other.service",
    "/usr/local/bin/kubectl",
    "/nix/store",
    "/var/lib/dpkg",
    "/opt/seaworthy/state",
];

#[test]
fn a_removal_deletes_what_is_a_components_own() {
    let (world, artefacts) = new_host("removal");
    for (number, path) in (1..).zip(NOT_DELETED) {
        let order = changed(&artefacts, number, "webd", |r| {
            r.content.removal.as_mut().unwrap().paths = vec![path.into()]
        });
        let cause = refusal(&world, &apply(order));
        assert_eq!(cause.kind, CauseKind::OperationInvalid, "{path}");
        assert!(cause.detail.contains(path), "{}", cause.detail);
    }
    world.end();
}

#[test]
fn a_removal_deletes_no_file_directly_in_etc() {
    let (world, artefacts) = new_host("etc");
    let file = put(&world, "/etc/site.conf", "the site's");
    accept(
        &world,
        changed(&artefacts, 1, "webd", |r| {
            r.content.removal.as_mut().unwrap().paths = vec!["/etc/site.conf".into()]
        }),
    );
    let cause = refusal(&world, &apply(removal(2, "webd")));
    assert!(cause.detail.contains("/etc/site.conf") && cause.detail.contains("version"), "{}", cause.detail);
    assert_eq!(fs::read_to_string(&file).unwrap(), "the site's");
    // The way out that it tells.
    accept(&world, changed(&artefacts, 3, "webd", |r| r.content.removal = None));
    accept(&world, removal(4, "webd"));
    world.end();
}

#[test]
fn no_link_decides_who_may_log_in() {
    let (world, artefacts) = new_host("links");
    for (number, path) in (1..).zip([
        "/etc/ld.so.preload",
        "/etc/passwd",
        "/etc/sudoers.d/webd",
        "/root/.ssh/authorized_keys",
        "/home/alice/.ssh/authorized_keys",
        "/etc/ssh/sshd_config.d/webd.conf",
        "/etc/systemd/system/ssh.service",
        "/usr/lib/systemd/system/sshd.service",
        "/etc/systemd/system/seaworthy-e1-s999.service",
        "/var/run/webd",
        "/boot/webd",
    ]) {
        let order = changed(&artefacts, number, "webd", |r| r.content.links[0].path = path.into());
        let cause = refusal(&world, &apply(order));
        assert_eq!(cause.kind, CauseKind::OperationInvalid, "{path}");
        assert!(cause.detail.contains(path), "{}", cause.detail);
    }
    for (number, unit) in (100..).zip(["ssh.service", "systemd-logind.service", "seaworthy-resume.service"]) {
        let order =
            changed(&artefacts, number, "webd", |r| r.content.unit.as_mut().unwrap().name = unit.into());
        assert!(refusal(&world, &apply(order)).detail.contains(unit));
    }
    world.end();
}

/// What a link leads to is judged, not how it is written.
#[test]
fn no_link_leads_to_a_place_of_ours_through_another_link() {
    let (world, artefacts) = new_host("through");
    let state = world.layout().root().join("state");
    // A host whose `/srv/opt` is somewhere else.
    put(&world, "/srv/x", "");
    symlink(&state, world.layout().on_host("/srv/operations")).unwrap();
    symlink("/etc", world.layout().on_host("/srv/elsewhere")).unwrap();
    symlink("../etc", world.layout().on_host("/srv/etc")).unwrap();
    for (number, path) in
        (1..).zip(["/srv/operations/e9-s9.json", "/srv/elsewhere/cron.d/webd", "/srv/etc/sudoers.d/webd"])
    {
        let order = changed(&artefacts, number, "webd", |r| r.content.links[0].path = path.into());
        let cause = refusal(&world, &apply(order));
        assert_eq!(cause.kind, CauseKind::OperationInvalid, "{}", cause.detail);
        assert!(cause.detail.contains("leads to"), "{}", cause.detail);
    }
    assert!(!state.join("e9-s9.json").exists());
    // One component's link to a directory, and another's link through it: that would be a file in the release of the first.
    accept(
        &world,
        changed(&artefacts, 10, "alice", |r| {
            r.content.unit = None;
            r.content.probe = None;
            r.content.removal = None;
            r.content.links = vec![Link { path: "/opt/alice".into(), target: "share".into() }];
        }),
    );
    symlink("alice", world.layout().on_host("/opt/alias")).unwrap();
    let order = changed(&artefacts, 11, "bob", |r| r.content.links[0].path = "/opt/alias/planted".into());
    let cause = refusal(&world, &apply(order));
    assert!(cause.detail.contains("leads to"), "{}", cause.detail);
    world.end();
}
