//! Translates orders about node identities into numbers of the world, and reports of hosts into types of the core.

use seaworthy_model::certificate::{
    Certificate, HostIdentity, NODE_PREFIX, NODES_GROUP, PendingRequest, RequestContent,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::effect::Target;

use super::Process;
use crate::world::catalogue::Catalogue;
use crate::world::host::{
    Command, Host, KeyNumber, NodeCertificate, NodeIdentity, Offered, TextNumber, Wanted,
};
use crate::world::node::node_certificate;
use crate::world::pki;

impl Process {
    /// The order for a key on the host `target`.
    pub(super) fn wanted_certificate(
        &self,
        target: Target,
        (path, replaces): (&str, Option<Digest>),
        catalogue: &mut Catalogue,
    ) -> Result<Command, String> {
        let node = self.node_of(target, catalogue)?;
        let (path, replaces) = (catalogue.text(path), replaces.and_then(KeyNumber::of));
        Ok(Command::RequestCertificate(Wanted { path, node, replaces }))
    }

    /// The order to install a certificate on the host `target`.
    pub(super) fn offered_certificate(
        &self,
        target: Target,
        (path, certificate): (&str, &str),
        catalogue: &mut Catalogue,
    ) -> Result<Command, String> {
        let node = self.node_of(target, catalogue)?;
        let path = catalogue.text(path);
        let read = pki::read_certificate(certificate).ok();
        let certificate = read.and_then(|read| node_certificate(&read, catalogue));
        Ok(Command::InstallCertificate(Offered { path, node, certificate }))
    }

    fn node_of(&self, target: Target, catalogue: &mut Catalogue) -> Result<TextNumber, String> {
        let machine = target.machine().ok_or("an order to a host has a host")?;
        let name = self.names.machine_name(machine).map_err(|error| error.to_string())?;
        Ok(catalogue.text(name))
    }
}

/// A certificate as the core's type.
fn certificate_of(known: NodeCertificate, catalogue: &Catalogue) -> Certificate {
    Certificate {
        key: known.key.digest(),
        common_name: format!("{NODE_PREFIX}{}", catalogue.text_of(known.node)).into(),
        organizations: vec![NODES_GROUP.into()],
        issuer: known.authority.digest(),
        not_before: known.not_before,
        not_after: known.not_after,
    }
}

/// What a host reports of its node's identity.
pub(in crate::world) fn report(host: &Host, catalogue: &Catalogue) -> Option<Box<HostIdentity>> {
    let node = host.node()?;
    let path = node.path()?;
    let certificate = node.certificate_at(path).map(|known| certificate_of(known, catalogue));
    let pending = NodeIdentity::pending(node).map(|(name, key)| pending_request(catalogue, name, key));
    Some(Box::new(HostIdentity { path: catalogue.text_of(path).into(), certificate, pending }))
}

fn pending_request(catalogue: &Catalogue, name: TextNumber, key: KeyNumber) -> PendingRequest {
    let content = RequestContent::of_node(catalogue.text_of(name), key.digest());
    PendingRequest { key: key.digest(), request: pki::request(&content).into() }
}
