//! Keys, requests and certificates of nodes. Keys are P-256; they are made here and go nowhere but into files that only
//! root may read.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData};
use seaworthy_model::certificate::{Certificate, NODE_PREFIX, NODES_GROUP};
use seaworthy_model::digest::Digest;
use seaworthy_model::time::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use zeroize::Zeroizing;

use crate::failure::{self, Result};

/// A certificate, its key, and whatever leads to its issuer: more than ten times of what they usually have.
pub(crate) const LENGTH_MAX: u64 = 1 << 16;
/// A certificate and those that lead to its issuer.
const CHAIN_MAX: usize = 8;

/// A new key, and the request that was signed with it.
pub(crate) struct Made {
    /// The digest of the public key.
    pub(crate) key: Digest,
    /// The private key: PKCS#8 as PEM.
    pub(crate) private: Zeroizing<String>,
    /// The request: PKCS#10 as PEM.
    pub(crate) request: String,
}

/// Makes a key for the node `name`.
pub(crate) fn make(name: &str) -> Result<Made> {
    let failed = |error: rcgen::Error| failure::host(format!("cannot make a key: {error}"));
    let pair = KeyPair::generate().map_err(failed)?;
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, NODES_GROUP);
    parameters.distinguished_name.push(DnType::CommonName, format!("{NODE_PREFIX}{name}"));
    let request = parameters.serialize_request(&pair).and_then(|request| request.pem()).map_err(failed)?;
    Ok(Made {
        key: Digest::of(&pair.subject_public_key_info()),
        private: Zeroizing::new(pair.serialize_pem()),
        request,
    })
}

/// What is in a file that is to hold a certificate and its key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A certificate with a key.
    Certificate(Certificate),
    /// Nothing of use: it is empty or cut off, or the certificate or its key is missing.
    Remains,
    /// Something else altogether.
    Other,
}

/// Looks at the contents of such a file.
pub(crate) fn look(contents: &[u8]) -> Found {
    if contents.iter().all(u8::is_ascii_whitespace) {
        return Found::Remains;
    }
    let blocks: Vec<Pem> = Pem::iter_from_buffer(contents).filter_map(|block| block.ok()).collect();
    let leaf = blocks.iter().find(|block| block.label == "CERTIFICATE");
    let has_key = blocks.iter().any(|block| block.label.ends_with("PRIVATE KEY"));
    match leaf.map(|leaf| read(&leaf.contents)) {
        Some(Ok(certificate)) if has_key => Found::Certificate(certificate),
        Some(_) => Found::Remains,
        None if has_key || contents.starts_with(b"-----BEGIN") => Found::Remains,
        None => Found::Other,
    }
}

/// Reads the certificate that is offered for a key: PEM, and nothing but certificates, the first of them its own.
///
/// # Errors
/// In words, when it is anything else.
pub(crate) fn offered(pem: &str) -> std::result::Result<Certificate, String> {
    if pem.len() as u64 > LENGTH_MAX {
        return Err(format!("it is longer than {LENGTH_MAX} bytes"));
    }
    let is_plain = |line: &str| {
        matches!(line, "" | "-----BEGIN CERTIFICATE-----" | "-----END CERTIFICATE-----")
            || line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    };
    if !pem.lines().all(is_plain) {
        return Err("it is not PEM with nothing but certificates".to_owned());
    }
    let mut chain = Vec::new();
    for block in Pem::iter_from_buffer(pem.as_bytes()) {
        let block = block.map_err(|error| format!("it is not PEM: {error}"))?;
        chain.push(read(&block.contents)?);
    }
    if chain.len() > CHAIN_MAX {
        return Err(format!("{} certificates are more than {CHAIN_MAX}", chain.len()));
    }
    chain.into_iter().next().ok_or_else(|| "it is empty".to_owned())
}

fn read(der: &[u8]) -> std::result::Result<Certificate, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("it is not an X.509 certificate: {error}");
    let (rest, certificate) = X509Certificate::from_der(der).map_err(|error| wrong(&error))?;
    if !rest.is_empty() {
        return Err(wrong(&"bytes follow it"));
    }
    let subject = certificate.subject();
    let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        value.as_str().map(Into::into).map_err(|error| wrong(&error))
    };
    let names = subject.iter_common_name().map(text).collect::<std::result::Result<Vec<_>, _>>()?;
    let organizations = subject.iter_organization().map(text).collect::<std::result::Result<_, _>>()?;
    // With several common names it is not defined which one counts.
    let common_name = if let [name] = &names[..] { std::sync::Arc::clone(name) } else { "".into() };
    let at = |seconds: i64| Timestamp::from_millis(u64::try_from(seconds).unwrap_or(0).saturating_mul(1000));
    Ok(Certificate {
        key: Digest::of(certificate.public_key().raw),
        common_name,
        organizations,
        issuer: Digest::of(certificate.issuer().as_raw()),
        not_before: at(certificate.validity().not_before.timestamp()),
        not_after: at(certificate.validity().not_after.timestamp()),
    })
}
