//! Fetching an artefact over HTTP or HTTPS. Its digest is known before, so it does not matter who serves it; TLS is for
//! servers that want it. The host's own trust store says whom to trust.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Artefact;
use seaworthy_model::digest::Digest;
use sha2::{Digest as _, Sha256};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::disk::{self, Disk};
use crate::failure::{self, Result};

/// The largest artefact, in bytes: the complete tarballs of Kubernetes' node binaries have a tenth of it.
const BYTES_MAX: u64 = 4 << 30;
/// The longest time for a whole artefact.
const TOTAL: Duration = Duration::from_secs(30 * 60);
/// The longest silence of a server.
const SILENCE: Duration = Duration::from_secs(30);
/// Where distributions keep the certificates that they trust: Debian and its kin, Red Hat, SUSE.
const TRUST_STORES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Fetches `artefact` into the new file `place`, of at most `room` bytes, and makes it durable. Gives its size. The
/// file is the right one when this succeeds.
pub(crate) fn fetch(disk: Disk<'_>, artefact: &Artefact, place: &Path, room: u64) -> Result<u64> {
    let url = &artefact.url;
    let failed = |detail: String| Cause::new(CauseKind::DownloadFailed, format!("{url}: {detail}"));
    let response = agent(url)?.get(url).call().map_err(|error| failed(error.to_string()))?;
    let announced = response.body().content_length().unwrap_or(0);
    if announced > BYTES_MAX {
        return Err(failed(format!("{announced} bytes are more than {BYTES_MAX}")));
    }
    check_room(announced, room)?;
    let mut body = response.into_body().into_with_config().limit(BYTES_MAX).reader();
    let mut file = disk.create(place, 0o600)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let length = body.read(&mut buffer).map_err(|error| failed(error.to_string()))?;
        if length == 0 {
            break;
        }
        bytes += length as u64;
        check_room(bytes, room)?;
        hasher.update(&buffer[..length]);
        file.write_all(&buffer[..length]).map_err(|error| failure::on("write", place, &error))?;
    }
    disk.step(&format!("write {}", place.display()));
    let digest = Digest(hasher.finalize().into());
    if digest != artefact.sha256 {
        let detail = format!("{url}: its sha256 is {digest}, not {}", artefact.sha256);
        return Err(Cause::new(CauseKind::DigestMismatch, detail));
    }
    disk.sync(&file, place)?;
    Ok(bytes)
}

fn check_room(bytes: u64, room: u64) -> Result<()> {
    if bytes > room {
        let detail = format!("the artefact is larger than the {room} bytes that are free for it");
        return Err(Cause::new(CauseKind::NoSpace, detail));
    }
    Ok(())
}

fn agent(url: &str) -> Result<ureq::Agent> {
    let secure = url.starts_with("https://");
    let mut config = ureq::Agent::config_builder()
        .https_only(secure)
        // What is fetched is an address that a person wrote down for this host; a proxy in the environment of
        // whoever started us has no say in it.
        .proxy(None)
        .max_redirects(5)
        .timeout_connect(Some(SILENCE))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .timeout_global(Some(TOTAL));
    if secure {
        config = config.tls_config(
            TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .root_certs(RootCerts::Specific(Arc::new(trusted()?)))
                .build(),
        );
    }
    Ok(config.build().new_agent())
}

fn trusted() -> Result<Vec<Certificate<'static>>> {
    for store in TRUST_STORES {
        let Some(pem) = disk::read(Path::new(store), 16 << 20)? else { continue };
        let certificates: Vec<_> = parse_pem(&pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        if !certificates.is_empty() {
            return Ok(certificates);
        }
    }
    let detail =
        format!("https is wanted, but this host trusts no certificate: none in {}", TRUST_STORES.join(", "));
    Err(Cause::new(CauseKind::DownloadFailed, detail))
}
