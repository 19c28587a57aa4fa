//! Container images of one static program, as archives in OCI layout, because there is no registry here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use seaworthy_image::{Archive, File, Platform};
use serde_json::Value;

use crate::host::Host;
use crate::parts::{self, Health};
use crate::process::run_to_end;
use crate::run::Run;
use crate::{manifests, programs};

/// The image that holds the namespaces of every pod.
pub const PAUSE: &str = "seaworthy.test/pause:1";

/// The port on which the daemon listens in an image of [`webd`].
pub const PORT: u16 = manifests::PORT;

/// An unpacked image for one platform.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// How it is run, in the format of OCI.
    pub config: Value,
    /// The folder that is its root.
    pub root: PathBuf,
}

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

/// The image of the operator, as `make image` makes it: at `SEAWORTHY_IMAGE`, else in the target folder that this program
/// was built into.
///
/// # Errors
/// It is not there.
pub fn operator() -> Result<Image> {
    const DEPLOYMENT: &str = include_str!("../../operator/deployment.yaml");
    let archive = match env::var_os("SEAWORTHY_IMAGE") {
        Some(path) => PathBuf::from(path),
        None => programs::target()?.join("image/image.tar"),
    };
    ensure!(archive.is_file(), "there is no {}: run `make image`", archive.display());
    let name = DEPLOYMENT.lines().find_map(|line| line.trim().strip_prefix("image: "));
    Ok(Image { name: name.context("the Deployment names no image")?.to_owned(), archive })
}

impl Image {
    /// The archive.
    #[must_use]
    pub fn archive(&self) -> &Path {
        &self.archive
    }

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

    /// Unpacks it into a folder: the description of each platform (`config`) and its root (`root`), by architecture.
    ///
    /// # Errors
    /// The archive is no image.
    pub fn unpack(&self, folder: &Path) -> Result<BTreeMap<String, Unpacked>> {
        let untar = |archive: &Path, to: &Path| {
            fs::create_dir_all(to)?;
            run_to_end(Command::new("tar").arg("-C").arg(to).arg("-xf").arg(archive)).map(drop)
        };
        let blob = |described: &Value| {
            let digest = described["digest"].as_str().context("a blob has a digest")?;
            Ok::<_, anyhow::Error>(folder.join("blobs").join(digest.replace(':', "/")))
        };
        let read = |path: PathBuf| Ok::<Value, anyhow::Error>(serde_json::from_slice(&fs::read(path)?)?);
        untar(&self.archive, folder)?;
        let index = read(blob(&read(folder.join("index.json"))?["manifests"][0])?)?;
        let mut platforms = BTreeMap::new();
        for described in index["manifests"].as_array().context("an image has platforms")? {
            let manifest = read(blob(described)?)?;
            let config = read(blob(&manifest["config"])?)?;
            let architecture = config["architecture"].as_str().context("a platform has an architecture")?;
            let root = folder.join(architecture);
            for layer in manifest["layers"].as_array().context("a platform has layers")? {
                untar(&blob(layer)?, &root)?;
            }
            platforms.insert(architecture.to_owned(), Unpacked { config, root });
        }
        Ok(platforms)
    }

    /// Gives it another tag on a host that has it. Returns its name with that tag.
    ///
    /// # Errors
    /// The host does not have it.
    pub fn tag_on(&self, host: &Host, tag: &str) -> Result<String> {
        let (name, _) = self.name.rsplit_once(':').context("the image has no tag")?;
        let tagged = format!("{name}:{tag}");
        host.sh(&format!("ctr --namespace k8s.io images tag --force {} {tagged}", self.name))?;
        Ok(tagged)
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
