//! A signer, as kube-controller-manager is one for kubelets.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DnType, IsCa, Issuer, KeyPair,
};

/// An authority that signs whatever it is given.
pub struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "test authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(Issuer::new(parameters, KeyPair::generate().unwrap()))
    }

    /// Signs a request as it is.
    pub fn sign(&self, request: &str) -> String {
        CertificateSigningRequestParams::from_pem(request).unwrap().signed_by(&self.0).unwrap().pem()
    }

    /// A certificate of a node, with its key, that has ended long ago.
    pub fn expired(&self, node: &str) -> String {
        self.pair(&format!("system:node:{node}"))
    }

    /// A certificate of nobody's node, with its key.
    pub fn own(&self) -> String {
        self.pair("kubernetes-ca")
    }

    fn pair(&self, name: &str) -> String {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        format!("{}{}", certificate.pem(), key.serialize_pem())
    }
}
