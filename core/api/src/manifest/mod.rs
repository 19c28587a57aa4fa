//! Manifests as people write them, read strictly: a field that is not known is an error that names it, and so is a
//! value of the wrong type. The API server does the same for `kubectl apply`.
//!
//! The caller parses the YAML, and passes the document as a JSON value, as `kubectl` does.

mod strict;

use std::fmt;

use seaworthy_model::id::Kind;
use seaworthy_model::meta::SpecError;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::object::{Endpoint, Read, Resource};

/// A manifest that cannot be read, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// Kind and name, as far as the manifest says them.
    pub subject: String,
    /// What is wrong: the path of each field, and a message.
    pub errors: Vec<SpecError>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.subject)?;
        let mut separator = ": ";
        for SpecError { field, message } in &self.errors {
            write!(f, "{separator}")?;
            separator = "; ";
            if !field.is_empty() {
                write!(f, "{field}: ")?;
            }
            f.write_str(message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestError {}

/// Reads one manifest of any kind that is used here. `kind` and `apiVersion` say which.
///
/// # Errors
/// All unknown fields, and the first value of a wrong type or missing field, each with its path.
pub fn read(manifest: &Value) -> Result<Resource, ManifestError> {
    let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = Kind::READ.into_iter().find(|kind| kind.name() == text("kind")) else {
        let known = Kind::READ.map(Kind::name).join(", ");
        return Err(fault(manifest, "kind", format!("must be one of {known}")));
    };
    let api_version = Endpoint::of(kind).api_version;
    if text("apiVersion") != api_version {
        return Err(fault(manifest, "apiVersion", format!("must be {api_version} for a {}", kind.name())));
    }
    let object = Resource::read(kind, Strictly(manifest))?;
    if object.metadata().name.is_empty() {
        return Err(fault(manifest, "metadata.name", "must not be empty"));
    }
    Ok(object)
}

/// Reads strictly.
struct Strictly<'a>(&'a Value);

impl Read for Strictly<'_> {
    type Error = ManifestError;

    fn read<T: DeserializeOwned>(self) -> Result<T, ManifestError> {
        strict::from_value(self.0).map_err(|errors| ManifestError { subject: subject(self.0), errors })
    }
}

fn fault(manifest: &Value, field: &str, message: impl Into<String>) -> ManifestError {
    let errors = vec![SpecError { field: field.into(), message: message.into() }];
    ManifestError { subject: subject(manifest), errors }
}

fn subject(manifest: &Value) -> String {
    let kind = manifest.get("kind").and_then(Value::as_str).unwrap_or("manifest");
    match manifest.pointer("/metadata/name").and_then(Value::as_str) {
        Some(name) => format!("{kind} {name:?}"),
        None => kind.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(change: impl FnOnce(&mut Value)) -> Result<Resource, String> {
        let mut manifest = serde_json::json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "Machine",
            "metadata": { "name": "m-0", "labels": { "any": "label" } },
            "spec": {
                "address": { "ip": "198.18.0.1" },
                "ssh": { "secretName": "ssh", "hostKeyPolicy": "TrustOnFirstUse" },
                "components": [{ "name": "webd", "version": "1.0.0", "parameters": { "any": "parameter" } }],
            },
        });
        change(&mut manifest);
        read(&manifest).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_filled_in() {
        let Ok(Resource::Machine(machine)) = machine(|_| ()) else { panic!("a Machine") };
        assert_eq!((machine.spec.ssh.port, &*machine.spec.ssh.user), (22, "root"));
        assert_eq!(machine.spec.components[0].state, "Present");
    }

    #[test]
    fn every_unknown_field_is_named() {
        let result = machine(|manifest| {
            manifest["spec"]["ssh"]["prot"] = 2222.into();
            manifest["spec"]["components"][0]["versoin"] = "2".into();
            manifest["sepc"] = Value::Null;
        });
        let expected = "Machine \"m-0\": sepc: unknown field, expected one of apiVersion, kind, metadata, spec, \
                        status; spec.components[0].versoin: unknown field, expected one of name, state, version, \
                        parameters; spec.ssh.prot: unknown field, expected one of port, user, secretName, hostKeys, \
                        hostKeyPolicy";
        assert_eq!(result, Err(expected.into()));
    }

    #[test]
    fn a_wrong_type_is_named_with_its_path() {
        let wrong = |change: fn(&mut Value)| machine(change).unwrap_err();
        let version = wrong(|m| m["spec"]["components"][0]["version"] = 1.5.into());
        assert_eq!(
            version,
            "Machine \"m-0\": spec.components[0].version: invalid type: floating point `1.5`, expected a string"
        );
        let port = wrong(|m| m["spec"]["ssh"]["port"] = "22".into());
        assert_eq!(port, "Machine \"m-0\": spec.ssh.port: invalid type: string \"22\", expected i64");
        let missing = wrong(|m| m["spec"]["ssh"] = serde_json::json!({}));
        assert_eq!(missing, "Machine \"m-0\": spec.ssh: missing field `secretName`");
    }

    #[test]
    fn kind_and_api_version_are_checked_first() {
        let wrong = |change: fn(&mut Value)| machine(change).unwrap_err();
        let kind = wrong(|m| m["kind"] = "Machin".into());
        assert!(kind.starts_with("Machin \"m-0\": kind: must be one of Machine, MachineComponent"), "{kind}");
        let version = wrong(|m| m["apiVersion"] = "v1".into());
        assert_eq!(version, "Machine \"m-0\": apiVersion: must be seaworthy.dev/v1alpha1 for a Machine");
        assert_eq!(
            read(&Value::Null).unwrap_err().to_string(),
            "manifest: kind: must be one of Machine, MachineComponent, ClusterPackageVersion, Node, Lease, \
             CertificateSigningRequest, MachineComponentSet, DisruptionPolicy, CanaryRelease"
        );
        let name = wrong(|m| m["metadata"] = serde_json::json!({}));
        assert_eq!(name, "Machine: metadata.name: must not be empty");
    }
}
