//! Label selectors, as people write them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};

/// Selects objects by their labels, as in Kubernetes: those of which everything in it holds. An empty one selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that an object has to have, with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "match_labels_schema"))]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::atomic_list(16)))]
    pub match_expressions: Vec<LabelExpression>,
}

/// A requirement about one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[Rule {
        rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
        field: ".values",
        message: schema::SELECTOR_VALUES,
    }]),
)))]
#[serde(rename_all = "camelCase")]
pub struct LabelExpression {
    /// The key of the label.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 317),
            extend("x-kubernetes-validations" = rules(&[
                Rule { rule: schema::QUALIFIED, field: "", message: schema::LABEL_KEY },
            ]))
        )
    )]
    pub key: String,
    /// `In`: the object has the label with one of the values. `NotIn`: it has it with another value, or not at all. `Exists`:
    /// it has the label. `DoesNotExist`: it does not.
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"])))]
    pub operator: String,
    /// The values, for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::label_values(32)))]
    pub values: Vec<String>,
}

#[cfg(feature = "crd")]
fn match_labels_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let rule = format!("self.all(key, {})", schema::QUALIFIED.replace("self.", "key."));
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": { "type": "string", "maxLength": 63, "pattern": schema::ANY_LABEL_VALUE },
        "x-kubernetes-validations": [{ "rule": rule, "message": schema::LABEL_KEY }],
    })
}
