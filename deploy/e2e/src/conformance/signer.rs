//! A signer that signs every request. The tests check what the host does with the result.

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType, IsCa,
    Issuer, KeyPair,
};
use seaworthy_model::certificate::{NODE_PREFIX, NODES_GROUP};

/// The signer.
pub(super) struct Signer(Issuer<'static, KeyPair>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    pub(super) fn new() -> Result<Self> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "conformance");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(Issuer::new(parameters, KeyPair::generate()?)))
    }

    /// Signs a request as it is.
    pub(super) fn sign(&self, request: &str) -> Result<String> {
        let request = CertificateSigningRequestParams::from_pem(request).context("no request")?;
        Ok(request.signed_by(&self.0)?.pem())
    }

    /// Signs a request, but for another node.
    pub(super) fn sign_for(&self, request: &str, node: &str) -> Result<String> {
        let mut request = CertificateSigningRequestParams::from_pem(request).context("no request")?;
        request.params.distinguished_name = subject(node);
        Ok(request.signed_by(&self.0)?.pem())
    }

    /// A certificate for a node, and its key.
    pub(super) fn issue(&self, node: &str) -> Result<(String, String)> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = subject(node);
        Ok((parameters.signed_by(&key, &self.0)?.pem(), key.serialize_pem()))
    }
}

fn subject(node: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, NODES_GROUP);
    name.push(DnType::CommonName, format!("{NODE_PREFIX}{node}"));
    name
}
