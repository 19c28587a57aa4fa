//! The web server from which hosts fetch artefacts.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::deadline::eventually;
use crate::network::{Endpoint, Network};
use crate::packages;
use crate::parts::{self, Health};
use crate::process::Process;
use crate::programs;
use crate::run::Run;

const PORT: u16 = 8080;

/// How fast the server sends. A change takes effect in the middle of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Full,
    /// At most so many bytes per second and download.
    BytesPerSecond(u32),
    /// Not a byte, until the pace changes. Connections are accepted and requests read.
    Stalled,
}

/// A file on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefact {
    /// Where hosts fetch it.
    pub url: String,
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// What was asked for, with the leading slash.
    pub path: String,
    /// The address of the client.
    pub client: String,
    /// The HTTP status.
    pub status: u64,
    /// How many bytes of the body were sent.
    pub bytes: u64,
    /// Whether that was all of it.
    pub complete: bool,
}

/// A web server in a namespace of its own that serves a folder.
#[derive(Debug)]
pub struct ArtefactServer {
    run: Arc<Run>,
    process: Mutex<Process>,
    folder: PathBuf,
    pace: PathBuf,
    downloads: PathBuf,
    endpoint: Endpoint,
}

impl ArtefactServer {
    pub(crate) fn start(run: &Arc<Run>, network: &Network) -> Result<Self> {
        let endpoint = network.attach("artefacts")?;
        let folder = run.state().join("artefacts");
        fs::create_dir_all(&folder)?;
        let (pace, downloads) = (run.state().join("pace"), run.logs().join("downloads.jsonl"));
        write_pace(&pace, Pace::Full)?;
        let mut command = endpoint.namespace().command(&programs::of_this_crate("artefact-server")?);
        command.arg(format!("{}:{PORT}", endpoint.address())).args([&folder, &pace, &downloads]);
        let process = Process::spawn("artefact-server", &mut command, &run.log("artefact-server"))?;
        let server =
            Self { run: Arc::clone(run), process: Mutex::new(process), folder, pace, downloads, endpoint };
        eventually("artefact server", Duration::from_secs(20), || {
            server.process.lock().unwrap_or_else(PoisonError::into_inner).must_run()?;
            server.endpoint.http_get(server.address(), PORT, "/")
        })?;
        Ok(server)
    }

    /// Its place in the network.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn address(&self) -> Ipv4Addr {
        self.endpoint.address()
    }

    /// The folder it serves.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the folder is served.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}:{PORT}", self.address())
    }

    /// Changes the pace of all downloads, running ones too.
    ///
    /// # Errors
    /// The file that tells the server cannot be written.
    pub fn set_pace(&self, pace: Pace) -> Result<()> {
        write_pace(&self.pace, pace)
    }

    /// Puts bytes on the server under this name.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> Result<Artefact> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Artefact {
            url: format!("{}/{name}", self.url()),
            sha256: crate::cache::hex(&Sha256::digest(bytes)),
            size: bytes.len() as u64,
        })
    }

    /// Builds the daemon `webd` of this version and puts it on the server as `webd-VERSION.tar.gz`, an archive that holds
    /// the one file `bin/webd`. The same arguments give the same bytes.
    ///
    /// # Errors
    /// The build fails.
    pub fn publish_webd(&self, version: &str, health: Health) -> Result<Artefact> {
        let program = parts::ensure_webd(version, health)?;
        let folder = program.parent().context("a program lies in a folder")?;
        let archive = self.run.state().join(format!("webd-{version}.tar"));
        packages::pack(&archive, folder, &["webd"], "bin")?;
        let bytes = fs::read(archive.with_extension("tar.gz"))?;
        self.publish(&format!("webd-{version}.tar.gz"), &bytes)
    }

    /// Builds this version of a component of nodes (`kubelet`, `containerd`, ...) and puts it on the server as
    /// `COMPONENT-VERSION`.
    ///
    /// # Errors
    /// The build fails, or there is no such package.
    pub fn publish_package(&self, component: &str, version: &str) -> Result<Artefact> {
        let (file, sha256) = packages::ensure(component, version)?;
        let name = format!("{component}-{version}");
        let place = self.folder.join(&name);
        // A link: these are a hundred megabytes.
        if !place.is_symlink() {
            std::os::unix::fs::symlink(&file, &place)
                .with_context(|| format!("cannot write {}", place.display()))?;
        }
        let size = fs::metadata(&file)?.len();
        Ok(Artefact { url: format!("http://{}:{PORT}/{name}", self.address()), sha256, size })
    }

    /// All requests that were answered so far, in the order in which their answers ended.
    ///
    /// # Errors
    /// The record is no longer readable.
    pub fn downloads(&self) -> Result<Vec<Download>> {
        let text = fs::read_to_string(&self.downloads)
            .with_context(|| format!("cannot read {}", self.downloads.display()))?;
        text.lines()
            .map(|line| parse_download(line).with_context(|| format!("no download: {line}")))
            .collect()
    }
}

impl Drop for ArtefactServer {
    fn drop(&mut self) {
        if self.run.keep() {
            self.process.lock().unwrap_or_else(PoisonError::into_inner).keep();
        }
    }
}

fn parse_download(line: &str) -> Option<Download> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(Download {
        path: value["path"].as_str()?.to_owned(),
        client: value["client"].as_str()?.to_owned(),
        status: value["status"].as_u64()?,
        bytes: value["bytes"].as_u64()?,
        complete: value["complete"].as_bool()?,
    })
}

/// The server reads the file before each piece it sends, so the file is replaced, never half written.
fn write_pace(file: &Path, pace: Pace) -> Result<()> {
    let text = match pace {
        Pace::Full => "full".to_owned(),
        Pace::BytesPerSecond(bytes) => bytes.to_string(),
        Pace::Stalled => "stalled".to_owned(),
    };
    let new = file.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, file).with_context(|| format!("cannot write {}", file.display()))
}
