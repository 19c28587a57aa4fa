//! JSON patches (RFC 6902), as far as the operator sends them: `test`, `add` and `remove`.

use serde_json::Value;

/// Why a patch was not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is no list of operations.
    Malformed,
    /// It has an operation that is not modelled.
    NotModelled,
    /// A test does not hold, or a path leads nowhere.
    Failed,
}

/// Applies `patch` to `document`, whole or not at all.
pub(super) fn apply(document: &mut Value, patch: &Value) -> Result<(), Fault> {
    let mut patched = document.clone();
    for operation in patch.as_array().ok_or(Fault::Malformed)? {
        let path = operation["path"].as_str().ok_or(Fault::Malformed)?;
        let value = &operation["value"];
        match operation["op"].as_str().ok_or(Fault::Malformed)? {
            // What is absent equals null.
            "test" if patched.pointer(path).unwrap_or(&Value::Null) == value => {}
            "test" => return Err(Fault::Failed),
            "add" => add(&mut patched, path, value.clone()).ok_or(Fault::Failed)?,
            "remove" => remove(&mut patched, path).ok_or(Fault::Failed)?,
            _ => return Err(Fault::NotModelled),
        }
    }
    *document = patched;
    Ok(())
}

/// The parent of what a path names, and its name there.
fn parent<'v>(document: &'v mut Value, path: &str) -> Option<(&'v mut Value, String)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((document.pointer_mut(parent)?, name.replace("~1", "/").replace("~0", "~")))
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    match parent(document, path)? {
        (Value::Object(fields), name) => drop(fields.insert(name, value)),
        (Value::Array(items), name) if name == "-" => items.push(value),
        (Value::Array(items), name) => {
            let place = name.parse().ok().filter(|place| *place <= items.len())?;
            items.insert(place, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &str) -> Option<()> {
    match parent(document, path)? {
        (Value::Object(fields), name) => fields.remove(&name).map(drop),
        (Value::Array(items), name) => {
            let place = name.parse().ok().filter(|place| *place < items.len())?;
            items.remove(place);
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_is_applied_whole_or_not_at_all() {
        let before = json!({"a": {"x/y": 1}, "list": ["b", "c"]});
        let mut document = before.clone();
        let patch = json!([
            {"op": "test", "path": "/a/x~1y", "value": 1},
            {"op": "test", "path": "/a/none", "value": null},
            {"op": "remove", "path": "/a/x~1y"},
            {"op": "add", "path": "/list/-", "value": "d"},
            {"op": "remove", "path": "/list/0"},
            {"op": "add", "path": "/list/0", "value": "z"},
        ]);
        assert_eq!(apply(&mut document, &patch), Ok(()));
        assert_eq!(document, json!({"a": {}, "list": ["z", "c", "d"]}));
        for (operation, fault) in [
            (json!({"op": "test", "path": "/a/none", "value": 1}), Fault::Failed),
            (json!({"op": "remove", "path": "/list/7"}), Fault::Failed),
            (json!({"op": "add", "path": "/none/x", "value": 1}), Fault::Failed),
            (json!({"op": "move", "from": "/a", "path": "/b"}), Fault::NotModelled),
            (json!({"op": "add"}), Fault::Malformed),
        ] {
            let mut document = before.clone();
            let patch = json!([{"op": "remove", "path": "/a"}, operation]);
            assert_eq!(apply(&mut document, &patch), Err(fault), "{patch}");
            assert_eq!(document, before);
        }
    }
}
