//! The generated CustomResourceDefinitions in the tree are those of this code.
#![expect(clippy::disallowed_methods, reason = "this test compares files")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use seaworthy_api::crd::{self, COMMAND, DIRECTORY};
use serde_json::json;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DIRECTORY)
}

#[test]
fn the_files_are_up_to_date() {
    for file in crd::files().unwrap() {
        let path = directory().join(&file.name);
        let present = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(present == file.content, "{DIRECTORY}/{} is stale: run `{COMMAND}`", file.name);
    }
}

#[test]
fn there_are_no_other_files() {
    let entries = std::fs::read_dir(directory()).unwrap();
    let present: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected: BTreeSet<String> = crd::files().unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(present, expected);
}

/// What a structural schema must not have, and what a person must find: `kubectl explain` shows the descriptions.
#[test]
fn every_field_is_described_bounded_and_structural() {
    for file in crd::files().unwrap() {
        let definition: serde_json::Value = serde_saphyr::from_str(&file.content).unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut faults = Vec::new();
        for part in ["spec", "status"] {
            if let Some(schema) = schema["properties"].get(part) {
                inspect(part, schema, true, &mut faults);
            }
        }
        assert!(faults.is_empty(), "{}: {faults:#?}", file.name);
    }
}

fn inspect(path: &str, schema: &serde_json::Value, described: bool, faults: &mut Vec<String>) {
    let mut require = |holds: bool, what: &str| {
        if !holds {
            faults.push(format!("{path}: {what}"));
        }
    };
    let has = |key: &str| schema.get(key).is_some();
    require(!described || has("description"), "has no description");
    for key in ["anyOf", "oneOf", "allOf", "nullable", "$ref", "title", "definitions"] {
        require(!has(key), key);
    }
    require(has("type") || has("x-kubernetes-int-or-string"), "has no type");
    match schema["type"].as_str() {
        Some("string") => {
            let bounded = has("maxLength") || has("enum") || has("format");
            require(bounded, "may be of any length");
        }
        Some("array") => {
            require(has("maxItems"), "may have any number of items");
            inspect(&format!("{path}[]"), &schema["items"], false, faults);
        }
        Some("object") => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                inspect(&format!("{path}.{name}"), property, true, faults);
            }
        }
        _ => {}
    }
}

fn definition(plural: &str) -> serde_json::Value {
    let files = crd::files().unwrap();
    let file = files.iter().find(|file| file.name == format!("seaworthy.dev_{plural}.yaml")).unwrap();
    serde_saphyr::from_str(&file.content).unwrap()
}

/// Before the operator has written anything, `kubectl wait` and people see that nothing is known. kstatus calls that in
/// progress, by the condition `Reconciling`, by the generation, and by `Ready` where there is one.
#[test]
fn a_status_that_nobody_has_written_is_unknown() {
    for (plural, kinds) in [
        ("machines", &["Ready", "Reachable", "InSync"][..]),
        ("machinecomponents", &["Accepted", "InUse"]),
        ("clusterpackageversions", &["Complete", "Progressing"]),
    ] {
        let definition = definition(plural);
        let version = &definition["spec"]["versions"][0];
        assert!(version["subresources"]["status"].is_object(), "{plural}");
        let schema = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        let by_default = &schema["default"];
        assert_eq!(by_default["observedGeneration"], 0);
        let conditions = by_default["conditions"].as_array().unwrap();
        let (unknown, rest) = conditions.split_at(kinds.len());
        for (condition, kind) in unknown.iter().zip(kinds) {
            assert_eq!((&condition["type"], &condition["status"]), (&json!(kind), &json!("Unknown")));
        }
        assert_eq!(rest.len(), 1, "{plural}");
        assert_eq!((&rest[0]["type"], &rest[0]["status"]), (&json!("Reconciling"), &json!("True")));
        let fields = schema["properties"]["conditions"]["items"]["properties"].as_object().unwrap();
        for condition in conditions {
            assert_eq!(condition["reason"], "NotYetKnown");
            assert_eq!(condition["message"], "The operator has not looked at it yet.");
            assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:00Z");
            // A default has to be a whole value.
            assert!(fields.keys().all(|field| condition.get(field).is_some()), "{condition}");
        }
    }
}

#[test]
fn a_version_shows_whether_it_is_accepted_and_in_use() {
    let definition = definition("machinecomponents");
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    for (name, kind) in [("Accepted", "Accepted"), ("In Use", "InUse")] {
        let column = columns.iter().find(|column| column["name"] == name).unwrap();
        let path = format!(".status.conditions[?(@.type==\"{kind}\")].status");
        assert_eq!((&column["jsonPath"], &column["priority"]), (&json!(path), &json!(0)));
    }
}
