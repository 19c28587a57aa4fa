//! The MachineComponents of `deploy/components`, with the URLs and digests of the archives filled in.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::artefacts::ArtefactServer;
use crate::world::World;
use crate::{manifests, oci, parts};

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

    /// The same with another value of a field of its spec.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.object["spec"][field] = value;
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

/// The components that make a host a node, in the order in which they depend on each other.
pub const OF_A_NODE: [&str; 6] =
    ["node-prerequisites", "runc", "containerd", "cni-plugins", "kubelet", "kube-proxy"];

/// What the components are told in a world: where its API server is, and that its hosts are no machines of their own.
///
/// # Errors
/// The certificate of the authority cannot be read.
pub fn parameters(world: &World) -> Result<BTreeMap<&'static str, String>> {
    let (control_plane, authority) = (world.control_plane(), world.control_plane().certificate_authority());
    let authority =
        fs::read_to_string(&authority).with_context(|| format!("cannot read {}", authority.display()))?;
    Ok(BTreeMap::from([
        ("apiServer", format!("https://{}:6443", control_plane.endpoint().address())),
        ("certificateAuthority", authority.trim().to_owned()),
        ("clusterDNS", "10.96.0.10".to_owned()),
        ("sandboxImage", oci::PAUSE.to_owned()),
        // Swap and the scores of the out-of-memory killer are the machine's, not the host's.
        ("swap", "keep".to_owned()),
        ("hostName", "set".to_owned()),
        ("failSwapOn", "false".to_owned()),
        ("restrictOomScoreAdj", "true".to_owned()),
    ]))
}

/// `defaults.yaml` with what a world's components are told, for hosts that are changed `max_unavailable` at a time.
///
/// # Errors
/// The file is not what it should be.
pub fn defaults(world: &World, max_unavailable: u32) -> Result<Value> {
    let known = parameters(world)?;
    let mut defaults = Component::read("defaults")?.object;
    let settings = defaults.pointer_mut("/spec/components").and_then(Value::as_array_mut);
    for setting in settings.context("defaults.yaml: no spec.components")? {
        let name = setting["name"].as_str().unwrap_or_default();
        let used = Component::read(name)?.object.to_string();
        let used = known.iter().filter(|(parameter, _)| used.contains(&format!("parameters.{parameter}")));
        setting["parameters"] = used.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    }
    defaults["spec"]["maxUnavailable"] = json!(max_unavailable);
    defaults["spec"]["maxFailures"] = json!(max_unavailable);
    Ok(defaults)
}

/// The folder with the files.
#[must_use]
pub fn folder() -> PathBuf {
    parts::home().join("../components")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use seaworthy_api::names::Names;
    use seaworthy_api::{manifest, parse};
    use seaworthy_model::event::Observation;

    use super::*;

    fn text(file: &str) -> String {
        fs::read_to_string(folder().join(file)).unwrap()
    }

    fn defaults() -> Vec<Value> {
        let defaults: Value = serde_saphyr::from_str(&text("defaults.yaml")).unwrap();
        defaults["spec"]["components"].as_array().unwrap().clone()
    }

    /// The parameters that the templates of a component name, and whether each has a default there.
    fn parameters(component: &str) -> BTreeSet<(String, bool)> {
        let text = text(&format!("{component}.yaml"));
        let uses = text.split(" parameters.").skip(1);
        uses.map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap();
            (rest[..end].to_owned(), rest[end..].starts_with(" | default("))
        })
        .collect()
    }

    #[test]
    fn the_files_are_what_they_claim_to_be() {
        let mut names = Names::new();
        for name in OF_A_NODE {
            let component = Component::read(name).unwrap();
            assert_eq!(component.name(), name);
            let mut object = manifest::read(component.object()).unwrap();
            object.metadata_mut().uid = "00000000-0000-4000-8000-000000000000".into();
            object.metadata_mut().resource_version = "1".into();
            object.metadata_mut().generation = 1;
            let observed = parse::observed(&object, &mut names, |pem| Err(pem.to_owned())).unwrap();
            let Some(Observation::Version(_, Some(read))) = observed else { panic!("{observed:?}") };
            read.spec.unwrap();
        }
        let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let others = ["README.md", "defaults.yaml", "machine.yaml", "rbac.yaml"];
        assert_eq!(files.count(), OF_A_NODE.len() + others.len(), "a file that no test looks at");
    }

    #[test]
    fn the_defaults_install_every_component_and_give_what_its_templates_need() {
        let defaults = defaults();
        let installed = defaults.iter().map(|setting| setting["name"].as_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(installed, OF_A_NODE);
        for setting in &defaults {
            let component = Component::read(setting["name"].as_str().unwrap()).unwrap();
            assert_eq!(setting["version"], component.version(), "{}", component.name());
            for (parameter, has_default) in parameters(component.name()) {
                let is_given = setting["parameters"].get(&parameter).is_some();
                assert!(is_given || has_default, "{}: {parameter}", component.name());
            }
        }
    }

    #[test]
    fn every_parameter_is_explained() {
        let readme = text("README.md");
        for component in OF_A_NODE {
            for (parameter, _) in parameters(component) {
                assert!(readme.contains(&format!("`{parameter}`")), "{component}: {parameter}");
            }
        }
    }
}
