//! `CanaryRelease`: versions that a few machines try before all others.
#![expect(
    clippy::disallowed_types,
    reason = "serde keeps what it flattens in a type that may hold any number"
)]

#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

use super::cluster_package_version::ClusterPackageVersionStatus;
#[cfg(feature = "crd")]
use super::definition::{Column, Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};
use super::strategy::Strategy;
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{ComponentSetting, IntOrString, LabelSelector};

/// What a few machines try, and which ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "self.selector == oldSelf.selector",
            field: ".selector",
            message: "cannot be changed: the machines are picked once; create another CanaryRelease",
        },
        Rule {
            rule: "self.pick == oldSelf.pick",
            field: ".pick",
            message: "cannot be changed: the machines are picked once; create another CanaryRelease",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct CanaryReleaseSpec {
    /// The Machines from which it picks, by their labels. All of them if omitted.
    #[serde(default)]
    pub selector: LabelSelector,
    /// How many of them, or which ones.
    #[serde(default)]
    pub pick: CanaryPick,
    /// What the picked machines have of each component, unless they pin it. Of a component that is not in the list, they have
    /// what their MachineComponentSet or the ClusterPackageVersion says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(64, "name")))]
    pub components: Vec<ComponentSetting>,
    /// While true, nothing that it asks for is started on any machine. It picks its machines nevertheless.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Ends it: its machines get what their MachineComponentSet or the ClusterPackageVersion says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// The MachineComponentSet into which `seaworthy rollout promote` writes the versions. The ClusterPackageVersion if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub promote_into: Option<String>,
    /// How rollouts go through the picked machines. One machine, and then the others, if omitted.
    #[serde(default = "strategy_default")]
    pub strategy: Strategy,
}

fn strategy_default() -> Strategy {
    let batches = vec![IntOrString::Int(1), IntOrString::String("100%".into())];
    Strategy { batches, ..Strategy::default() }
}

/// Which machines a CanaryRelease picks. It picks them once and writes their names into its status. Machines that are paused,
/// not reachable, being deleted, in another CanaryRelease, or that pin one of its components are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "!has(self.machines) || size(self.machines) == 0 || ((!has(self.count) || self.count == 1) \
                   && (!has(self.per) || size(self.per) == 0))",
            field: ".machines",
            message: "must not be together with count or per",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct CanaryPick {
    /// How many machines. With `per` it is how many for each combination of the values of these labels.
    #[serde(default = "count_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 100)))]
    pub count: i64,
    /// Keys of labels, for example one for the kernel and one for the hardware: so each kind of machine has one that tries the
    /// versions. A machine without one of the labels is not picked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::texts(4, 317)))]
    pub per: Vec<String>,
    /// The names of the Machines, instead of a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::texts(100, 253)))]
    pub machines: Vec<String>,
}

impl Default for CanaryPick {
    fn default() -> Self {
        Self { count: count_default(), per: Vec::new(), machines: Vec::new() }
    }
}

const fn count_default() -> i64 {
    1
}

/// What is recorded about a CanaryRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct CanaryReleaseStatus {
    /// Its rollouts, as those of the ClusterPackageVersion.
    #[serde(flatten)]
    pub record: ClusterPackageVersionStatus,
    /// The machines that were picked, and what became of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(100, "name")))]
    pub machines: Vec<CanaryMachine>,
}

/// A machine that was picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CanaryMachine {
    /// The name of the Machine.
    #[cfg_attr(feature = "crd", schemars(length(max = 253)))]
    pub name: String,
    /// `Waiting`, `Updating`, `Updated`, `Failed`, or `Unavailable`: it does not answer, is paused, or is gone.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub result: String,
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::CanaryRelease,
        selectable: vec![".spec.paused"],
        short_name: "canary",
        description: "Versions of some components that a few machines try before all others. When they are good, they are \
                      written into the ClusterPackageVersion or a MachineComponentSet. Its deletion removes nothing from any \
                      host: its machines follow the others again.",
        columns: vec![
            column(
                "Complete",
                ".status.conditions[?(@.type==\"Complete\")].status",
                "Whether its machines have its versions.",
            ),
            column(
                "Reason",
                ".status.conditions[?(@.type==\"Progressing\")].reason",
                "What goes on, or what stops it.",
            ),
            column("Updated", ".status.rollouts[0].updated", "Machines that have its first component."),
            column("Total", ".status.rollouts[0].total", "Machines that take part."),
            column("Failed", ".status.rollouts[0].failed", "Machines on which it failed."),
            age(),
            wide(column("Machines", ".status.machines[*].name", "The machines that were picked.")),
            wide(Column { r#type: "boolean", ..column("Paused", ".spec.paused", "Whether it is paused.") }),
            wide(column("Versions", ".spec.components[*].version", "Its versions.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"Progressing\")].message",
                "Why, and what to do.",
            )),
        ],
        rules: Vec::new(),
        spec: schema_of::<CanaryReleaseSpec>(),
        status: Some(schema_of::<CanaryReleaseStatus>()),
    }
}
