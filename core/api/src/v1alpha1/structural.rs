//! Turns the schema that `schemars` derives into the structural schema that Kubernetes accepts.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// The structural schema of `T`.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Schema::to_value(settings.into_generator().into_root_schema_for::<T>());
    make_structural(&mut schema);
    schema
}

fn make_structural(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    drop_null(map);
    map.remove("title");
    // Kubernetes knows the formats int32 and int64 only. All our numbers are 64 bits wide and have bounds of their own.
    if map.get("format").is_some_and(|format| format == "int64") {
        map.remove("format");
    }
    if let Some(Value::String(description)) = map.get_mut("description") {
        *description = paragraphs(description);
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(make_structural);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(inner) {
            make_structural(inner);
        }
    }
}

/// An optional field may be left out; `null` is not a value of it. The description of the field stays, its type's
/// own description does not.
fn drop_null(map: &mut Map<String, Value>) {
    map.remove("nullable");
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    let Some(Value::Array(choices)) = map.remove("anyOf") else { return };
    for choice in choices {
        let Value::Object(choice) = choice else { continue };
        if choice.get("type").is_some_and(|name| name != "null") {
            for (key, value) in choice {
                map.entry(key).or_insert(value);
            }
        }
    }
}

/// Joins the lines of a doc comment; an empty line starts a new paragraph.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n").replace('`', "")
}
