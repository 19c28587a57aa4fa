//! Labels and taints that writers other than the operator put on Nodes.

use serde::Deserialize;

/// What somebody does to labels and taints of Nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Relabel {
    /// Of which machines, by their numbers.
    pub machines: Vec<u32>,
    /// Values of labels by key; null takes the label away.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, Option<String>>,
    /// Values of taints by key, with the effect `NoSchedule`; null takes the taint away.
    #[serde(default)]
    pub taints: std::collections::BTreeMap<String, Option<String>>,
}
