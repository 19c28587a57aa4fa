//! Manifests inside scenario files: the same text that users give to `kubectl apply`.

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::{manifest, parse};
use seaworthy_model::event::Observation;
use seaworthy_model::id::Uid;
use seaworthy_model::meta::SpecError;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// A manifest, with the line of the file at which it begins.
#[derive(Clone, Debug)]
pub struct Manifest {
    line: u64,
    read: Result<Resource, Vec<String>>,
}

impl Manifest {
    /// The object. `None` if the manifest is not acceptable; a scenario that was read contains no such manifest.
    #[must_use]
    pub fn object(&self) -> Option<&Resource> {
        self.read.as_ref().ok()
    }

    pub(super) fn judge(&self, field: &str, problems: &mut Vec<String>) {
        if let Err(found) = &self.read {
            problems.extend(found.iter().map(|problem| format!("line {}: {field}: {problem}", self.line)));
        }
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<serde_json::Value>::deserialize(deserializer)?;
        Ok(Self { line: spanned.defined.line(), read: read(&spanned.value) })
    }
}

/// Reads a manifest as `kubectl apply` and the API server's schemas would: refuses what they refuse.
fn read(value: &serde_json::Value) -> Result<Resource, Vec<String>> {
    let object = manifest::read(value).map_err(|error| vec![error.to_string()])?;
    let errors = spec_errors(&object);
    if errors.is_empty() {
        return Ok(object);
    }
    let name = &object.metadata().name;
    let line =
        |error: &SpecError| format!("{} {name:?}: {}: {}", object.kind().name(), error.field, error.message);
    Err(errors.iter().map(line).collect())
}

fn spec_errors(object: &Resource) -> Vec<SpecError> {
    let mut stored = object.clone();
    let metadata = stored.metadata_mut();
    metadata.uid = Uid(1).into();
    metadata.resource_version = "1".into();
    metadata.generation = 1;
    let names = &mut Names::new();
    let observed = parse::observed(&stored, names, |_| Err(String::new()));
    observed.ok().flatten().map(Observation::spec_errors).unwrap_or_default()
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Manifest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Manifest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An object as people give it to kubectl apply.",
            "type": "object",
            "required": ["apiVersion", "kind", "metadata"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"enum": ["Machine", "MachineComponent", "MachineComponentSet", "ClusterPackageVersion", "Node", "Lease"]},
                "metadata": {"type": "object"},
                "spec": {"type": "object"},
            },
        })
    }
}
