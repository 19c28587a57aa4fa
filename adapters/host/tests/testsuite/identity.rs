//! What a host makes of orders about its node's identity: one key until its certificate came, no certificate but that,
//! nothing of anybody else's touched, and no private key in anything that is said.

use std::fs;
use std::os::unix::fs::symlink;

use seaworthy_api::host::wire::{Answer, CertificateRequest, Command, Request};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::id::Uid;

use crate::world::authority::Authority;
use crate::world::identity::{PATH, ask, identity, install, installed, place};
use crate::world::judge::facts;
use crate::world::{World, request};

fn new_host(name: &str) -> (World, Authority) {
    (World::new(name), Authority::new())
}

fn refusal(world: &World, order: &Request) -> CauseKind {
    match world.handle(order).answer {
        Answer::Refused(cause) => cause.kind,
        other @ (Answer::Done(_) | Answer::Later(_) | Answer::Pending) => panic!("not refused: {other:?}"),
    }
}

#[test]
fn one_key_waits_until_its_certificate_came() {
    let (world, authority) = new_host("identity-joins");
    assert_eq!(facts(world.handle(&request(1, Command::Facts))).identity, None);
    let first = identity(world.handle(&ask(2, None))).pending.unwrap();
    let again = identity(world.handle(&ask(3, None)));
    assert_eq!(again.pending.as_ref(), Some(&first));
    assert_eq!(again.certificate, None);
    let done = facts(world.handle(&install(4, authority.sign(&first.request))));
    let certificate = installed(&world, &done, "joined").unwrap();
    assert!(certificate.is_of_node("m1") && certificate.key == first.key);
    assert!(fs::read_link(place(&world)).unwrap().to_str().unwrap().starts_with("kubelet-client-"));
    // Once more: it is there.
    let repeated = identity(world.handle(&install(5, authority.sign(&first.request))));
    assert_eq!(repeated.pending, None);
    assert_eq!(identity(world.handle(&ask(6, None))).pending, None, "what is there is not asked for");
    let next = identity(world.handle(&ask(7, Some(certificate.key)))).pending.unwrap();
    assert_ne!(next.key, first.key);
    let journal = fs::read_to_string(world.layout().root().join("state/identity.journal")).unwrap();
    let steps = ["keyMade", "certificateInstalled", "keyMade"];
    assert!(journal.lines().zip(steps).all(|(line, step)| line.contains(step)), "{journal}");
    world.end();
}

#[test]
fn nothing_that_is_said_holds_a_private_key() {
    let (world, authority) = new_host("identity-secret");
    let asked = world.handle(&ask(1, None));
    let pending = identity(asked.clone()).pending.unwrap();
    let done = world.handle(&install(2, authority.sign(&pending.request)));
    let journal = fs::read_to_string(world.layout().root().join("state/identity.journal")).unwrap();
    let both = fs::read_to_string(place(&world)).unwrap();
    let secret = both.split("-----BEGIN PRIVATE KEY-----").nth(1).unwrap();
    let secret = secret.lines().nth(1).unwrap();
    for said in [serde_json::to_string(&asked).unwrap(), serde_json::to_string(&done).unwrap(), journal] {
        assert!(!said.contains(secret) && !said.contains("PRIVATE KEY"), "{said}");
    }
    let record = world.layout().root().join("state/identity.json");
    assert!(!fs::read_to_string(record).unwrap().contains(secret), "it is kept in one place");
    world.end();
}

#[test]
fn certificates_that_are_not_for_the_key_are_refused() {
    let (world, authority) = new_host("identity-hostile");
    let (stranger, _) = new_host("identity-hostile-other");
    let pending = identity(world.handle(&ask(1, None))).pending.unwrap();
    let others = identity(stranger.handle(&ask(1, None))).pending.unwrap();
    let mut renamed = ask(2, None);
    renamed.fence.machine_name = "m2".into();
    let misnamed = identity(stranger.handle(&renamed)).pending.unwrap();
    let good = authority.sign(&pending.request);
    for (what, certificate) in [
        ("another key", authority.sign(&others.request)),
        ("another node", authority.sign(&misnamed.request)),
        ("nothing", String::new()),
        ("a request", pending.request.to_string()),
        ("garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".into()),
        ("cut off", good[..good.len() / 2].into()),
        ("with a key", format!("{good}{}", authority.expired("m1"))),
        ("with words", format!("{good}words\0")),
        ("too long", good.repeat(200)),
        ("another first", format!("{}{good}", authority.sign(&others.request))),
    ] {
        assert_eq!(refusal(&world, &install(2, certificate)), CauseKind::CertificateRefused, "{what}");
        assert!(!place(&world).exists(), "{what}");
    }
    assert!(identity(world.handle(&install(3, good))).certificate.is_some());
    stranger.end();
    world.end();
}

#[test]
fn what_is_somebody_elses_is_not_touched() {
    let (world, authority) = new_host("identity-foreign");
    fs::create_dir_all(place(&world).parent().unwrap()).unwrap();
    let foreign = authority.expired("another");
    fs::write(place(&world), &foreign).unwrap();
    let seen = facts(world.handle(&ask(1, None)));
    assert_eq!(seen.owner, None, "a look claims nothing");
    let seen = seen.identity.unwrap();
    assert!(seen.pending.is_none() && !seen.certificate.unwrap().is_of_node("m1"));
    assert_eq!(fs::read_to_string(place(&world)).unwrap(), foreign);
    fs::write(place(&world), "something else").unwrap();
    assert_eq!(refusal(&world, &ask(2, None)), CauseKind::OperationInvalid);
    for path in ["relative.pem", "/", "/etc/a/../b", "/proc/x", "/opt/seaworthy/state/x", "/etc/a\n/b"] {
        let order =
            request(3, Command::RequestCertificate(CertificateRequest { path: path.into(), replaces: None }));
        assert_eq!(refusal(&world, &order), CauseKind::OperationInvalid, "{path}");
    }
    let mut odd = ask(4, None);
    odd.fence.machine_name = "system:masters".into();
    assert_eq!(refusal(&world, &odd), CauseKind::OperationInvalid);
    world.end();
}

#[test]
fn what_a_power_cut_left_of_a_rotation_is_no_certificate() {
    let (world, authority) = new_host("identity-torn");
    fs::create_dir_all(place(&world).parent().unwrap()).unwrap();
    let whole = authority.expired("m1");
    let file = "kubelet-client-2026-11-23-10-00-00.pem";
    symlink(file, place(&world)).unwrap();
    for torn in ["", "\n", &whole[..40], &whole[..whole.find("-----BEGIN PRIVATE").unwrap()]] {
        fs::write(place(&world).with_file_name(file), torn).unwrap();
        let asked = identity(world.handle(&ask(1 + torn.len() as u64, None)));
        assert!(asked.certificate.is_none() && asked.pending.is_some(), "{torn:?}");
    }
    world.end();
}

#[test]
fn orders_about_certificates_are_fenced() {
    let (world, authority) = new_host("identity-fenced");
    let pending = identity(world.handle(&ask(5, None))).pending.unwrap();
    let certificate = authority.sign(&pending.request);
    assert_eq!(refusal(&world, &ask(5, None)), CauseKind::FenceRefused);
    assert_eq!(refusal(&world, &install(4, certificate.clone())), CauseKind::FenceRefused);
    let mut stranger = install(9, certificate.clone());
    stranger.fence.machine = Uid(2);
    assert_eq!(refusal(&world, &stranger), CauseKind::OwnedByAnother);
    let done = facts(world.handle(&install(6, certificate)));
    assert_eq!(done.owner.unwrap().machine, Uid(1));
    assert!(PATH.starts_with('/') && done.identity.unwrap().certificate.is_some());
    world.end();
}
