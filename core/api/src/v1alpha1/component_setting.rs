//! A component and what is wanted of it: the same words on one machine and for the whole fleet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};

/// Parameters for templates, by name.
pub type Parameters = BTreeMap<String, String>;

/// A component and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "self.state != 'Present' || has(self.version)",
            field: ".version",
            message: "version is required when state is Present",
        },
        Rule {
            rule: "self.state != 'Absent' || !has(self.version)",
            field: ".version",
            message: "version must not be set when state is Absent",
        },
        Rule {
            rule: "self.state != 'Absent' || !has(self.parameters)",
            field: ".parameters",
            message: "parameters must not be set when state is Absent",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct ComponentSetting {
    /// The name of the component, for example `webd`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub name: String,
    /// `Present` installs the given version. `Absent` removes the component from the host: it is the only word that
    /// does. A component that is not listed is left as it is.
    #[serde(default = "present")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Present", "Absent"])))]
    pub state: String,
    /// The version to install. The MachineComponent `<name>-<version>` must exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::SUBDOMAIN)))]
    pub version: Option<String>,
    /// Parameters for the templates of the MachineComponent, which see them as `parameters.<name>`. Names consist of
    /// letters, digits and underscores, and do not start with a digit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "parameters_schema"))]
    pub parameters: Parameters,
}

/// The default of `state`.
fn present() -> String {
    "Present".into()
}

#[cfg(feature = "crd")]
pub(super) fn parameters_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": { "type": "string", "maxLength": 4096 },
        "x-kubernetes-validations": schema::rule(
            "self.all(name, name.matches('^[A-Za-z_][A-Za-z0-9_]{0,62}$'))",
            "parameters must be named with letters, digits and '_', not start with a digit, and have at most 63 \
             characters",
        ),
    })
}
