//! Certificates of nodes: the signer, kubelets that renew theirs, and strangers who request one.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::base64;
use seaworthy_api::object::{
    CertificateRequestSpec, CertificateRequestStatus, CertificateSigningRequest, Endpoint, Metadata, Resource,
};
use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::certificate::{
    Certificate, NODE_PREFIX, NODES_GROUP, RequestContent, Signer, request_name,
};
use seaworthy_model::id::Kind;

use crate::vocabulary::{Guise, Occasion, address, machine_name};
use crate::world::api_server::{Preconditions, Status, Written};
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::host::{Answer, Command, KeyNumber, NodeCertificate};
use crate::world::node::{AUTHORITY, Deed, node_certificate};
use crate::world::writer::Writer;
use crate::world::{World, pki};

/// The time from an approval to the certificate: kube-controller-manager has to observe it, too.
const SIGNING: Span = Span::millis(50, 2_000);
/// When kube-controller-manager deletes issued requests: after an hour.
const KEPT: Duration = Duration::from_secs(3600);
/// The part of a certificate's life after which kubelet renews it, in percent.
const RENEWAL: (u64, u64) = (70, 90);
/// kubelet requests again when its request was not approved for this long.
const ASKS_AGAIN: Duration = Duration::from_secs(900);
/// The time from a client certificate to the request for a serving one.
const STARTUP: Span = Span::millis(5_000, 40_000);
/// The prefix of requests whose sender does not hide that it is a stranger.
const FOREIGN: &str = "foreign-";
/// The requests of a node that asks for far too many certificates.
const FLOOD: u32 = 40;

impl World {
    fn plan_deed(&mut self, at: Timestamp, deed: Deed) {
        let number = u32::try_from(self.deeds.len()).unwrap_or(u32::MAX);
        self.deeds.push(Some(deed));
        self.queue.at(at, Priority::WORLD, Event::Certificate(number));
    }

    /// Performs a task that is due.
    pub(in crate::world) fn certificate_due(&mut self, number: u32) {
        let Some(deed) = self.deeds.get_mut(number as usize).and_then(Option::take) else { return };
        let (now, down) = (self.now(), self.disturbance.api_down);
        // A certificate expires without the API server.
        if now < down && !matches!(deed, Deed::Expire(_)) {
            return self.plan_deed(down, deed);
        }
        match deed {
            Deed::Sign(name) => self.sign(&name),
            Deed::Clean(name) => {
                let key = (Kind::CertificateSigningRequest, &*name);
                if let Ok(written) = self.api_servers.home_mut().delete(key, Preconditions::default(), now) {
                    self.committed(&written, Writer::Other);
                }
            }
            Deed::Renew(host) => self.renew_certificate(host),
            Deed::Serve(host) => self.ask_to_serve(host),
            Deed::Expire(host) => self.software_changed(host),
        }
    }

    /// A certificate request was committed. An approved one is scheduled to be signed.
    pub(in crate::world) fn request_committed(&mut self, written: &Written) {
        let Some(request) = written.object.certificate_request() else { return };
        let status = request.status.as_ref().filter(|_| written.committed && !written.removed);
        let waits = status.is_some_and(|status| {
            status.certificate.is_empty() && status.conditions.iter().any(|known| known.r#type == "Approved")
        });
        if waits {
            let delay = self.draws.within(word("sign"), self.api_servers.home().revision(), 0, SIGNING);
            let name = Arc::clone(written.object.name());
            self.plan_deed(self.now() + delay, Deed::Sign(name));
        }
    }

    fn sign(&mut self, name: &Arc<str>) {
        let Some(stored) = self.api_servers.home().get(Kind::CertificateSigningRequest, name).cloned() else {
            return;
        };
        let Some(request) = stored.certificate_request() else { return };
        let (now, spec) = (self.now(), &request.spec);
        let pem = base64::decode(&spec.request).and_then(|pem| String::from_utf8(pem).ok());
        let Ok(content) = pki::read_request(&pem.unwrap_or_default()) else { return };
        let certificate = Certificate {
            key: content.key,
            common_name: content.common_name,
            organizations: content.organizations,
            issuer: AUTHORITY.digest(),
            // As kube-controller-manager does, for clocks that are behind.
            not_before: now - Duration::from_secs(300),
            not_after: now + self.scenario.certificates.valid_for.0,
        };
        let conditions = request.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
        let status = CertificateRequestStatus {
            conditions,
            certificate: base64::encode(pki::certificate(&certificate).as_bytes()),
        };
        let key = (Kind::CertificateSigningRequest, &**name);
        let status = Status::CertificateSigningRequest(status);
        let Ok(written) = self.api_servers.home_mut().update_status(key, stored.preconditions(), now, status)
        else {
            return;
        };
        self.note_occasion(Occasion::CertificateIssued);
        self.committed(&written, Writer::Other);
        self.plan_deed(now + KEPT, Deed::Clean(Arc::clone(name)));
        let is_client = spec.signer_name == Signer::KubeletClient.name();
        if is_client && let Some(host) = spec.username.strip_prefix(NODE_PREFIX).and_then(number_of) {
            self.take_renewed(host, &certificate);
        }
    }

    /// A kubelet puts the certificate that it has asked for where the old one is.
    fn take_renewed(&mut self, number: u32, certificate: &Certificate) {
        let read = node_certificate(certificate, &mut self.catalogue);
        let Some(host) = self.hosts.get_mut(number as usize).filter(|host| host.is_on()) else { return };
        if let (Some(read), Some(path)) = (read, host.node().and_then(|node| node.place())) {
            host.place_certificate(path, read);
            self.note_occasion(Occasion::CertificateRenewed);
            self.plan_renewal_of(number, read);
            self.software_changed(number);
        }
    }

    /// An order about an identity was carried out on a host.
    pub(in crate::world) fn identity_ordered(&mut self, number: u32, command: &Command, answer: &Answer) {
        let Some(node) = self.hosts[number as usize].node() else { return };
        if !matches!(answer, Answer::Facts(_)) {
            return;
        }
        let (pending, present) = (node.pending(), node.certificate());
        if let (Command::RequestCertificate(_), Some((name, key))) = (command, pending) {
            let name = self.catalogue.text_of(name).to_owned();
            self.happened(&Happening::KeyMade(key, number, &name));
        }
        if let (Command::InstallCertificate(offered), Some(present)) = (command, present)
            && offered.certificate == Some(present)
        {
            self.note_occasion(Occasion::CertificateInstalled);
            self.plan_renewal_of(number, present);
            self.software_changed(number);
            let delay = self.draws.within(word("serve"), u64::from(number), present.key.0, STARTUP);
            self.plan_deed(self.now() + delay, Deed::Serve(number));
        }
    }

    pub(in crate::world) fn plan_renewal_of(&mut self, number: u32, certificate: NodeCertificate) {
        self.plan_deed(certificate.not_after, Deed::Expire(number));
        if !self.scenario.certificates.renewal {
            return;
        }
        let percent =
            self.draws.below(word("renew"), u64::from(number), certificate.key.0, RENEWAL.1 - RENEWAL.0);
        let life = certificate.not_after.since(certificate.not_before);
        let at = certificate.not_before + life / 100 * u32::try_from(RENEWAL.0 + percent).unwrap_or(80);
        self.plan_deed(at.max(self.now()), Deed::Renew(number));
    }

    /// Whether a kubelet runs on a host that is known as this machine's node, and can reach the API server.
    fn asks(&self, number: u32) -> Option<NodeCertificate> {
        let host = self.hosts.get(number as usize)?;
        let certificate = host.node()?.certificate()?;
        let is_own = self.catalogue.text_of(certificate.node) == machine_name(number);
        let is_ours = !host.installed().is_empty() && host.owner().is_some();
        let runs = (is_ours || host.runs_found()) && is_own;
        (runs && self.now() < certificate.not_after).then_some(certificate)
    }

    fn renew_certificate(&mut self, number: u32) {
        let Some(certificate) = self.asks(number) else { return };
        let life = certificate.not_after.since(certificate.not_before);
        let begins = certificate.not_before + life / 100 * u32::try_from(RENEWAL.0).unwrap_or(70);
        if self.now() < begins {
            return;
        }
        if !self.is_node_connected(number) {
            return self.plan_deed(self.now() + Duration::from_secs(60), Deed::Renew(number));
        }
        let name = machine_name(number);
        let key = self.hosts[number as usize].make_key();
        self.happened(&Happening::KeyMade(key, number, &name));
        self.node_asks(number, Signer::KubeletClient, RequestContent::of_node(&name, key.digest()));
        self.plan_deed(self.now() + ASKS_AGAIN, Deed::Renew(number));
    }

    fn ask_to_serve(&mut self, number: u32) {
        if self.asks(number).is_none() || !self.is_node_connected(number) {
            return;
        }
        let name = machine_name(number);
        let key = self.hosts[number as usize].make_key();
        self.happened(&Happening::KeyMade(key, number, &name));
        let mut content = RequestContent::of_node(&name, key.digest());
        content.dns_names = vec![name.as_str().into()];
        content.ip_addresses = vec![address(number).into()];
        self.node_asks(number, Signer::KubeletServing, content);
    }

    fn node_asks(&mut self, number: u32, signer: Signer, content: RequestContent) {
        let name = format!("csr-{number}-{}", content.key.short());
        let username = format!("{NODE_PREFIX}{}", machine_name(number));
        let object = new_request(name, (&username, &[NODES_GROUP]), signer.name(), &pki::request(&content));
        self.create_request(object);
    }

    fn create_request(&mut self, object: CertificateSigningRequest) {
        let now = self.now();
        let object = Resource::CertificateSigningRequest(Box::new(object));
        if let Ok(written) = self.api_servers.home_mut().create(object, now) {
            self.committed(&written, Writer::Other);
        }
    }

    /// A stranger, or a node that somebody has broken into, asks to be the node of this machine.
    pub(crate) fn impersonate(&mut self, guise: Guise, number: u32, draw: u64) {
        if guise == Guise::Flood {
            self.note_occasion(Occasion::ForeignRequest);
            return (0..FLOOD).for_each(|_| self.ask_to_serve(number));
        }
        let (victim, key) = (machine_name(number), KeyNumber(draw));
        let mut content = RequestContent::of_node(&victim, key.digest());
        let mut signer = Signer::KubeletClient.name();
        let mut user = ("mallory".to_owned(), "system:authenticated");
        let mut name = format!("{FOREIGN}{draw:x}");
        // In a fleet of one machine, the other node is none of the fleet.
        let other = match self.scenario.fleet.machines {
            0 | 1 => number + 1,
            machines => (number + 1) % machines,
        };
        let by_node = (format!("{NODE_PREFIX}{}", machine_name(other)), NODES_GROUP);
        let mut pem = None;
        match guise {
            // The name under which the operator would create the request for this key.
            Guise::StolenName => name = request_name(&victim, key.digest()),
            Guise::WrongName => {}
            Guise::ExtraGroup => {
                content = RequestContent::of_node(&machine_name(other), key.digest());
                content.organizations.push("system:masters".into());
                user = by_node;
            }
            Guise::OtherNode => user = by_node,
            Guise::WrongAddress | Guise::MoreAddresses | Guise::OtherName => {
                content = RequestContent::of_node(&machine_name(other), key.digest());
                if guise != Guise::WrongAddress {
                    content.ip_addresses.push(address(other).into());
                }
                if guise == Guise::OtherName {
                    content.dns_names = vec![victim.into()];
                } else {
                    content.ip_addresses.push(address(number).into());
                }
                signer = Signer::KubeletServing.name();
                user = by_node;
            }
            Guise::WrongSigner => signer = "kubernetes.io/kube-apiserver-client",
            Guise::Replay => {
                let stored = self.api_servers.home().collection(Kind::CertificateSigningRequest).objects();
                let of_others = stored.into_iter().filter(|stored| !stored.name().starts_with(FOREIGN));
                // The newest request is the best target: its key may still wait on its host.
                let newest = of_others.max_by_key(|stored| stored.resource_version());
                let Some(copied) = newest.and_then(|stored| stored.certificate_request()) else { return };
                pem = Some(copied.spec.request.clone());
            }
            Guise::Flood => {}
        }
        let request = pki::request(&content);
        let mut object = new_request(name, (&user.0, &[user.1]), signer, &request);
        object.spec.request = pem.unwrap_or(object.spec.request);
        self.note_occasion(Occasion::ForeignRequest);
        self.create_request(object);
    }
}

fn new_request(
    name: String,
    (username, groups): (&str, &[&str]),
    signer: &str,
    pem: &str,
) -> CertificateSigningRequest {
    let endpoint = Endpoint::of(Kind::CertificateSigningRequest);
    let is_serving = signer == Signer::KubeletServing.name();
    let purpose = if is_serving { "server auth" } else { "client auth" };
    CertificateSigningRequest {
        api_version: endpoint.api_version.into(),
        kind: endpoint.kind.name().into(),
        metadata: Metadata::named(name),
        spec: CertificateRequestSpec {
            request: base64::encode(pem.as_bytes()),
            signer_name: signer.to_owned(),
            usages: ["digital signature", purpose].map(str::to_owned).to_vec(),
            username: username.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
        },
        status: None,
    }
}

/// The host of the node of this name.
fn number_of(node: &str) -> Option<u32> {
    node.strip_prefix("m-")?.parse().ok()
}
