//! `MachineComponentSet`: versions for the machines that a selector names, instead of the fleet's defaults.

#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::cluster_package_version::ClusterPackageVersionStatus;
#[cfg(feature = "crd")]
use super::definition::{Column, Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule};
use super::strategy::Strategy;
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{ComponentSetting, LabelSelector};

/// What the machines of a set run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineComponentSetSpec {
    /// The Machines of the set, by their labels. It must not be empty: what all machines have belongs into the
    /// ClusterPackageVersion.
    pub selector: LabelSelector,
    /// Of two sets that select a machine and mention a component, the one with the higher priority decides; of equal ones
    /// that whose name comes first in the alphabet.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = -1000, max = 1000)))]
    pub priority: i64,
    /// What the machines of the set have of each component, unless they pin it. Of a component that is not in the list, they
    /// have what the ClusterPackageVersion says. To take one out of the list removes it from no machine: only
    /// `state: Absent` does, and `onLeave: Remove` from machines that leave the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(64, "name")))]
    pub components: Vec<ComponentSetting>,
    /// What becomes of these components on a Machine that leaves the set, if neither the Machine nor another set or the
    /// ClusterPackageVersion says anything of them. `Keep`: they stay as they are. `Remove`: they are removed. To delete the set, or
    /// to take a component out of it, removes nothing.
    #[serde(default = "on_leave_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Keep", "Remove"])))]
    pub on_leave: String,
    /// While true, nothing that the set asks for is started on any machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// How rollouts go through their batches.
    #[serde(default)]
    pub strategy: Strategy,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn on_leave_default() -> String {
    "Keep".into()
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::MachineComponentSet,
        selectable: vec![".spec.paused"],
        short_name: "mcs",
        description: "The versions of some components on the machines that a selector names, instead of the defaults of \
                      the ClusterPackageVersion. Its deletion removes nothing from any host: its machines follow the \
                      defaults again.",
        columns: vec![
            column(
                "Complete",
                ".status.conditions[?(@.type==\"Complete\")].status",
                "Whether all have its versions.",
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
            wide(Column {
                r#type: "integer",
                ..column("Priority", ".spec.priority", "Which set decides where several would.")
            }),
            wide(Column {
                r#type: "integer",
                ..column(
                    "Batch",
                    ".status.rollouts[0].course.batch",
                    "The batch that its first component is in.",
                )
            }),
            wide(Column { r#type: "boolean", ..column("Paused", ".spec.paused", "Whether it is paused.") }),
            wide(column("Versions", ".spec.components[*].version", "Its versions.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"Progressing\")].message",
                "Why, and what to do.",
            )),
        ],
        rules: vec![Rule {
            rule: "(has(self.spec.selector.matchLabels) && size(self.spec.selector.matchLabels) > 0) || \
                   (has(self.spec.selector.matchExpressions) && size(self.spec.selector.matchExpressions) > 0)",
            field: ".spec.selector",
            message: schema::EMPTY_SELECTOR,
        }],
        spec: schema_of::<MachineComponentSetSpec>(),
        status: Some(schema_of::<ClusterPackageVersionStatus>()),
    }
}
