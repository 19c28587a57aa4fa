//! What the definition of a kind says besides what is the same for all kinds.

use seaworthy_model::id::Kind;
use serde::Serialize;
use serde_json::Value;

use super::schema::Rule;

/// What differs between the kinds.
pub(crate) struct Definition {
    pub(crate) kind: Kind,
    pub(crate) short_name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) columns: Vec<Column>,
    /// Fields that `--field-selector` can select by, besides the name. The API server takes texts, numbers and booleans only.
    pub(crate) selectable: Vec<&'static str>,
    /// Rules that may look at `metadata.name`.
    pub(crate) rules: Vec<Rule>,
    pub(crate) spec: Value,
    pub(crate) status: Option<Value>,
}

/// A column of `kubectl get`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) r#type: &'static str,
    pub(crate) description: &'static str,
    pub(crate) json_path: &'static str,
    /// 0 is always shown, 1 with `-o wide` only.
    pub(crate) priority: u8,
}

pub(crate) const fn column(name: &'static str, json_path: &'static str, description: &'static str) -> Column {
    Column { name, r#type: "string", description, json_path, priority: 0 }
}

pub(crate) const fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

pub(crate) const fn age() -> Column {
    let column = column("Age", ".metadata.creationTimestamp", "When the object was created.");
    Column { r#type: "date", ..column }
}
