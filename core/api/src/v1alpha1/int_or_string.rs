//! A number or a text, as Kubernetes writes `5` and `"5%"`.

use serde::{Deserialize, Serialize};

/// A number or a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number.
    Int(i64),
    /// A text, for example `5%`.
    String(String),
}

#[cfg(feature = "crd")]
impl schemars::JsonSchema for IntOrString {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-kubernetes-int-or-string": true,
            "x-kubernetes-validations": super::schema::count_or_percent(),
            "maxLength": 4,
        })
    }
}
