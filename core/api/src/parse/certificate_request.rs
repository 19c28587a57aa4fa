//! `CertificateSigningRequest`: the requester, the purpose, and the state. The request itself is decoded by a function
//! that the caller passes in, since this crate does not read X.509.

use std::sync::Arc;

use seaworthy_model::certificate::{
    Approval, CertificateRequestObject, RequestContent, RequestState, Signer, Usages,
};
use seaworthy_model::id::{CertificateRequestId, Kind};

use super::metadata::{MetadataError, metadata};
use crate::base64;
use crate::names::Names;
use crate::object::CertificateSigningRequest;
use crate::v1alpha1::APPROVED;

/// Reads a PKCS#10 request in PEM. An error says why that failed.
pub type ReadRequest = fn(&str) -> Result<RequestContent, String>;

/// The `reason` that kube-controller-manager gives when it approves by itself.
const AUTOMATIC: &str = "AutoApproved";
/// The longest list and the longest text of a request that are read; those of a node are far shorter, and what is read
/// stays in memory.
const LIST_MAX: usize = 64;
const TEXT_MAX: usize = 1024;
/// The longest request that is decoded, in bytes of base64. A node's has some 500; who sends more does so to keep us busy.
const REQUEST_MAX: usize = 16 << 10;

/// Whether a request is of interest: those for other signers are not.
#[must_use]
pub fn is_of_interest(request: &CertificateSigningRequest) -> bool {
    signer(&request.spec.signer_name).is_some()
}

fn signer(name: &str) -> Option<Signer> {
    Signer::ALL.into_iter().find(|signer| signer.name() == name)
}

/// Reads a certificate request, of which `content` was [decoded](request_content) before; `None` when it is not
/// [of interest](is_of_interest).
///
/// # Errors
/// When the metadata is invalid.
pub(super) fn certificate_request(
    object: &CertificateSigningRequest,
    content: impl FnOnce(&str) -> Result<RequestContent, String>,
    names: &mut Names,
) -> Result<Option<(CertificateRequestId, CertificateRequestObject)>, MetadataError> {
    let spec = &object.spec;
    let Some(signer) = signer(&spec.signer_name) else { return Ok(None) };
    let meta = metadata(Kind::CertificateSigningRequest, &object.metadata)?;
    let id = names.id(&object.metadata.name);
    let usages = spec.usages.iter().map(|usage| Usages::named(usage));
    let read = CertificateRequestObject {
        meta,
        signer,
        username: spec.username.as_str().into(),
        groups: spec.groups.iter().take(LIST_MAX).map(|group| group.as_str().into()).collect(),
        usages: usages.fold(Usages::default(), Usages::with),
        content: content(&spec.request),
        state: state(object),
    };
    Ok(Some((id, read)))
}

/// What a request asks for, as base64 of PEM. `read` decodes the PEM.
///
/// # Errors
/// When it is longer than any node's, or cannot be decoded.
pub fn request_content(request: &str, read: ReadRequest) -> Result<RequestContent, String> {
    if request.len() > REQUEST_MAX {
        return Err(format!("spec.request has {} bytes, more than any node's", request.len()));
    }
    let bytes = base64::decode(request).ok_or("spec.request is not base64")?;
    let pem = String::from_utf8(bytes).map_err(|_| "spec.request is not PEM")?;
    let content = read(&pem)?;
    let lists = [&content.organizations, &content.dns_names, &content.ip_addresses];
    let is_long = |text: &Arc<str>| text.len() > TEXT_MAX;
    let texts = lists.into_iter().flatten().chain([&content.common_name]);
    if lists.into_iter().any(|list| list.len() > LIST_MAX) || texts.into_iter().any(is_long) {
        return Err("the request has more names, or longer ones, than any node has".to_owned());
    }
    Ok(content)
}

/// A condition counts whatever its `status`: for these types the API server takes none but `True`.
fn state(object: &CertificateSigningRequest) -> RequestState {
    let Some(status) = &object.status else { return RequestState::Pending };
    let condition = |wanted: &str| status.conditions.iter().find(|condition| condition.r#type == wanted);
    if condition("Denied").is_some() {
        return RequestState::Denied;
    }
    if condition("Failed").is_some() {
        return RequestState::Failed;
    }
    let Some(approved) = condition("Approved") else { return RequestState::Pending };
    let approval = match approved.reason.as_str() {
        APPROVED => Approval::Ours,
        AUTOMATIC => Approval::Automatic,
        _ => Approval::Other,
    };
    let certificate = base64::decode(&status.certificate).and_then(|pem| String::from_utf8(pem).ok());
    match certificate.filter(|pem| !pem.is_empty()) {
        Some(pem) => RequestState::Issued(approval, pem.into()),
        None => RequestState::Approved(approval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{
        CertificateRequestCondition, CertificateRequestSpec, CertificateRequestStatus, Metadata,
    };

    fn unread(_: &str) -> Result<RequestContent, String> {
        Err("nobody reads it".to_owned())
    }

    fn request(signer: &str) -> CertificateSigningRequest {
        let metadata = Metadata {
            uid: "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0".into(),
            resource_version: "7".into(),
            ..Metadata::named("csr-1")
        };
        let spec = CertificateRequestSpec {
            request: base64::encode(b"pem"),
            signer_name: signer.into(),
            usages: vec!["client auth".into(), "digital signature".into()],
            ..CertificateRequestSpec::default()
        };
        CertificateSigningRequest { metadata, spec, ..CertificateSigningRequest::default() }
    }

    #[test]
    fn requests_of_other_signers_are_nobodys_business() {
        let mut names = Names::new();
        let other = request("kubernetes.io/kube-apiserver-client");
        assert_eq!(certificate_request(&other, unread, &mut names), Ok(None));
        assert!(!is_of_interest(&other));
        assert!(names.take_new().is_empty(), "their names are not kept");
    }

    #[test]
    fn how_far_a_request_has_come() {
        let conditions = |types: &[(&str, &str)]| {
            let condition = |(r#type, reason): &(&str, &str)| CertificateRequestCondition {
                r#type: (*r#type).into(),
                reason: (*reason).into(),
                ..CertificateRequestCondition::default()
            };
            types.iter().map(condition).collect::<Vec<_>>()
        };
        let pem = base64::encode(b"certificate");
        let issued = |approval| RequestState::Issued(approval, "certificate".into());
        for (given, certificate, expected) in [
            (&[][..], "", RequestState::Pending),
            (&[("Approved", APPROVED)], "", RequestState::Approved(Approval::Ours)),
            (&[("Approved", AUTOMATIC)], &pem, issued(Approval::Automatic)),
            (&[("Approved", "KubectlApprove")], &pem, issued(Approval::Other)),
            (&[("Approved", APPROVED)], "not base64", RequestState::Approved(Approval::Ours)),
            (&[("Approved", APPROVED), ("Failed", "x")], "", RequestState::Failed),
            (&[("Denied", "x"), ("Approved", APPROVED)], &pem, RequestState::Denied),
        ] {
            let mut object = request(Signer::KubeletClient.name());
            let status =
                CertificateRequestStatus { conditions: conditions(given), certificate: certificate.into() };
            object.status = Some(status);
            let (_, read) = certificate_request(&object, unread, &mut Names::new()).unwrap().unwrap();
            assert_eq!(read.state, expected, "{given:?}");
            assert_eq!((read.usages, read.signer), (Usages::NODE_CLIENT, Signer::KubeletClient));
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let mut object = request(Signer::KubeletServing.name());
        let content =
            |object: &CertificateSigningRequest| request_content(&object.spec.request, unread).unwrap_err();
        assert_eq!(content(&object), "nobody reads it");
        object.spec.request = "?".into();
        assert_eq!(content(&object), "spec.request is not base64");
        object.spec.request = "A".repeat(REQUEST_MAX + 4);
        assert_eq!(content(&object), "spec.request has 16388 bytes, more than any node's");
    }
}
