//! Certificate requests, approvals and Events as objects.

use seaworthy_model::certificate::{EventNote, NewCertificateRequest, Refusal, Usages};
use seaworthy_model::id::Kind;

use crate::base64;
use crate::object::{
    CertificateRequestCondition, CertificateRequestSpec, CertificateSigningRequest, Endpoint, Event,
    Metadata, Reference,
};
use crate::rfc3339;
use crate::v1alpha1::{APPROVED, GROUP};

/// A request for a certificate.
pub(crate) fn certificate_request(new: &NewCertificateRequest) -> CertificateSigningRequest {
    let known = ["digital signature", "key encipherment", "client auth", "server auth"];
    let usages = known.into_iter().filter(|name| new.usages.contains(Usages::named(name)));
    let endpoint = Endpoint::of(Kind::CertificateSigningRequest);
    CertificateSigningRequest {
        api_version: endpoint.api_version.into(),
        kind: endpoint.kind.name().into(),
        metadata: Metadata::named(new.name.as_str()),
        spec: CertificateRequestSpec {
            request: base64::encode(new.request.as_bytes()),
            signer_name: new.signer.name().to_owned(),
            usages: usages.map(str::to_owned).collect(),
            ..CertificateRequestSpec::default()
        },
        status: None,
    }
}

/// The condition by which a request is approved.
pub(crate) fn approval() -> CertificateRequestCondition {
    CertificateRequestCondition {
        r#type: "Approved".to_owned(),
        status: "True".to_owned(),
        reason: APPROVED.to_owned(),
        message: "the key, the name and the addresses are those of a Machine".to_owned(),
    }
}

/// An Event about the object `name` of `kind`, as a warning.
pub(crate) fn event(note: &EventNote, kind: Kind, name: &str) -> Event {
    let (own, about) = (Endpoint::of(Kind::Event), Endpoint::of(kind));
    Event {
        api_version: own.api_version.into(),
        kind: own.kind.name().into(),
        metadata: Metadata {
            namespace: own.namespace.map(str::to_owned),
            ..Metadata::named(note.name.as_str())
        },
        event_time: rfc3339::format_micro(note.at),
        reporting_controller: GROUP.to_owned(),
        reporting_instance: note.reporter.chars().take(128).collect(),
        action: "Approve".to_owned(),
        reason: note.reason.name().to_owned(),
        regarding: Reference {
            api_version: about.api_version.into(),
            kind: kind.name().into(),
            name: name.to_owned(),
            uid: note.uid.into(),
        },
        note: words(note),
        r#type: "Warning".into(),
    }
}

/// What the reason says to a person, with a detail; at most 1024 bytes, as the API server wants it.
fn words(note: &EventNote) -> String {
    let mut text = refusal(note.reason).to_owned();
    if !note.detail.is_empty() {
        text.push_str(": ");
        // An untrusted detail: every character may have four bytes.
        text.extend(note.detail.chars().filter(|letter| !letter.is_control()).take(128));
    }
    text
}

/// What it says to a person that a request is not approved.
pub(crate) const fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Unreadable => "not approved: the request cannot be read, or is not signed with its own key",
        Refusal::Requester => {
            "not approved: it was created neither by the node that it is for nor by this operator under the name of a \
             request of its own"
        }
        Refusal::Subject => {
            "not approved: the subject must be that of the node, CN system:node:<name> and O system:nodes, and nothing \
             else"
        }
        Refusal::KeyUsages => {
            "not approved: the usages must be digital signature, client auth (of a serving certificate: server auth) \
             and at most key encipherment besides"
        }
        Refusal::Addresses => {
            "not approved: a serving certificate may name the addresses of its Machine and nothing else, a client \
             certificate none"
        }
        Refusal::NoMachine => "not approved: there is no Machine of that name, or it is being deleted",
        Refusal::NoIdentity => "not approved: the host of that Machine has no identity of this node",
        Refusal::Key => {
            "not approved: the key is not the one that waits on the host of the Machine for its certificate"
        }
        Refusal::TooMany => "not approved for now: the node has had too many certificates lately",
        Refusal::ApprovedAutomatically => {
            "approved by kube-controller-manager, because a binding of system:certificates.k8s.io:\
             certificatesigningrequests:nodeclient or selfnodeclient lets it: remove that binding, or whoever has the \
             right makes itself any node"
        }
    }
}
