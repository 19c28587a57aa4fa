//! The identity of the node that a host is: a key that waits for its certificate, and the file with both. Keys are
//! numbers here; what is secret of a real one has no counterpart.

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
    /// The key of the certificate there that is of no use any more.
    pub replaces: Option<KeyNumber>,
}

/// A certificate that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The file for it and its key.
    pub path: TextNumber,
    /// The node that it is to be for.
    pub node: TextNumber,
    /// The certificate; none when it is not one of a node at all.
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

/// What a host has of an identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The file that the host program was told of.
    path: Option<TextNumber>,
    /// The node and the key that wait for a certificate.
    pending: Option<(TextNumber, KeyNumber)>,
    /// The file with certificate and key.
    file: Option<(TextNumber, NodeCertificate)>,
    /// Whether the host program has put it there.
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

    /// Whether the host program has put the certificate there, or any before it.
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

    /// Where the file with the certificate is.
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

    /// Whether the file that is asked for holds a certificate that is not to be replaced: then nothing is done but to
    /// report it, and the host is not claimed.
    pub(super) fn is_identified(&self, wanted: &Wanted) -> bool {
        let present = self.node().and_then(|node| node.certificate_at(wanted.path));
        present.is_some_and(|present| Some(present.key) != wanted.replaces)
    }

    /// Sees to it that a key waits, unless there is a certificate.
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

    /// Whether a certificate may be put into its place: it is for the key that waits, or it is there.
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

    /// Puts a certificate into its place.
    pub(super) fn put_certificate(&mut self, path: TextNumber, certificate: NodeCertificate) {
        let node = self.node.get_or_insert_default();
        if node.pending.take_if(|(_, key)| *key == certificate.key).is_some() {
            node.file = Some((path, certificate));
            node.is_installed = true;
        }
    }

    /// Forgets what the host program knows of an identity, and removes what it has put into its place.
    pub(super) fn remove_identity(&mut self) {
        let Some(node) = &mut self.node else { return };
        node.file = node.file.filter(|_| !node.is_installed);
        (node.path, node.pending, node.is_installed) = (None, None, false);
    }

    /// Somebody takes away an identity that the host program has not put there.
    pub(super) fn remove_foreign_identity(&mut self) {
        let Some(node) = &mut self.node else { return };
        node.file = node.file.filter(|_| node.is_installed);
    }

    /// A new key, made by whoever runs on it; nothing is remembered of it but that it was made.
    pub fn make_key(&mut self) -> KeyNumber {
        let identity = self.identity.0;
        new_key(identity, self.node.get_or_insert_default())
    }

    /// Somebody else than the host program puts a certificate with its key there: kubelet when it rotates, or whoever
    /// had this host before.
    pub fn place_certificate(&mut self, path: TextNumber, certificate: NodeCertificate) {
        self.node.get_or_insert_default().file = Some((path, certificate));
    }
}

fn new_key(identity: u128, node: &mut NodeIdentity) -> KeyNumber {
    node.made += 1;
    KeyNumber(mix(&[(identity >> 64) as u64, identity as u64, node.made]))
}
