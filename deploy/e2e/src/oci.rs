//! Container images of one static program, as archives in OCI layout, because there is no registry here.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use seaworthy_image::{Archive, File, Platform};

use crate::host::Host;
use crate::manifests;
use crate::parts::{self, Health};
use crate::run::Run;

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
    let folder = run.state().join("images");
    fs::create_dir_all(&folder)?;
    let file = |(path, content): &(&str, &[u8])| File {
        path: (*path).to_owned(),
        mode: 0o755,
        content: content.to_vec(),
    };
    let mut image = Archive::default();
    image.add(&Platform {
        architecture: manifests::architecture()?.to_owned(),
        files: files.iter().map(file).collect(),
        user: "0:0".to_owned(),
        labels: BTreeMap::new(),
    })?;
    let archive = folder.join(short).with_extension("tar");
    fs::write(&archive, image.finish(name)?.archive)?;
    Ok(Image { name: name.to_owned(), archive })
}
