//! Translates orders about node identities into numbers of the world, and reports of hosts into types of the core.

use seaworthy_model::certificate::{
    Certificate, HostIdentity, NODE_PREFIX, NODES_GROUP, PendingRequest, RequestContent,
};
use seaworthy_model::effect::Target;
use seaworthy_model::host::HostCommand;

use super::Process;
use crate::world::host::{
    Command, Host, KeyNumber, NodeCertificate, NodeIdentity, Offered, TextNumber, Wanted,
};
use crate::world::{Catalogue, World, pki};

impl World {
    /// An order about the node identity of the host `target`.
    pub(super) fn identity_command(
        &mut self,
        process: &Process,
        target: Target,
        command: &HostCommand,
    ) -> Result<Command, String> {
        let machine = target.machine().ok_or("an order to a host has a host")?;
        let name = process.names.machine_name(machine).map_err(|error| error.to_string())?;
        let node = self.catalogue.text(name);
        match command {
            HostCommand::RequestCertificate { path, replaces } => {
                let path = self.catalogue.text(path);
                let replaces = replaces.and_then(KeyNumber::of);
                Ok(Command::RequestCertificate(Wanted { path, node, replaces }))
            }
            HostCommand::InstallCertificate { path, certificate } => {
                let path = self.catalogue.text(path);
                let read = pki::read_certificate(certificate).ok();
                let certificate = read.and_then(|read| node_certificate(&read, &mut self.catalogue));
                Ok(Command::InstallCertificate(Offered { path, node, certificate }))
            }
            HostCommand::Facts
            | HostCommand::Status(_)
            | HostCommand::Confirm(_)
            | HostCommand::Disown
            | HostCommand::Apply(_) => Err("it is not about an identity".to_owned()),
        }
    }
}

/// A certificate in the numbers of the world; none when it is not a node's.
pub(in crate::world) fn node_certificate(
    certificate: &Certificate,
    catalogue: &mut Catalogue,
) -> Option<NodeCertificate> {
    let name = certificate.common_name.strip_prefix(NODE_PREFIX)?;
    let node = catalogue.text(name);
    certificate.is_of_node(name).then_some(NodeCertificate {
        key: KeyNumber::of(certificate.key)?,
        node,
        authority: KeyNumber::of(certificate.issuer)?,
        not_before: certificate.not_before,
        not_after: certificate.not_after,
    })
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
pub(super) fn report(host: &Host, catalogue: &Catalogue) -> Option<Box<HostIdentity>> {
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
