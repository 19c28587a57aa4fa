//! Container images of one static program, as archives in OCI layout, because there is no registry here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::host::Host;
use crate::parts::{self, Health};
use crate::process::run_to_end;
use crate::run::Run;
use crate::{cache, manifests};

/// The image that holds the namespaces of every pod.
pub const PAUSE: &str = "seaworthy.test/pause:1";

/// The port on which the daemon listens in an image of [`webd`].
pub const PORT: u16 = manifests::PORT;

/// An image in an archive.
#[derive(Clone, Debug)]
pub struct Image {
    /// By which pods ask for it.
    pub name: String,
    archive: PathBuf,
}

/// The image [`PAUSE`].
///
/// # Errors
/// The program cannot be built, or the archive cannot be written.
pub fn pause(run: &Run) -> Result<Image> {
    build(run, PAUSE, &[("pause", &fs::read(parts::ensure_pause()?)?)])
}

/// What pods call the image of [`webd`] in this version.
#[must_use]
pub fn webd_name(version: &str) -> String {
    format!("seaworthy.test/webd:{version}")
}

/// An image with the daemon `webd` of this version, which listens on [`PORT`].
///
/// # Errors
/// As for [`pause`].
pub fn webd(run: &Run, version: &str) -> Result<Image> {
    let config = format!("listen = :{PORT}\ngreeting = hello from a pod\n");
    let program = fs::read(parts::ensure_webd(version, Health::Healthy)?)?;
    build(
        run,
        &format!("seaworthy.test/webd:{version}"),
        &[("webd", &program), ("etc/webd.conf", config.as_bytes())],
    )
}

impl Image {
    /// Puts it into the store of a host's containerd, where pods with `imagePullPolicy: Never` find it.
    ///
    /// # Errors
    /// No containerd runs there, or it refuses the archive.
    pub fn load_on(&self, host: &Host) -> Result<()> {
        const PLACE: &str = "/var/tmp/image.tar";
        let archive = fs::read(&self.archive)?;
        host.write(PLACE, archive)?;
        let line =
            format!("ctr --namespace k8s.io images import {PLACE}; status=$?; rm {PLACE}; exit $status");
        host.sh(&line).map(drop)
    }
}

/// Makes the archive of an image whose first file is its program.
fn build(run: &Run, name: &str, files: &[(&str, &[u8])]) -> Result<Image> {
    let short = name.rsplit('/').next().unwrap_or(name).replace(':', "-");
    let folder = run.state().join("images").join(short);
    let (root, layout) = (folder.join("root"), folder.join("layout"));
    let blobs = layout.join("blobs/sha256");
    for folder in [&root, &blobs] {
        fs::create_dir_all(folder)?;
    }
    for (path, bytes) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let program = files.first().context("an image has a program")?.0;
    let layer = folder.join("layer.tar");
    tar(&layer, &root, &["--mode=755"])?;
    let layer = fs::read(layer)?;
    let diff = store(&blobs, &layer)?;
    let config = json!({
        "architecture": manifests::architecture()?,
        "os": "linux",
        "config": {"Entrypoint": [format!("/{program}")]},
        "rootfs": {"type": "layers", "diff_ids": [diff["digest"]]},
    });
    let config = store(&blobs, config.to_string().as_bytes())?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": with(config, "mediaType", "application/vnd.oci.image.config.v1+json"),
        "layers": [with(diff, "mediaType", "application/vnd.oci.image.layer.v1.tar")],
    });
    let manifest = store(&blobs, manifest.to_string().as_bytes())?;
    let mut manifest = with(manifest, "mediaType", "application/vnd.oci.image.manifest.v1+json");
    manifest["annotations"] = json!({"io.containerd.image.name": name});
    fs::write(layout.join("index.json"), json!({"schemaVersion": 2, "manifests": [manifest]}).to_string())?;
    fs::write(layout.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
    let archive = folder.join("image.tar");
    tar(&archive, &layout, &[])?;
    Ok(Image { name: name.to_owned(), archive })
}

/// Stores a blob under its digest and describes it.
fn store(blobs: &Path, bytes: &[u8]) -> Result<Value> {
    let digest = cache::hex(&Sha256::digest(bytes));
    fs::write(blobs.join(&digest), bytes)?;
    Ok(json!({"digest": format!("sha256:{digest}"), "size": bytes.len()}))
}

fn with(mut object: Value, name: &str, value: &str) -> Value {
    object[name] = json!(value);
    object
}

fn tar(archive: &Path, folder: &Path, options: &[&str]) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]).args(options);
    run_to_end(tar.arg("--file").arg(archive).arg("--directory").arg(folder).arg(".")).map(drop)
}
