//! Labels and taints that a Machine keeps on its Node.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};

/// Labels for a Node, by key.
pub type NodeLabels = BTreeMap<Arc<str>, Arc<str>>;

/// A taint for a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeTaint {
    /// The key, as of a label. The same keys are reserved.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 317),
            extend("x-kubernetes-validations" = rules(&[
                Rule { rule: schema::QUALIFIED, field: "", message: schema::LABEL_KEY },
                Rule { rule: UNRESERVED, field: "", message: schema::RESERVED_KEY },
            ]))
        )
    )]
    pub key: Arc<str>,
    /// The value; empty when left out.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 63), extend("pattern" = schema::ANY_LABEL_VALUE))
    )]
    pub value: Arc<str>,
    /// What it does to pods that do not tolerate it. `NoSchedule` and `PreferNoSchedule` keep new ones off; `NoExecute` also
    /// makes those leave that are there, without regard to disruption budgets.
    #[cfg_attr(
        feature = "crd",
        schemars(extend("enum" = ["NoSchedule", "PreferNoSchedule", "NoExecute"]))
    )]
    pub effect: Arc<str>,
}

/// A key that is not reserved: see [`is_reserved`](seaworthy_model::attributes::is_reserved).
#[cfg(feature = "crd")]
const UNRESERVED: &str = r"!self.matches('^([^/]*\\.)?(kubernetes\\.io|k8s\\.io|seaworthy\\.dev)/') || self.matches('^([^/]*\\.)?node-(role|restriction)\\.kubernetes\\.io/')";

#[cfg(feature = "crd")]
pub(super) fn labels_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    // The same rules, about each key.
    let of_keys = |rule: &str| format!("self.all(key, {})", rule.replace("self.", "key."));
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {
            "type": "string",
            "maxLength": 63,
            "pattern": schema::ANY_LABEL_VALUE,
        },
        "x-kubernetes-validations": [
            { "rule": of_keys(schema::QUALIFIED), "message": schema::LABEL_KEY },
            { "rule": of_keys(UNRESERVED), "message": schema::RESERVED_KEY },
        ],
    })
}
