//! Certificates of nodes: who signs them, and what is due about them.

use std::sync::Arc;

use seaworthy_model::certificate::{Certificate, NODE_PREFIX};

use crate::world::catalogue::Catalogue;
use crate::world::host::{KeyNumber, NodeCertificate};

/// The authority that signs.
pub(in crate::world) const AUTHORITY: KeyNumber = KeyNumber(0xca);

/// What is due.
#[derive(Clone, Debug)]
pub(in crate::world) enum Deed {
    /// A request that was approved is signed.
    Sign(Arc<str>),
    /// A request that was issued goes.
    Clean(Arc<str>),
    /// A kubelet renews its client certificate.
    Renew(u32),
    /// A kubelet asks for a serving certificate.
    Serve(u32),
    /// A client certificate expires.
    Expire(u32),
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
