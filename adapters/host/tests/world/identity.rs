//! Orders about the identity of a node that are interrupted at every step, and what a host may look like afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rcgen::{KeyPair, PublicKeyData};
use seaworthy_api::host::wire::{CertificateFile, CertificateRequest, Command, Facts, Reply, Request};
use seaworthy_model::certificate::{Certificate, HostIdentity};
use seaworthy_model::digest::Digest;

use super::authority::Authority;
use super::judge::facts;
use super::scenario::VICTIM;
use super::{World, request};

/// Where the identity belongs.
pub const PATH: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// What is ordered, on a host in what state.
pub struct IdentityScenario {
    pub name: &'static str,
    has_expired: bool,
    has_asked: bool,
    has_installed: bool,
    order: Ordered,
}

enum Ordered {
    Request,
    Install,
    Disown,
}

pub const SCENARIOS: [IdentityScenario; 5] = [
    scenario("key", Ordered::Request),
    IdentityScenario { has_asked: true, ..scenario("certificate", Ordered::Install) },
    IdentityScenario { has_expired: true, ..scenario("key after the end", Ordered::Request) },
    IdentityScenario { has_expired: true, has_asked: true, ..scenario("rejoin", Ordered::Install) },
    IdentityScenario { has_asked: true, has_installed: true, ..scenario("disown", Ordered::Disown) },
];

const fn scenario(name: &'static str, order: Ordered) -> IdentityScenario {
    IdentityScenario { name, has_expired: false, has_asked: false, has_installed: false, order }
}

pub fn ask(sequence: u64, replaces: Option<Digest>) -> Request {
    request(sequence, Command::RequestCertificate(CertificateRequest { path: PATH.into(), replaces }))
}

pub fn install(sequence: u64, certificate: String) -> Request {
    let file = CertificateFile { path: PATH.into(), certificate: certificate.into() };
    request(sequence, Command::InstallCertificate(file))
}

/// The identity in a report.
pub fn identity(reply: Reply) -> HostIdentity {
    facts(reply).identity.expect("no identity is reported")
}

/// Where the identity is.
pub fn place(world: &World) -> PathBuf {
    world.prefix().join(&PATH[1..])
}

/// The certificate in the file, after a look at whether the key in it is its own.
pub fn installed(world: &World, reported: &Facts, what: &str) -> Option<Certificate> {
    let certificate = reported.identity.as_ref()?.certificate.clone();
    let place = place(world);
    if let Some(certificate) = &certificate {
        let text = fs::read_to_string(&place).unwrap();
        let key = &text[text.find("-----BEGIN PRIVATE KEY").expect(what)..];
        let key = KeyPair::from_pem(key).unwrap();
        assert_eq!(
            Digest::of(&key.subject_public_key_info()),
            certificate.key,
            "{what}: key and certificate"
        );
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600, "{what}");
    }
    certificate
}

impl IdentityScenario {
    /// Brings a new host to where the order comes.
    pub fn set_up(&self, world: &World, authority: &Authority) {
        if self.has_expired {
            let place = place(world);
            let old = place.with_file_name("kubelet-client-2020.pem");
            fs::create_dir_all(old.parent().unwrap()).unwrap();
            fs::write(&old, authority.expired("m1")).unwrap();
            fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
            std::os::unix::fs::symlink("kubelet-client-2020.pem", place).unwrap();
            assert!(identity(world.handle(&ask(1, None))).pending.is_none());
        }
        if self.has_asked {
            let pending = identity(world.handle(&ask(3, self.replaced(world, 2)))).pending.unwrap();
            if self.has_installed {
                let order = install(4, authority.sign(&pending.request));
                assert!(identity(world.handle(&order)).certificate.is_some());
            }
        }
    }

    fn replaced(&self, world: &World, sequence: u64) -> Option<Digest> {
        let reported = facts(world.handle(&request(sequence, Command::Facts)));
        reported.identity.filter(|_| self.has_expired)?.certificate.map(|certificate| certificate.key)
    }

    /// The order that is interrupted.
    pub fn request(&self, world: &World, authority: &Authority) -> Request {
        match self.order {
            Ordered::Request => ask(VICTIM, self.replaced(world, VICTIM - 1)),
            Ordered::Disown => request(VICTIM, Command::Disown),
            Ordered::Install => {
                let reported = identity(world.handle(&request(VICTIM - 1, Command::Facts)));
                install(VICTIM, authority.sign(&reported.pending.unwrap().request))
            }
        }
    }

    /// There is the identity that was there before, or the new one, whole; a key that was reported is the one that is
    /// reported. What was interrupted is done by the next orders of its kind.
    pub fn judge(&self, world: &World, authority: &Authority, order: &Request, what: &str) {
        let reported = facts(world.handle(&request(VICTIM + 2, Command::Facts)));
        let there = installed(world, &reported, what);
        if let Ordered::Disown = self.order {
            let done = facts(world.handle(&request(VICTIM + 3, Command::Disown)));
            assert_eq!((done.owner, done.identity), (None, None), "{what}");
            return assert_gone(world, what);
        }
        let pending = reported.identity.and_then(|identity| identity.pending);
        if let (Command::InstallCertificate(file), Some(pending)) = (&order.command, &pending) {
            assert!(there.is_none() || self.has_expired || pending.key == there.unwrap().key, "{what}");
            let repeated = install(VICTIM + 3, file.certificate.to_string());
            let done = facts(world.handle(&repeated));
            assert_eq!(installed(world, &done, what).unwrap().key, pending.key, "{what}: done again");
        }
        let replaces = if self.has_expired { expired_key(&facts(self.read(world, 4))) } else { None };
        let asked = identity(world.handle(&ask(VICTIM + 5, replaces)));
        match (pending, &order.command) {
            (Some(known), Command::RequestCertificate(_)) => {
                assert_eq!(asked.pending.as_ref(), Some(&known), "{what}: the same key");
            }
            (_, Command::InstallCertificate(_)) => assert!(asked.pending.is_none(), "{what}: no key waits"),
            (_, _) => assert!(asked.pending.is_some(), "{what}: a key waits"),
        }
        if let Some(pending) = asked.pending {
            let done = facts(world.handle(&install(VICTIM + 6, authority.sign(&pending.request))));
            assert_eq!(installed(world, &done, what).unwrap().key, pending.key, "{what}: installed at last");
        }
        assert_tidy(world, what);
    }

    fn read(&self, world: &World, later: u64) -> Reply {
        world.handle(&request(VICTIM + later, Command::Facts))
    }
}

/// The key of the certificate that has ended, while it is there.
fn expired_key(reported: &Facts) -> Option<Digest> {
    let certificate = reported.identity.as_ref()?.certificate.as_ref()?;
    (certificate.not_after.millis() < 1_700_000_000_000).then_some(certificate.key)
}

/// Nothing is left of an identity.
fn assert_gone(world: &World, what: &str) {
    let directory = place(world).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(directory).map_or(0, Iterator::count), 0, "{what}");
    assert!(!world.layout().root().join("state/identity.json").exists(), "{what}");
}

/// Beside the link there is the file that it leads to and, before it, what kubelet left.
fn assert_tidy(world: &World, what: &str) {
    let target = fs::read_link(place(world)).expect(what);
    for entry in fs::read_dir(place(world).parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ["kubelet-client-current.pem", "kubelet-client-2020.pem", target.to_str().unwrap()];
        assert!(known.contains(&&*name), "{what}: {name} is left behind");
    }
}
