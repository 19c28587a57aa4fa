//! Certificate requests, approvals and Events as objects.

use seaworthy_model::certificate::{EventNote, NewCertificateRequest, Refusal, Usages};
use seaworthy_model::id::Kind;

use crate::base64;
use crate::object::{
    CertificateRequestCondition, CertificateRequestSpec, CertificateSigningRequest, Endpoint, Event, Metadata,
};
use crate::v1alpha1::APPROVED;

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
    let reason = note.reason.name();
    Event {
        action: "Approve".to_owned(),
        reason: reason.to_owned(),
        note: words(note),
        r#type: "Warning".into(),
        ..super::event::event((kind, name, note.uid), &reason.to_ascii_lowercase(), (note.at, &note.reporter))
    }
}

/// The message: the explanation of the reason, the requester, and the request; at most 1024 bytes, the limit of the API
/// server.
fn words(note: &EventNote) -> String {
    let detail = match &note.asked {
        Ok(common_name) => format!("{} asks for {common_name}", note.username),
        Err(why) => format!("{}: {why}", note.username),
    };
    // Others have chosen these names: every character may have four bytes.
    let detail: String = detail.chars().filter(|letter| !letter.is_control()).take(128).collect();
    format!("{}: {detail}", refusal(note.reason))
}

/// Why a request is not approved, as a sentence.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use seaworthy_model::id::Uid;
    use seaworthy_model::time::Timestamp;

    use super::*;

    fn note(reason: Refusal, asked: Result<Arc<str>, String>) -> EventNote {
        EventNote {
            uid: Uid(0x0f3c_1d2e_4b5a_6978_8796_a5b4_c3d2_e1f0),
            reason,
            username: "system:node:m-1".into(),
            asked,
            at: Timestamp::from_millis(1_795_162_200_000),
            reporter: "operator-0".into(),
        }
    }

    #[test]
    fn an_event_has_one_name_for_each_request_and_reason() {
        let note = note(Refusal::NoMachine, Ok("system:node:m-2".into()));
        let about =
            |name: &str| event(&note, Kind::CertificateSigningRequest, name).metadata.name.to_string();
        assert_eq!(about("csr-1"), "csr-1.f3c1d2e4b5a6978.nosuchmachine");
        let long = format!("{}.-{}", "a".repeat(178), "b".repeat(60));
        assert_eq!(about(&long), format!("{}.f3c1d2e4b5a6978.nosuchmachine", "a".repeat(178)));
    }

    #[test]
    fn an_event_says_who_asks_for_what() {
        let says =
            |asked| event(&note(Refusal::NoMachine, asked), Kind::CertificateSigningRequest, "csr-1").note;
        let reason = refusal(Refusal::NoMachine);
        assert_eq!(
            says(Ok("system:node:m-2".into())),
            format!("{reason}: system:node:m-1 asks for system:node:m-2")
        );
        assert_eq!(says(Err("not\nPEM".into())), format!("{reason}: system:node:m-1: notPEM"));
        assert_eq!(says(Ok("é".repeat(200).into())).chars().count(), reason.chars().count() + 2 + 128);
    }
}
