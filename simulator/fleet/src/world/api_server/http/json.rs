//! Objects as JSON, and back: fields that are not known are dropped, what is omitted gets its default, and what no
//! schema would let pass is refused with the path of its field.

use seaworthy_api::manifest;
use seaworthy_api::names::Names;
use seaworthy_api::object::{Endpoint, Resource};
use seaworthy_api::parse;
use seaworthy_api::render::default_status;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::meta::SpecError;
use serde_json::{Map, Value, json};

use super::{Answer, answer};
use crate::world::pki;

/// An object as a client sees it: with the default of its status, as long as nobody has written one.
pub(super) fn of(object: &Resource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if value["status"].is_null()
        && let Some(status) = default_status(object.kind())
    {
        value["status"] = serde_json::to_value(status).unwrap_or_default();
    }
    // Objects are stored without them: their collection says it.
    value["apiVersion"] = Endpoint::of(object.kind()).api_version.into();
    value["kind"] = object.kind().name().into();
    value
}

/// Reads an object of `kind` that a client sent.
///
/// # Errors
/// 400 when it is no such object, 422 when a field is wrong.
pub(super) fn read(kind: Kind, body: &Value) -> Result<Resource, Box<Answer>> {
    let Some(fields) = body.as_object() else { return Err(answer::bad_request("the body is no object")) };
    let says = |field: &str, wanted: &str| body[field].as_str() == Some(wanted);
    if !says("kind", kind.name()) || !says("apiVersion", Endpoint::of(kind).api_version) {
        return Err(answer::bad_request("the body is of another kind"));
    }
    let mut known = Value::Object(fields.clone());
    drop_metadata(&mut known);
    if matches!(kind, Kind::Node | Kind::Lease) && known["spec"].is_null() {
        known["spec"] = json!({});
    }
    // The built-in kinds have far more fields than are modelled; what is not needed is not kept.
    prune(&mut known);
    let object = manifest::read(&known)
        .map_err(|error| answer::invalid(&error.errors.iter().map(located).collect::<Vec<_>>()))?;
    let faults = faults(&object);
    if faults.is_empty() { Ok(object) } else { Err(answer::invalid(&faults)) }
}

/// What the model's metadata does not have, and what only the API server writes in it.
fn drop_metadata(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|field, value| METADATA.contains(&field.as_str()) && !value.is_null());
}

const METADATA: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "labels",
    "annotations",
];

/// Drops fields that no schema knows, as the API server does unless it is asked to be strict.
fn prune(object: &mut Value) {
    while let Err(error) = manifest::read(object) {
        let before = object.clone();
        for fault in error.errors.iter().filter(|error| error.message.starts_with(UNKNOWN)) {
            remove(object, &fault.field);
        }
        if *object == before {
            return;
        }
    }
}

/// How [`manifest::read`] begins to say that a field is not known.
const UNKNOWN: &str = "unknown field";

/// Takes the field at a path such as `spec.components[0].versoin` away.
fn remove(object: &mut Value, path: &str) {
    let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
    let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.remove(name);
    }
}

/// A missing field is a fault of that field, not of the object that lacks it.
fn located(error: &SpecError) -> SpecError {
    let missing = error.message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let field = match (missing, error.field.as_str()) {
        (Some(name), "") => name.to_owned(),
        (Some(name), parent) => format!("{parent}.{name}"),
        (None, field) => field.to_owned(),
    };
    SpecError { field, message: error.message.clone() }
}

/// What the schemas and the CEL rules would say about the spec.
fn faults(object: &Resource) -> Vec<SpecError> {
    let mut judged = object.clone();
    let metadata = judged.metadata_mut();
    // A new object has none yet, and only its spec is judged.
    metadata.uid = Uid(1).into();
    metadata.resource_version = 1.into();
    metadata.deletion_timestamp = None;
    match parse::observed(&judged, &mut Names::new(), pki::read_request) {
        Ok(observation) => observation.map(Observation::spec_errors).unwrap_or_default(),
        Err(error) => error.errors,
    }
}

/// `target` after the merge patch `patch` (RFC 7386).
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let fields = target.as_object_mut().map_or_else(Map::new, std::mem::take);
    let mut fields = fields;
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
    *target = Value::Object(fields);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_adds_replaces_and_removes() {
        let mut object = json!({"a": {"b": 1, "c": [1, 2]}, "d": "e"});
        merge(&mut object, &json!({"a": {"b": null, "c": [3], "f": {"g": null}}, "d": {"h": 1}}));
        assert_eq!(object, json!({"a": {"c": [3], "f": {}}, "d": {"h": 1}}));
    }

    #[test]
    fn what_no_schema_knows_is_dropped_and_what_is_wrong_is_named() {
        let mut machine = json!({
            "apiVersion": "seaworthy.dev/v1alpha1", "kind": "Machine",
            "metadata": {"name": "one", "managedFields": []},
            "spec": {
                "address": {"ip": "198.18.0.9", "planet": "earth"},
                "ssh": {"secretName": "hosts", "hostKeyPolicy": "TrustOnFirstUse"},
            },
        });
        let read_machine = |value: &Value| read(Kind::Machine, value);
        let kept = of(&read_machine(&machine).unwrap());
        assert_eq!(kept["spec"]["address"], json!({"ip": "198.18.0.9"}));
        assert_eq!(kept["spec"]["ssh"]["port"], 22);
        machine["spec"]["ssh"].as_object_mut().unwrap().remove("secretName");
        let refused = read_machine(&machine).unwrap_err();
        assert_eq!(refused.body[0]["details"]["causes"][0]["field"], "spec.ssh.secretName");
    }
}
