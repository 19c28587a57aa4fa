//! The published JSON Schema matches the code and describes every scenario file.

use std::path::Path;

use seaworthy_fleet::Scenario;
use serde_json::Value;

#[test]
fn the_schema_is_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.json");
    let published = std::fs::read_to_string(path).unwrap();
    let remedy = "cargo run --package seaworthy-scenarios --example schema > scenarios/schema.json";
    assert!(published == Scenario::schema(), "scenarios/schema.json is stale; make it anew with: {remedy}");
}

/// The schema has everything that an author needs: every fault, workload and expectation, each with a description.
#[test]
fn the_schema_names_everything_with_a_description() {
    let schema: Value = serde_json::from_str(&Scenario::schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    for name in ["Rule", "Workload", "Check", "Occasion", "Trigger", "Scope", "Fleet", "Quiet", "Allowance"] {
        assert!(definitions.contains_key(name), "{name} is missing");
    }
    let properties = schema["properties"].as_object().unwrap();
    for (name, property) in properties.iter().filter(|(name, _)| *name != "name") {
        assert!(property["description"].is_string(), "{name} has no description");
    }
    let faults = definitions["Rule"].to_string();
    for fault in ["timeTravel", "domainDown", "operatorCrash", "\"when\"", "\"during\""] {
        assert!(faults.contains(fault), "{fault} is missing in {faults}");
    }
}
