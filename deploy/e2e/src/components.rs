//! The MachineComponents of `deploy/components`, with what people put in: where the archives are, and their digests.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::artefacts::ArtefactServer;
use crate::{manifests, parts};

/// A component of nodes in one version.
#[derive(Clone, Debug)]
pub struct Component {
    object: Value,
}

impl Component {
    /// Reads `NAME.yaml`.
    ///
    /// # Errors
    /// There is none, or it is not one object in YAML.
    pub fn read(name: &str) -> Result<Self> {
        let path = folder().join(format!("{name}.yaml"));
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let object =
            serde_saphyr::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))?;
        Ok(Self { object })
    }

    /// The same as another version.
    #[must_use]
    pub fn at(mut self, version: &str) -> Self {
        self.object["metadata"]["name"] = json!(format!("{}-{version}", self.name()));
        self.object["spec"]["version"] = json!(version);
        self
    }

    /// The same with its one archive from this server, if it has any; builds it first.
    ///
    /// # Errors
    /// The build fails, or the file names no archive.
    pub fn served_by(mut self, server: &ArtefactServer) -> Result<Self> {
        if self.object["spec"].get("artefacts").is_none() {
            return Ok(self);
        }
        let artefact = server.publish_package(self.name(), self.version())?;
        let first = self.object.pointer_mut("/spec/artefacts/0").context("spec.artefacts is empty")?;
        first["architecture"] = json!(manifests::architecture()?);
        first["url"] = json!(artefact.url);
        first["sha256"] = json!(artefact.sha256);
        Ok(self)
    }

    /// The object, as kubectl applies it.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// What `spec.component` says.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["spec"]["component"].as_str().unwrap_or_default()
    }

    /// What `spec.version` says.
    #[must_use]
    pub fn version(&self) -> &str {
        self.object["spec"]["version"].as_str().unwrap_or_default()
    }
}

/// The folder with the files.
#[must_use]
pub fn folder() -> PathBuf {
    parts::home().join("../components")
}
