//! An OCI image layout in a tar archive.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One file of an image.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path in the image, without a leading slash.
    pub path: String,
    /// Its permission bits.
    pub mode: u32,
    /// Its content.
    pub content: Vec<u8>,
}

/// The image for one platform. Its system is Linux.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The architecture, as Go names it: `amd64`, `arm64`.
    pub architecture: String,
    /// The files. The first one is the program that runs.
    pub files: Vec<File>,
    /// The user and the group that it runs as.
    pub user: String,
    /// What `docker inspect` shows as labels.
    pub labels: BTreeMap<String, String>,
}

/// A finished image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its digest: what a registry would call it.
    pub digest: String,
    /// The archive.
    pub archive: Vec<u8>,
}

/// An image under way: an OCI layout with all blobs that were added so far.
#[derive(Debug, Default)]
pub struct Archive {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: Vec<Value>,
}

impl Archive {
    /// Adds the image for one more platform.
    ///
    /// # Errors
    /// It has no file, or a path that an image cannot have.
    pub fn add(&mut self, platform: &Platform) -> Result<()> {
        let program = platform.files.first().context("an image has a program")?;
        let layer = layer(&platform.files)?;
        let diff = digest(&layer);
        let mut zip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        zip.write_all(&layer)?;
        let layer = self.store(zip.finish()?, "application/vnd.oci.image.layer.v1.tar+gzip");
        let config = json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": platform.architecture,
            "os": "linux",
            "config": {
                "Entrypoint": [format!("/{}", program.path)],
                "User": platform.user,
                "WorkingDir": "/",
                "Labels": platform.labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [diff]},
        });
        let config = self.store(config.to_string().into_bytes(), "application/vnd.oci.image.config.v1+json");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": [layer],
            "annotations": platform.labels,
        });
        let mut manifest =
            self.store(manifest.to_string().into_bytes(), "application/vnd.oci.image.manifest.v1+json");
        manifest["platform"] = json!({"architecture": platform.architecture, "os": "linux"});
        self.manifests.push(manifest);
        Ok(())
    }

    /// Finishes it, as an image with this name and tag.
    ///
    /// # Errors
    /// It has no platform.
    pub fn finish(mut self, name: &str) -> Result<Image> {
        ensure!(!self.manifests.is_empty(), "an image has a platform");
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": self.manifests,
        });
        let mut index = self.store(index.to_string().into_bytes(), "application/vnd.oci.image.index.v1+json");
        let digest = index["digest"].as_str().unwrap_or_default().to_owned();
        let tag = name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
        // containerd names the image by the first, registry tools by the second.
        index["annotations"] =
            json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag});
        let mut files = vec![
            file("oci-layout", json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes()),
            file("index.json", json!({"schemaVersion": 2, "manifests": [index]}).to_string().into_bytes()),
        ];
        files
            .extend(self.blobs.into_iter().map(|(name, bytes)| file(&format!("blobs/sha256/{name}"), bytes)));
        Ok(Image { digest, archive: layer(&files)? })
    }

    /// Stores a blob under its digest, and describes it.
    fn store(&mut self, bytes: Vec<u8>, media_type: &str) -> Value {
        let (digest, size) = (digest(&bytes), bytes.len());
        self.blobs.insert(digest.trim_start_matches("sha256:").to_owned(), bytes);
        json!({"mediaType": media_type, "digest": digest, "size": size})
    }
}

fn file(path: &str, content: Vec<u8>) -> File {
    File { path: path.to_owned(), mode: 0o644, content }
}

/// A tar archive of these files, in the order of their names, all owned by root.
fn layer(files: &[File]) -> Result<Vec<u8>> {
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let mut builder = tar::Builder::new(Vec::new());
    for file in sorted {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.content.len() as u64);
        header.set_mode(file.mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        builder
            .append_data(&mut header, &file.path, file.content.as_slice())
            .with_context(|| format!("{} is no path in an image", file.path))?;
    }
    Ok(builder.into_inner()?)
}

fn digest(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn platform(architecture: &str) -> Platform {
        let program = File { path: "program".into(), mode: 0o755, content: vec![1, 2, 3] };
        let other = File { path: "etc/config".into(), mode: 0o644, content: b"config".to_vec() };
        Platform {
            architecture: architecture.into(),
            files: vec![program, other],
            user: "65532:65532".into(),
            labels: BTreeMap::from([("org.opencontainers.image.licenses".into(), "Apache-2.0".into())]),
        }
    }

    fn image() -> (Image, BTreeMap<String, Vec<u8>>) {
        let mut archive = Archive::default();
        ["amd64", "arm64"].iter().for_each(|name| archive.add(&platform(name)).unwrap());
        let image = archive.finish("example.com/program:1.0.0").unwrap();
        let mut tar = tar::Archive::new(image.archive.as_slice());
        let entries = tar.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), content)
        });
        let files = entries.collect();
        (image, files)
    }

    fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Value {
        let digest = descriptor["digest"].as_str().unwrap().trim_start_matches("sha256:");
        let bytes = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(bytes.len() as u64, descriptor["size"].as_u64().unwrap());
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn the_same_files_make_the_same_image() {
        assert_eq!(image(), image());
    }

    #[test]
    fn each_platform_has_its_program_and_no_root() {
        let (image, files) = image();
        let layout: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let index = &layout["manifests"][0];
        assert_eq!(index["digest"], *image.digest);
        assert_eq!(index["annotations"]["io.containerd.image.name"], "example.com/program:1.0.0");
        assert_eq!(index["annotations"]["org.opencontainers.image.ref.name"], "1.0.0");
        let manifests = blob(&files, index)["manifests"].as_array().unwrap().clone();
        assert_eq!(manifests.len(), 2);
        for (manifest, architecture) in manifests.iter().zip(["amd64", "arm64"]) {
            assert_eq!(manifest["platform"]["architecture"], architecture);
            let config = blob(&files, &blob(&files, manifest)["config"]);
            assert_eq!(config["config"]["User"], "65532:65532");
            assert_eq!(config["config"]["Entrypoint"], json!(["/program"]));
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let mut empty = platform("amd64");
        empty.files.clear();
        assert!(Archive::default().add(&empty).is_err());
        assert!(Archive::default().finish("a:1").is_err());
        let mut outside = platform("amd64");
        outside.files[1].path = "../outside".into();
        assert!(Archive::default().add(&outside).unwrap_err().to_string().contains("../outside"));
    }
}
