//! The node identity of a host: a key that waits for its certificate, and the file with both. Keys are numbers here;
//! there is no private part.

use seaworthy_kernel::Timestamp;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::digest::Digest;
use seaworthy_model::draw::mix;

use super::Host;

/// A certificate that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The file for it and its key.
    pub path: TextNumber,
    /// The node that it is for.
    pub node: TextNumber,
    /// The key of the existing certificate that is to be replaced.
    pub replaces: Option<KeyNumber>,
}

/// A certificate from the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The file for it and its key.
    pub path: TextNumber,
    /// The node that it is to be for.
    pub node: TextNumber,
    /// The certificate; `None` when it is not a node certificate.
    pub certificate: Option<NodeCertificate>,
}

/// A path or the name of a node, by its number in the world's catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextNumber(pub u32);

/// A key, or the name of an authority: what stands for its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyNumber(pub u64);

impl KeyNumber {
    /// The digest that stands for it outside.
    #[must_use]
    pub fn digest(self) -> Digest {
        let mut bytes = [0x5e; 32];
        bytes[..8].copy_from_slice(&self.0.to_be_bytes());
        Digest(bytes)
    }

    /// The number that a digest stands for; none when no number does.
    #[must_use]
    pub fn of(digest: Digest) -> Option<Self> {
        let (number, rest) = digest.0.split_first_chunk()?;
        rest.iter().all(|&byte| byte == 0x5e).then_some(Self(u64::from_be_bytes(*number)))
    }
}

/// A certificate of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCertificate {
    /// Its key.
    pub key: KeyNumber,
    /// The node that it makes its holder.
    pub node: TextNumber,
    /// Who has signed it.
    pub authority: KeyNumber,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

/// The identity that a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The file that an order has named.
    path: Option<TextNumber>,
    /// The node and the key that wait for a certificate.
    pending: Option<(TextNumber, KeyNumber)>,
    /// The file with certificate and key.
    file: Option<(TextNumber, NodeCertificate)>,
    /// Whether the host program has installed the file.
    is_installed: bool,
    /// How many keys were made here.
    made: u64,
}

impl NodeIdentity {
    /// The file that is reported, once anybody asked for one.
    #[must_use]
    pub const fn path(&self) -> Option<TextNumber> {
        self.path
    }

    /// Whether the host program has installed this certificate, or an earlier one.
    #[must_use]
    pub const fn is_installed(&self) -> bool {
        self.is_installed
    }

    /// The node and the key that wait for a certificate.
    #[must_use]
    pub const fn pending(&self) -> Option<(TextNumber, KeyNumber)> {
        self.pending
    }

    /// The certificate in the file at `path`.
    #[must_use]
    pub fn certificate_at(&self, path: TextNumber) -> Option<NodeCertificate> {
        self.file.filter(|(place, _)| *place == path).map(|(_, certificate)| certificate)
    }

    /// The path of the file with the certificate.
    #[must_use]
    pub fn place(&self) -> Option<TextNumber> {
        self.file.map(|(place, _)| place)
    }

    /// The certificate by which the host's node is known, wherever it is.
    #[must_use]
    pub fn certificate(&self) -> Option<NodeCertificate> {
        self.file.map(|(_, certificate)| certificate)
    }
}

impl Host {
    /// What it has of an identity.
    #[must_use]
    pub fn node(&self) -> Option<&NodeIdentity> {
        self.node.as_deref()
    }

    /// Whether the requested file contains a certificate that is not to be replaced. Then the host only reports it, and
    /// is not claimed.
    pub(super) fn is_identified(&self, wanted: &Wanted) -> bool {
        let present = self.node().and_then(|node| node.certificate_at(wanted.path));
        present.is_some_and(|present| Some(present.key) != wanted.replaces)
    }

    /// Ensures that a key is pending, unless there is a certificate.
    pub(super) fn want_certificate(&mut self, wanted: &Wanted) {
        let is_there = self.is_identified(wanted);
        let identity = self.identity.0;
        let node = self.node.get_or_insert_default();
        node.path = Some(wanted.path);
        node.pending = node.pending.filter(|(name, _)| *name == wanted.node && !is_there);
        if node.pending.is_none() && !is_there {
            node.pending = Some((wanted.node, new_key(identity, node)));
        }
    }

    /// Whether a certificate may be installed: it is for the pending key, or it is already installed.
    pub(super) fn takes_certificate(
        &self,
        (path, name): (TextNumber, TextNumber),
        offered: Option<NodeCertificate>,
    ) -> Result<NodeCertificate, CauseKind> {
        let offered = offered.filter(|offered| offered.node == name).ok_or(CauseKind::CertificateRefused)?;
        let node = self.node().ok_or(CauseKind::CertificateRefused)?;
        let waits = node.path == Some(path) && node.pending == Some((name, offered.key));
        let is_there = node.certificate_at(path) == Some(offered);
        if waits || is_there { Ok(offered) } else { Err(CauseKind::CertificateRefused) }
    }

    /// Installs a certificate.
    pub(super) fn put_certificate(&mut self, path: TextNumber, certificate: NodeCertificate) {
        let node = self.node.get_or_insert_default();
        if node.pending.take_if(|(_, key)| *key == certificate.key).is_some() {
            node.file = Some((path, certificate));
            node.is_installed = true;
        }
    }

    /// Forgets the identity, and removes the file if the host program has installed it.
    pub(super) fn remove_identity(&mut self) {
        let Some(node) = &mut self.node else { return };
        node.file = node.file.filter(|_| !node.is_installed);
        (node.path, node.pending, node.is_installed) = (None, None, false);
    }

    /// Removes an identity that the host program has not installed.
    pub(super) fn remove_foreign_identity(&mut self) {
        let Some(node) = &mut self.node else { return };
        node.file = node.file.filter(|_| node.is_installed);
    }

    /// Makes a new key for any program on the host. Only the number of keys is recorded.
    pub fn make_key(&mut self) -> KeyNumber {
        let identity = self.identity.0;
        new_key(identity, self.node.get_or_insert_default())
    }

    /// Another program than the host program installs a certificate with its key: kubelet on rotation, or the tools of
    /// an earlier owner of this host.
    pub fn place_certificate(&mut self, path: TextNumber, certificate: NodeCertificate) {
        self.node.get_or_insert_default().file = Some((path, certificate));
    }
}

fn new_key(identity: u128, node: &mut NodeIdentity) -> KeyNumber {
    node.made += 1;
    KeyNumber(mix(&[(identity >> 64) as u64, identity as u64, node.made]))
}
