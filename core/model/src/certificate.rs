//! Node identities: the client certificate by which a kubelet is known, the request by which a host comes by one, and
//! `CertificateSigningRequest` objects as decisions see them. No type here has room for a private key.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::meta::Meta;
use crate::time::Timestamp;

/// What the common name of a node's certificate begins with; the node's name follows.
pub const NODE_PREFIX: &str = "system:node:";

/// The organization of a node's certificate, and the group that it makes its holder a member of.
pub const NODES_GROUP: &str = "system:nodes";

/// The most organizations of a certificate that are read. A node has one.
const ORGANIZATIONS_MAX: usize = 64;

/// The client certificate that a component needs before it is installed: that of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeIdentity {
    /// Absolute path on the host of the file with certificate and key, as kubelet's own rotation keeps it:
    /// `/var/lib/kubelet/pki/kubelet-client-current.pem`.
    pub path: Arc<str>,
    /// How long before its end a certificate that was not renewed is replaced. `None`: the last twentieth of its life. kubelet
    /// renews by itself when 70 to 90 % of it are over (`jitteryDuration` of client-go).
    pub renew_before: Option<Duration>,
}

/// What a host says of the node identity on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostIdentity {
    /// The file that was looked at.
    pub path: Arc<str>,
    /// The certificate in it; `None` when there is none that goes with a key.
    pub certificate: Option<Certificate>,
    /// The key that waits for its certificate.
    pub pending: Option<PendingRequest>,
}

/// A certificate, as far as decisions depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The digest of its public key (of the DER of its `SubjectPublicKeyInfo`).
    pub key: Digest,
    /// The common name of its subject.
    pub common_name: Arc<str>,
    /// The organizations of its subject.
    #[serde(deserialize_with = "crate::bounded::list::<_, _, ORGANIZATIONS_MAX>")]
    pub organizations: Vec<Arc<str>>,
    /// The digest of its issuer's name (of its DER).
    pub issuer: Digest,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

impl Certificate {
    /// Whether it makes its holder the node `name`, and nothing else.
    #[must_use]
    pub fn is_of_node(&self, name: &str) -> bool {
        is_node_subject(&self.common_name, &self.organizations, name)
    }
}

/// Whether a subject is that of the node `name`.
#[must_use]
pub fn is_node_subject(common_name: &str, organizations: &[Arc<str>], name: &str) -> bool {
    common_name.strip_prefix(NODE_PREFIX) == Some(name)
        && matches!(organizations, [organization] if **organization == *NODES_GROUP)
}

/// A key that was made on a host, and the request that was signed with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingRequest {
    /// The digest of the public key (of the DER of its `SubjectPublicKeyInfo`).
    pub key: Digest,
    /// The request: PKCS#10 as PEM.
    pub request: Arc<str>,
}

/// The two signers whose requests are the operator's to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Signer {
    /// Client certificates by which kubelets are known to the API server.
    KubeletClient,
    /// Serving certificates of kubelets.
    KubeletServing,
}

impl Signer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::KubeletClient, Self::KubeletServing];

    /// Its name in Kubernetes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KubeletClient => "kubernetes.io/kube-apiserver-client-kubelet",
            Self::KubeletServing => "kubernetes.io/kubelet-serving",
        }
    }
}

/// What a certificate is to be used for, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Usages(pub u8);

impl Usages {
    /// `digital signature`.
    pub const DIGITAL_SIGNATURE: Self = Self(1);
    /// `key encipherment`.
    pub const KEY_ENCIPHERMENT: Self = Self(2);
    /// `client auth`.
    pub const CLIENT_AUTH: Self = Self(4);
    /// `server auth`.
    pub const SERVER_AUTH: Self = Self(8);
    /// Anything else.
    pub const OTHER: Self = Self(128);
    /// What we ask for, for a kubelet: an ECDSA key enciphers nothing.
    pub const NODE_CLIENT: Self = Self::DIGITAL_SIGNATURE.with(Self::CLIENT_AUTH);

    /// The usage of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "digital signature" => Self::DIGITAL_SIGNATURE,
            "key encipherment" => Self::KEY_ENCIPHERMENT,
            "client auth" => Self::CLIENT_AUTH,
            "server auth" => Self::SERVER_AUTH,
            _ => Self::OTHER,
        }
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is part of it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A `CertificateSigningRequest` of one of the [`Signer`]s, as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateRequestObject {
    /// Its metadata.
    pub meta: Meta,
    /// The signer that it is addressed to.
    pub signer: Signer,
    /// The user that created it, as the API server recorded.
    pub username: Arc<str>,
    /// The groups of that user.
    pub groups: Vec<Arc<str>>,
    /// What the certificate is to be used for.
    pub usages: Usages,
    /// What is asked for, or why that cannot be read.
    pub content: Result<RequestContent, String>,
    /// How far it has come.
    pub state: RequestState,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestContent {
    /// The common name of the subject; empty when it has none.
    pub common_name: Arc<str>,
    /// The organizations of the subject.
    pub organizations: Vec<Arc<str>>,
    /// How many other parts the subject has.
    pub other_names: u32,
    /// DNS names.
    pub dns_names: Vec<Arc<str>>,
    /// IP addresses, in their usual text form.
    pub ip_addresses: Vec<Arc<str>>,
    /// The number of alternative names of other kinds: URIs, mail addresses and so on.
    pub other_addresses: u32,
    /// The digest of the public key (of the DER of its `SubjectPublicKeyInfo`).
    pub key: Digest,
}

impl RequestContent {
    /// What a node asks for with this key, for its client certificate.
    #[must_use]
    pub fn of_node(name: &str, key: Digest) -> Self {
        Self {
            common_name: format!("{NODE_PREFIX}{name}").into(),
            organizations: vec![NODES_GROUP.into()],
            other_names: 0,
            dns_names: Vec::new(),
            ip_addresses: Vec::new(),
            other_addresses: 0,
            key,
        }
    }
}

/// A request that is to become an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCertificateRequest {
    /// The name of the object: [`request_name`].
    pub name: String,
    /// The signer that it is addressed to.
    pub signer: Signer,
    /// What the certificate is to be used for.
    pub usages: Usages,
    /// The request: PKCS#10 as PEM.
    pub request: Arc<str>,
}

/// The name of the object for a key that was made on the host of the Machine `machine`. People can read from it whose key
/// it is. It cannot be guessed before the key is made, so nobody can have taken it.
#[must_use]
pub fn request_name(machine: &str, key: Digest) -> String {
    // A name has at most 253 bytes. Cutting it off is safe: the key makes it unique.
    let mut name: String = machine.chars().take(200).collect();
    name.truncate(name.trim_end_matches(['.', '-']).len());
    alloc::format!("{name}-{}", key.short())
}

/// That a request is not approved. People are told once of each request and reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventNote {
    /// The request's uid.
    pub uid: crate::id::Uid,
    /// Why.
    pub reason: Refusal,
    /// Who has asked.
    pub username: Arc<str>,
    /// The common name that was asked for, or why the request cannot be read.
    pub asked: Result<Arc<str>, String>,
    /// When.
    pub at: Timestamp,
    /// The process that says it.
    pub reporter: String,
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestState {
    /// It is neither approved nor denied.
    Pending,
    /// It is approved, and not signed yet.
    Approved(Approval),
    /// It is denied.
    Denied,
    /// The signer could not sign it.
    Failed,
    /// It is signed: this is the certificate, as PEM.
    Issued(Approval, Arc<str>),
}

/// The approver of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Approval {
    /// This operator, or one before it.
    Ours,
    /// kube-controller-manager, because a binding lets it.
    Automatic,
    /// Somebody else.
    Other,
}

/// Why a request is not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// It cannot be read, or its signature is not of its own key.
    Unreadable,
    /// Its creator is neither the node that it is for nor this operator.
    Requester,
    /// The subject is not that of the node.
    Subject,
    /// It is to be used for something else than what the signer is for.
    KeyUsages,
    /// It has alternative names where none belong, or some that are not the machine's.
    Addresses,
    /// There is no such Machine, or it is being deleted.
    NoMachine,
    /// The host has no identity that this could renew.
    NoIdentity,
    /// The key is not the one that waits on the host for its certificate.
    Key,
    /// The node asks too often.
    TooMany,
    /// kube-controller-manager has approved it: a binding lets every requester become a node.
    ApprovedAutomatically,
}

impl Refusal {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::Unreadable,
        Self::Requester,
        Self::Subject,
        Self::KeyUsages,
        Self::Addresses,
        Self::NoMachine,
        Self::NoIdentity,
        Self::Key,
        Self::TooMany,
        Self::ApprovedAutomatically,
    ];

    /// Its name in Events and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "RequestUnreadable",
            Self::Requester => "ForeignRequester",
            Self::Subject => "SubjectNotAllowed",
            Self::KeyUsages => "UsagesNotAllowed",
            Self::Addresses => "AddressesNotAllowed",
            Self::NoMachine => "NoSuchMachine",
            Self::NoIdentity => "NoIdentityToRenew",
            Self::Key => "KeyNotReported",
            Self::TooMany => "TooManyRequests",
            Self::ApprovedAutomatically => "ApprovedAutomatically",
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn only_the_exact_subject_is_a_nodes() {
        let nodes: Arc<str> = NODES_GROUP.into();
        assert!(is_node_subject("system:node:m-1", core::slice::from_ref(&nodes), "m-1"));
        for (name, organizations) in [
            ("system:node:m-10", vec![nodes.clone()]),
            ("system:node:", vec![nodes.clone()]),
            ("m-1", vec![nodes.clone()]),
            ("system:node:m-1", vec![]),
            ("system:node:m-1", vec![nodes.clone(), "system:masters".into()]),
            ("system:node:m-1", vec!["system:masters".into()]),
        ] {
            assert!(!is_node_subject(name, &organizations, "m-1"), "{name} {organizations:?}");
        }
    }

    #[test]
    fn usages_are_a_set() {
        let asked = ["client auth", "digital signature", "client auth"];
        let usages = asked.into_iter().map(Usages::named).fold(Usages::default(), Usages::with);
        assert_eq!(usages, Usages::NODE_CLIENT);
        assert!(Usages::named("crl sign").contains(Usages::OTHER));
        assert!(!Usages::NODE_CLIENT.contains(Usages::SERVER_AUTH));
    }
}
