//! Labels and taints that writers other than the operator put on Nodes.

use serde::Deserialize;

/// A change of labels and taints of Nodes by another writer.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Relabel {
    /// The machines, by number, whose Nodes are changed.
    pub machines: Vec<u32>,
    /// The values of labels by key. Null removes the label.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, Option<String>>,
    /// The values of taints by key, with the effect `NoSchedule`. Null removes the taint.
    #[serde(default)]
    pub taints: std::collections::BTreeMap<String, Option<String>>,
}
