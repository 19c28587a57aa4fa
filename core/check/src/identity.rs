//! Identity: only a machine of this fleet becomes a node. Whoever holds a node's certificate can read the secrets of its
//! pods.
//!
//! - A request is approved only for a key that waits on the host of that node, or for a node of ours that asks for itself.
//! - A host gets only the certificate that was issued for the key that waits there.
//! - A version that needs an identity is installed only on a host that has it.

use alloc::format;
use core::net::IpAddr;

use seaworthy_engine::{Machine, Request, World};
use seaworthy_model::certificate::{
    CertificateRequestObject, HostIdentity, NODE_PREFIX, NODES_GROUP, NodeIdentity, RequestContent,
    RequestState, Signer, Usages, request_name,
};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::host::{Change, Owner};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{CertificateRequestId, MachineId};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "identity", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        let fault = match (action.target, &action.effect) {
            (Target::CertificateRequest(id), Effect::ApproveCertificateRequest) => judge_approval(world, id),
            (Target::NewCertificateRequest(id), Effect::CreateCertificateRequest(new)) => {
                let pending = identity(world.machine(id)).and_then(|identity| identity.pending.as_ref());
                let name = world.machine_name(id);
                let is_reported = pending.is_some_and(|pending| {
                    pending.request == new.request && new.name == request_name(name, pending.key)
                });
                let is_client = new.signer == Signer::KubeletClient && new.usages == Usages::NODE_CLIENT;
                (!(is_reported && is_client)).then_some("a request for a key that the host has not reported")
            }
            (Target::Host(id), Effect::Host(order)) => judge_order(world, id, &order.command),
            _ => None,
        };
        if let Some(fault) = fault {
            let Action { target, .. } = action;
            findings.against(action, format!("{target:?}: {fault}"));
        }
    }
}

/// What the host has reported about its identity in this epoch.
fn identity(machine: &Machine) -> Option<&HostIdentity> {
    machine.host.facts.as_ref()?.identity.as_deref()
}

fn judge_approval(world: &World, id: CertificateRequestId) -> Option<&'static str> {
    let Some(object) = world.certificates.request(id).and_then(Request::object) else {
        return Some("an approval of a request that does not exist");
    };
    if object.state != RequestState::Pending {
        return Some("an approval of a request that was decided already");
    }
    let Ok(content) = &object.content else { return Some("an approval of a request that cannot be parsed") };
    let Some(node) = content.common_name.strip_prefix(NODE_PREFIX) else {
        return Some("an approval for a name that is not a node's");
    };
    let is_nodes = matches!(&content.organizations[..], [one] if **one == *NODES_GROUP);
    if !is_nodes || content.other_names > 0 {
        return Some("an approval of more than a node's identity");
    }
    let machine = world.certificates.machine_named(node).map(|id| world.machine(id));
    let Some(machine) = machine.filter(|machine| machine.is_live()) else {
        return Some("an approval for a Machine that does not exist");
    };
    let is_ours = |machine: &Machine| {
        let facts = machine.host.facts.as_ref();
        facts.is_some_and(|facts| machine.uid().is_some_and(|uid| facts.owner == Owner::Machine(uid)))
    };
    let Some(identity) = identity(machine).filter(|_| is_ours(machine)) else {
        return Some("an approval for a host of which nothing is known");
    };
    if !addresses_belong(machine, node, object, content) {
        return Some("an approval of addresses that are not the machine's");
    }
    let is_by_node = object.username.strip_prefix(NODE_PREFIX) == Some(node);
    if is_by_node {
        let is_node = identity.certificate.as_ref().is_some_and(|certificate| certificate.is_of_node(node));
        return (!is_node).then_some("an approval for a host without an identity");
    }
    let is_named = world.certificates.name(id) == request_name(node, content.key);
    let waits = identity.pending.as_ref().is_some_and(|pending| pending.key == content.key);
    let is_plain = object.signer == Signer::KubeletClient && object.usages == Usages::NODE_CLIENT;
    (!(is_named && waits && is_plain)).then_some("an approval of a key that does not wait on the host")
}

fn addresses_belong(
    machine: &Machine,
    node: &str,
    object: &CertificateRequestObject,
    content: &RequestContent,
) -> bool {
    let count = content.dns_names.len() + content.ip_addresses.len();
    if content.other_addresses > 0 || (count > 0) != (object.signer == Signer::KubeletServing) {
        return false;
    }
    let Some(address) = machine.spec().map(|spec| &spec.connection.address) else { return false };
    let own: Option<IpAddr> = address.ip.parse().ok();
    content.dns_names.iter().all(|name| **name == *node || (!name.is_empty() && *name == address.hostname))
        && content.ip_addresses.iter().all(|ip| ip.parse().ok() == own && own.is_some())
}

fn judge_order(world: &World, id: MachineId, command: &HostCommand) -> Option<&'static str> {
    let machine = world.machine(id);
    // Looked up on demand: most orders do not name the node.
    let name = || world.machine_name(id);
    if let HostCommand::RequestCertificate { path, replaces } = command {
        let present = identity(machine).and_then(|known| known.certificate.as_ref());
        let is_own = present.is_none_or(|present| present.is_of_node(name()));
        let is_its = replaces.is_none() || present.is_some_and(|present| Some(present.key) == *replaces);
        return (!is_own || !is_its || path.is_empty()).then_some("a key in place of another node's key");
    }
    if let HostCommand::InstallCertificate { certificate, .. } = command {
        let pending = identity(machine).and_then(|known| known.pending.as_ref());
        let request = pending.map(|pending| request_name(name(), pending.key));
        let object = request.and_then(|request| world.certificates.object_named(&request));
        let is_issued = object.is_some_and(
            |object| matches!(&object.state, RequestState::Issued(_, issued) if issued == certificate),
        );
        return (!is_issued).then_some("a certificate that was not issued for the key that waits");
    }
    let HostCommand::Apply(operation) = command else { return None };
    let Change::Install(release) = &operation.change else { return None };
    let wanted = world.version_spec(release.version)?.node_identity.as_ref()?;
    (!is_identified(world, machine, wanted)).then_some("an install without the node's identity")
}

/// Whether the host has a certificate of its node that is valid now.
fn is_identified(world: &World, machine: &Machine, wanted: &NodeIdentity) -> bool {
    let known = identity(machine).filter(|known| known.path == wanted.path);
    known.and_then(|known| known.certificate.as_ref()).is_some_and(|certificate| {
        certificate.is_of_node(world.machine_name(machine.id)) && world.now() < certificate.not_after
    })
}
