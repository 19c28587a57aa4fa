//! Rules about versions, as people write them.

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};

/// A rule about the version of something else: at least `atLeast` and lower than `below`, of which one at least is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "has(self.atLeast) || has(self.below)",
            field: "",
            message: "must have atLeast, below, or both",
        },
        Rule {
            rule: "!has(self.atLeast) || !has(self.below) \
                   || int(self.atLeast.split('.')[0]) * 4294967296 + int(self.atLeast.split('.')[1]) * 65536 \
                      + int(self.atLeast.split('.')[2]) \
                      < int(self.below.split('.')[0]) * 4294967296 + int(self.below.split('.')[1]) * 65536 \
                      + int(self.below.split('.')[2])",
            field: ".below",
            message: "must be higher than atLeast",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// The name of another component, of which the rule counts while it is installed on the same machine; or
    /// `kube-apiserver`: the API servers of the cluster, whether installed by Seaworthy or not.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub component: String,
    /// The lowest version that will do, for example `1.36.0`. What a version says after its three numbers is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 17), extend("pattern" = schema::VERSION_NUMBER)))]
    pub at_least: Option<String>,
    /// The lowest version that will not do any more, for example `1.40.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 17), extend("pattern" = schema::VERSION_NUMBER)))]
    pub below: Option<String>,
}
