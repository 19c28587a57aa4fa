//! The certificate authority of one control plane and what it issues. All keys are ECDSA P-256.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, as PEM files.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Issues certificates; its own certificate and key lie in `ca.crt` and `ca.key` of its folder, for other signers.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Authority {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let key = KeyPair::generate()?;
        let mut params = named("seaworthy-e2e", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        write(&folder.join("ca.crt"), &params.self_signed(&key)?.pem())?;
        write(&folder.join("ca.key"), &key.serialize_pem())?;
        Ok(Self { folder: folder.to_owned(), issuer: Issuer::new(params, key) })
    }

    /// The file with its own certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The file with its key.
    pub(crate) fn key(&self) -> PathBuf {
        self.folder.join("ca.key")
    }

    /// Issues a certificate for the API server.
    pub(crate) fn issue_server(&self, address: Ipv4Addr) -> Result<Files> {
        let mut params = CertificateParams::new(vec![
            address.to_string(),
            "127.0.0.1".to_owned(),
            "localhost".to_owned(),
            "kubernetes".to_owned(),
            "kubernetes.default.svc".to_owned(),
            // The Service `kubernetes`: what pods know of the API server.
            "10.96.0.1".to_owned(),
        ])?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue("kube-apiserver", params)
    }

    /// Issues a client certificate; the API server reads the user from it, and the user's groups.
    pub(crate) fn issue_client(&self, user: &str, groups: &[&str]) -> Result<Files> {
        let mut params = named(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(user, params)
    }

    /// Makes the key pair that signs service account tokens; the "certificate" is the bare public key.
    pub(crate) fn issue_token_key(&self) -> Result<Files> {
        let key = KeyPair::generate()?;
        self.store("service-account", &key.public_key_pem(), &key)
    }

    fn issue(&self, name: &str, mut params: CertificateParams) -> Result<Files> {
        let key = KeyPair::generate()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?;
        self.store(name, &certificate.pem(), &key)
    }

    fn store(&self, name: &str, public: &str, key: &KeyPair) -> Result<Files> {
        let files = Files {
            certificate: self.folder.join(format!("{name}.crt")),
            key: self.folder.join(format!("{name}.key")),
        };
        write(&files.certificate, public)?;
        write(&files.key, &key.serialize_pem())?;
        Ok(files)
    }
}

fn named(common_name: &str, organizations: &[&str]) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    Ok(params)
}

/// Writes a file that only its owner reads.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).write(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}
