//! The identity of the node in place of files of others.

use std::fs;
use std::os::unix::fs::symlink;

use seaworthy_api::host::wire::{CertificateRequest, Command, Request};
use seaworthy_model::cause::CauseKind;

use super::{new_host, put, refusal};
use crate::world::authority::Authority;
use crate::world::identity::{PATH, ask, identity, install, place};
use crate::world::judge::facts;
use crate::world::request;

fn ask_at(number: u64, path: &str) -> Request {
    request(number, Command::RequestCertificate(CertificateRequest { path: path.into(), replaces: None }))
}

#[test]
fn keys_and_trust_of_others_are_no_place_for_it() {
    let (world, _) = new_host("identity-places");
    for (number, path) in (1..).zip([
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/ssh/ssh_host_ed25519_key",
        "/etc/pki/tls/private/localhost.key",
        "/etc/sudoers.d/webd",
        "/usr/local/share/ca-certificates/site.crt",
        "/etc/webd.pem",
    ]) {
        let file = put(&world, path, "-----BEGIN CERTIFICATE-----\n");
        let cause = refusal(&world, &ask_at(number, path));
        assert_eq!(cause.kind, CauseKind::OperationInvalid);
        assert!(cause.detail.contains(path), "{}", cause.detail);
        assert_eq!(fs::read_to_string(file).unwrap(), "-----BEGIN CERTIFICATE-----\n");
    }
    world.end();
}

/// Wherever it is: a file that neither we nor kubelet's rotation put there stays.
#[test]
fn a_file_of_others_is_not_replaced() {
    let (world, authority) = (new_host("identity-files").0, Authority::new());
    let node = authority.expired("m1");
    let certificate = &node[..node.find("-----BEGIN PRIVATE").unwrap()];
    let authoritys_own = authority.own();
    for (number, contents) in (1..).zip(["", "\n", certificate, &node[node.len() / 2..], &authoritys_own]) {
        let file = put(&world, "/etc/kubernetes/pki/ca.pem", contents);
        let cause = refusal(&world, &ask_at(number, "/etc/kubernetes/pki/ca.pem"));
        assert!(cause.detail.contains("in the way"), "{}", cause.detail);
        assert_eq!(fs::read_to_string(file).unwrap(), contents);
    }
    world.end();
}

#[test]
fn what_is_disowned_takes_its_own_files_only() {
    let (world, authority) = (new_host("identity-disown").0, Authority::new());
    let pending = identity(world.handle(&ask(1, None))).pending.unwrap();
    facts(world.handle(&install(2, authority.sign(&pending.request))));
    // Kubelet rotates, with an absolute target, as it does.
    let rotated =
        put(&world, "/var/lib/kubelet/pki/kubelet-client-2026-11-23-10-00-00.pem", &authority.expired("m1"));
    fs::remove_file(place(&world)).unwrap();
    symlink("/var/lib/kubelet/pki/kubelet-client-2026-11-23-10-00-00.pem", place(&world)).unwrap();
    facts(world.handle(&request(3, Command::Disown)));
    assert!(!rotated.exists() && fs::symlink_metadata(place(&world)).is_err());

    let pending = identity(world.handle(&ask(4, None))).pending.unwrap();
    facts(world.handle(&install(5, authority.sign(&pending.request))));
    // Somebody has put a link or a file of his own there.
    let foreign = put(&world, "/var/lib/kubelet/pki/site.pem", "the site's");
    fs::remove_file(place(&world)).unwrap();
    symlink("site.pem", place(&world)).unwrap();
    facts(world.handle(&request(6, Command::Disown)));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "the site's");
    assert_eq!(fs::read_link(world.layout().on_host(PATH)).unwrap().to_str(), Some("site.pem"));
    world.end();
}
