//! The patch that changes our labels and taints of a Node, and the record of which ones are ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::attributes::{
    ATTRIBUTES_ANNOTATION, AttributesChange, Label, NodeAttributes, Taint, TaintChange, TaintEffect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What was set, as people see it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<Arc<str>, Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taints: Vec<RecordedTaint>,
    order: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct RecordedTaint {
    key: Arc<str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: Arc<str>,
    effect: Arc<str>,
}

/// The text of our record of what was set, as it was decided at this time.
#[must_use]
pub fn record_text(applied: &NodeAttributes, order: u64) -> String {
    let labels = applied.labels.iter().map(|label| (Arc::clone(&label.key), Arc::clone(&label.value)));
    let taints = applied.taints.iter().map(|taint| RecordedTaint {
        key: Arc::clone(&taint.key),
        value: Arc::clone(&taint.value),
        effect: taint.effect.name().into(),
    });
    json!(Record { labels: labels.collect(), taints: taints.collect(), order }).to_string()
}

/// What our record lists. A record that was made unreadable lists nothing: then nothing is ours.
#[must_use]
pub fn read_record(text: &str) -> NodeAttributes {
    let Record { labels, taints, order: _ } = serde_json::from_str(text).unwrap_or_default();
    let taints = taints.into_iter().filter_map(|RecordedTaint { key, value, effect }| {
        Some(Taint { key, value, effect: TaintEffect::named(&effect)? })
    });
    let labels = labels.into_iter().map(|(key, value)| Label { key, value });
    let mut applied = NodeAttributes { labels: labels.collect(), taints: taints.collect() };
    applied.sort();
    applied
}

/// The operations of a JSON patch: first the tests of what must still hold, then the changes.
pub(super) fn change(change: &AttributesChange, operations: &mut Vec<Value>) {
    write_record(change, operations);
    let mut is_empty = !change.has_labels;
    for label in &change.labels {
        let path = pointer("/metadata/labels", &label.key);
        if is_empty && let Some(value) = &label.to {
            // The Node has no such map yet, so it is created.
            operations.push(test("/metadata/labels", Value::Null));
            operations.push(add("/metadata/labels", json!({ &*label.key: value })));
            is_empty = false;
            continue;
        }
        if change.has_labels {
            operations.push(test(&path, json!(label.from)));
        }
        match &label.to {
            Some(value) => operations.push(add(&path, json!(value))),
            None => operations.push(json!({ "op": "remove", "path": path })),
        }
    }
    write_taints(change, operations);
}

fn write_record(change: &AttributesChange, operations: &mut Vec<Value>) {
    let path = pointer("/metadata/annotations", ATTRIBUTES_ANNOTATION);
    let text = (!change.applied.is_empty()).then(|| record_text(&change.applied, change.order));
    if !change.has_annotations {
        operations.push(test("/metadata/annotations", Value::Null));
        if let Some(text) = text {
            operations.push(add("/metadata/annotations", json!({ ATTRIBUTES_ANNOTATION: text })));
        }
        return;
    }
    operations.push(test(&path, json!(change.record)));
    match text {
        Some(text) => operations.push(add(&path, json!(text))),
        None => operations.push(json!({ "op": "remove", "path": path })),
    }
}

/// First values change in place. Then taints are removed, the last one first, since a removal shifts the places behind it.
/// Then taints are added.
fn write_taints(change: &AttributesChange, operations: &mut Vec<Value>) {
    for taint in &change.taints {
        let Some((place, value)) = &taint.from else { continue };
        let at = |field: &str| format!("/spec/taints/{place}/{field}");
        operations.push(test(&at("key"), json!(taint.key)));
        operations.push(test(&at("effect"), json!(taint.effect.name())));
        // The API server leaves an empty value out.
        operations.push(test(&at("value"), said(value).unwrap_or_default()));
        match taint.to.as_ref().map(said) {
            Some(Some(value)) => operations.push(add(&at("value"), value)),
            Some(None) => operations.push(json!({ "op": "remove", "path": at("value") })),
            None => {}
        }
    }
    let goes = change.taints.iter().rev().filter(|taint| taint.to.is_none());
    for (place, _) in goes.filter_map(|taint| taint.from.as_ref()) {
        operations.push(json!({ "op": "remove", "path": format!("/spec/taints/{place}") }));
    }
    let comes = change.taints.iter().filter(|taint| taint.from.is_none());
    for (index, taint) in comes.enumerate() {
        let Some(taint) = rendered(taint) else { continue };
        if index == 0 && !change.has_taints {
            operations.push(test("/spec/taints", Value::Null));
            operations.push(add("/spec/taints", json!([taint])));
        } else {
            operations.push(add("/spec/taints/-", taint));
        }
    }
}

fn rendered(taint: &TaintChange) -> Option<Value> {
    let mut rendered = json!({ "key": taint.key, "effect": taint.effect.name() });
    if let Some(value) = said(taint.to.as_ref()?) {
        rendered["value"] = value;
    }
    Some(rendered)
}

fn said(value: &Arc<str>) -> Option<Value> {
    (!value.is_empty()).then(|| json!(value))
}

/// A JSON pointer to the entry of a map.
fn pointer(map: &str, key: &str) -> String {
    format!("{map}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn test(path: &str, value: Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

fn add(path: &str, value: Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_nonsense_lists_nothing() {
        let label = |key: &str, value: &str| Label { key: key.into(), value: value.into() };
        let taint = |key: &str, value: &str| Taint {
            key: key.into(),
            value: value.into(),
            effect: TaintEffect::NoExecute,
        };
        let applied = NodeAttributes {
            labels: [label("a", ""), label("example.com/b", "c")].into(),
            taints: [taint("a", ""), taint("b", "c")].into(),
        };
        assert_eq!(read_record(&record_text(&applied, 7)), applied);
        let (odd, none) = (r#"{"taints":[{"key":"a","effect":"Never"}]}"#, NodeAttributes::default());
        for text in ["", "{}", "mine", r#"{"labels":[]}"#, r#"{"labels":{"a":1}}"#, odd] {
            assert_eq!(read_record(text), none, "{text}");
        }
    }
}
