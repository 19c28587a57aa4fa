//! Fetches an artefact over HTTP or HTTPS. Its digest is known before, so any server may serve it; TLS is for servers that
//! want it. The host's own trust store decides which certificates are trusted.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Artefact;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::digest::Hasher;
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
    fetch_at_most(BYTES_MAX, disk, artefact, place, room)
}

/// Fetches an artefact of at most `max` bytes, whatever room there is.
fn fetch_at_most(max: u64, disk: Disk<'_>, artefact: &Artefact, place: &Path, room: u64) -> Result<u64> {
    let url = &artefact.url;
    let failed = |detail: String| Cause::new(CauseKind::DownloadFailed, format!("{url}: {detail}"));
    let response = agent(url)?.get(url).call().map_err(|error| failed(error.to_string()))?;
    let announced = response.body().content_length().unwrap_or(0);
    if announced > max {
        return Err(failed(format!("{announced} bytes are more than {max}")));
    }
    check_room(announced, room)?;
    let mut body = response.into_body().into_reader();
    let mut file = disk.create(place, 0o600)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let length = body.read(&mut buffer).map_err(|error| failed(error.to_string()))?;
        if length == 0 {
            break;
        }
        bytes += length as u64;
        // Counted here, since the library's own limit refuses a body of just that size.
        if bytes > max {
            return Err(failed(format!("more than {max} bytes")));
        }
        check_room(bytes, room)?;
        hasher.update(&buffer[..length]);
        file.write_all(&buffer[..length]).map_err(|error| failure::on("write", place, &error))?;
    }
    disk.step(&format!("write {}", place.display()));
    let digest = hasher.finish();
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
        // The URL was written by a person for this host. A proxy in our environment must not redirect it.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::thread;

    use seaworthy_model::component::{Architecture, ArtefactFormat};
    use seaworthy_model::digest::Digest;

    use super::*;
    use crate::steps::Unobserved;

    /// What a server says, and whether it says the rest of it for ever.
    struct Answer {
        head: &'static str,
        body: &'static [u8],
        endless: bool,
    }

    /// Asks a server on loopback for an artefact that is `wanted`; gives what came of it, and what is in the file.
    fn fetched(answer: Answer, max: u64, room: u64, wanted: &[u8]) -> (Result<u64>, Option<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines();
            lines.map(std::result::Result::unwrap).find(String::is_empty).unwrap();
            write!(stream, "HTTP/1.1 200 OK\r\n{}Connection: close\r\n\r\n", answer.head).unwrap();
            // Who is refused has gone by then: that is what ends the endless.
            while stream.write_all(answer.body).is_ok() && answer.endless {}
        });
        let artefact = Artefact {
            architecture: Architecture::Amd64,
            url: format!("http://{address}/webd"),
            sha256: Digest::of(wanted),
            format: ArtefactFormat::TarGz,
        };
        let name = format!("seaworthy-fetch-{}-{}", std::process::id(), address.port());
        let place = std::env::temp_dir().join(name);
        let result = fetch_at_most(max, Disk::new(&Unobserved), &artefact, &place, room);
        server.join().unwrap();
        let contents = fs::read(&place).ok();
        let _ = fs::remove_file(&place);
        (result, contents)
    }

    #[test]
    fn an_artefact_of_just_the_allowed_size_is_fetched() {
        for head in ["Content-Length: 5\r\n", ""] {
            let answer = Answer { head, body: b"hello", endless: false };
            let (result, contents) = fetched(answer, 5, 5, b"hello");
            assert_eq!((result, contents.as_deref()), (Ok(5), Some(&b"hello"[..])), "{head}");
        }
    }

    #[test]
    fn what_announces_too_much_is_not_even_begun() {
        for (room, expected) in [(u64::MAX, CauseKind::DownloadFailed), (5, CauseKind::NoSpace)] {
            let max = if expected == CauseKind::NoSpace { u64::MAX } else { 5 };
            let answer = Answer { head: "Content-Length: 6\r\n", body: b"hello!", endless: false };
            let (result, contents) = fetched(answer, max, room, b"hello!");
            assert_eq!(result.unwrap_err().kind, expected);
            assert_eq!(contents, None, "a file was made for what was refused");
        }
    }

    #[test]
    fn what_never_ends_is_given_up_at_the_limit() {
        const LIMIT: u64 = 1 << 20;
        let chunk = b"1000\r\n";
        let mut chunked = chunk.to_vec();
        chunked.extend([b'x'; 0x1000]);
        chunked.extend(b"\r\n");
        let chunked: &'static [u8] = chunked.leak();
        for (head, body) in [("", &[b'x'; 0x1000][..]), ("Transfer-Encoding: chunked\r\n", chunked)] {
            for (max, room, expected) in
                [(LIMIT, u64::MAX, CauseKind::DownloadFailed), (u64::MAX, LIMIT, CauseKind::NoSpace)]
            {
                let (result, contents) = fetched(Answer { head, body, endless: true }, max, room, b"");
                let cause = result.unwrap_err();
                assert_eq!(cause.kind, expected, "{head}: {}", cause.detail);
                assert!(cause.detail.contains(&LIMIT.to_string()), "{}", cause.detail);
                let written = contents.unwrap().len() as u64;
                assert!(written <= LIMIT, "{head}: {written} bytes were written");
            }
        }
    }
}
