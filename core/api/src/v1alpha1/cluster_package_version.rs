//! `ClusterPackageVersion`: the fleet's default versions, and how fast the fleet may be moved to them.

#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

use super::component_setting::Parameters;
#[cfg(feature = "crd")]
use super::definition::{Column, Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule};
use super::strategy::{CourseStatus, Strategy};
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{ComponentSetting, Condition, IntOrString};
use crate::scalar::Time;

/// What the fleet's machines run by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterPackageVersionSpec {
    /// The default of each component, for machines that do not pin it. To take a component out of this list removes
    /// it from no machine: only `state: Absent` does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(64, "name")))]
    pub components: Vec<ComponentSetting>,
    /// How many machines may be unavailable at once while we work: a number, or a percentage of all machines,
    /// rounded down. At least one always may: use `paused` to stop.
    #[serde(default = "one")]
    pub max_unavailable: IntOrString,
    /// How many machines may fail before no more are admitted to a new version: a number, or a percentage of all
    /// machines, rounded down, but at least 1.
    #[serde(default = "one")]
    pub max_failures: IntOrString,
    /// How long a host may go without an audit of its files, for example `24h` or `1h30m`. Hosts without a Node are audited
    /// every five minutes, and less often in proportion where this is longer than a day.
    #[serde(default = "audit_interval_default")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub audit_interval: String,
    /// When more machines than this are unavailable for reasons of their own, nothing that disrupts is started until fewer
    /// than four fifths of it are (where one may be unavailable, until no more than one is): a number, or a percentage of
    /// the machines that were set up once, rounded down, but at least 1. Repairs of what is unavailable go on.
    #[serde(default = "a_fifth")]
    pub pause_when_unavailable: IntOrString,
    /// While true, no machine is admitted to a new version and nothing new is started on any machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// How pods are treated when the Node of a machine is emptied before work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainPolicy>,
    /// How rollouts go through their batches. If omitted, a rollout goes through the whole fleet within `maxUnavailable` and
    /// `maxFailures`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
}

/// How pods are treated when a Node is emptied. Pods of DaemonSets and mirrors of static pods always stay; disruption
/// budgets are always kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DrainPolicy {
    /// So long it may take until the Node is empty. After that it takes pods again, and is tried later. 0: no limit, which
    /// may keep the slot of `maxUnavailable` for ever.
    #[serde(default = "timeout_seconds_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 604_800)))]
    pub timeout_seconds: i64,
    /// Whether pods go that have an `emptyDir` volume: its contents go with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_empty_dir_data: bool,
    /// Whether pods go that no controller makes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Whether Nodes that are next in line to be drained get the taint `seaworthy.dev/next:PreferNoSchedule`, so that pods that
    /// leave another Node go elsewhere if they can. They lose it when they are done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steer: bool,
}

/// The default of `timeoutSeconds`: an hour.
const fn timeout_seconds_default() -> i64 {
    3600
}

/// The default of `maxUnavailable` and `maxFailures`.
const fn one() -> IntOrString {
    IntOrString::Int(1)
}

/// The default of `pauseWhenUnavailable`: a lost zone pauses, a lost rack of a large fleet does not.
fn a_fifth() -> IntOrString {
    IntOrString::String("20%".into())
}

/// The default of `auditInterval`.
fn audit_interval_default() -> String {
    "24h".into()
}

/// What is recorded about the fleet's rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterPackageVersionStatus {
    /// The generation of the spec that was last taken up.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub observed_generation: i64,
    /// The number of the operator process that wrote this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 2_147_483_647)))]
    pub epoch: Option<i64>,
    /// How far the fleet is on its way to each default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(256, "component")))]
    pub rollouts: Vec<RolloutStatus>,
    /// Complete: every machine that can be reached has the defaults. Progressing: nothing stops the rollouts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "type")))]
    pub conditions: Vec<Condition>,
    /// On how many machines work began lately, in the failure domains that have a limit for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(4_096, "domain,value,since")))]
    pub begun: Vec<BegunStatus>,
    /// The rollouts before those in `rollouts`, the last ten of each component, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::atomic_list(1_024)))]
    pub history: Vec<PastStatus>,
}

/// A rollout that another one has replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PastStatus {
    /// The name of the component.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub component: String,
    /// The generation of the spec at which this default was first seen.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub generation: i64,
    /// The default.
    pub to: WantStatus,
    /// `Completed`, `Superseded`, `GateFailed`, or `RolledBack`.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub end: String,
    /// How many machines took part.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub total: i64,
    /// How many machines had it when it was replaced.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub updated: i64,
    /// Why people made the change: the annotation `kubernetes.io/change-cause` of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub cause: Option<String>,
    /// Who made the change: the field manager that had written the spec last. It is the client's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 128)))]
    pub by: Option<String>,
    /// When it started.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub started_at: Time,
    /// When it was replaced.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub replaced_at: Time,
}

/// On how many machines of a failure domain work began within ten minutes, or two hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BegunStatus {
    /// The DisruptionPolicy whose limit it is, and `/hour` or `/day`.
    #[cfg_attr(feature = "crd", schemars(length(max = 512)))]
    pub domain: String,
    /// The value of its failure domain.
    #[cfg_attr(feature = "crd", schemars(length(max = 253)))]
    pub value: String,
    /// When that time began.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub since: Time,
    /// The number of machines.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub machines: i64,
}

/// How far the fleet is on its way to the default of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The name of the component.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub component: String,
    /// The generation of the spec at which this default was first seen.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub generation: i64,
    /// The last default that was completed and works; machines that join and are not permitted yet get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<WantStatus>,
    /// The default that permitted machines get.
    pub to: WantStatus,
    /// Each machine has a rank from 0 to 4294967294; those with a lower one than this are permitted to change.
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 4_294_967_295_i64)))]
    pub admitted_below: i64,
    /// The ranks of the machines that may be at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::ranks()))]
    pub granted: Option<Vec<i64>>,
    /// Earlier rollouts of this component, while machines may still be at work for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "generation")))]
    pub superseded: Vec<SupersededStatus>,
    /// Its batches and gates, if it has a strategy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<CourseStatus>,
    /// Why people made this change: the annotation `kubernetes.io/change-cause` when it was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub cause: Option<String>,
    /// Who made the change: the field manager that had written the spec last. It is the client's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 128)))]
    pub by: Option<String>,
    /// How many machines take part.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub total: i64,
    /// How many machines have the default.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub updated: i64,
    /// How many machines are at work, or about to be.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub at_work: i64,
    /// On how many machines the default failed.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub failed: i64,
    /// How many machines were lost at work and have not answered since.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub lost: i64,
    /// How many machines cannot be worked on, by the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "reason")))]
    pub deferred: Vec<DeferredStatus>,
    /// When the rollout started.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub started_at: Time,
    /// When every machine that could be reached had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub completed_at: Option<Time>,
}

/// What remains of a rollout whose default was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SupersededStatus {
    /// The generation of the spec at which this default was first seen.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub generation: i64,
    /// The default that was replaced.
    pub to: WantStatus,
    /// The ranks of the machines that may still be at work for it.
    #[cfg_attr(feature = "crd", schemars(transform = schema::ranks()))]
    pub granted: Vec<i64>,
}

/// Machines that cannot be worked on for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeferredStatus {
    /// `Unreachable`, `Paused`, or `Blocked`: the conditions of the machines say more.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub reason: String,
    /// How many.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub machines: i64,
}

/// A default, as it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WantStatus {
    /// `Present` or `Absent`.
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Present", "Absent"])))]
    pub state: String,
    /// The version, when present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub version: Option<String>,
    /// The parameters, when present.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "super::component_setting::parameters_schema"))]
    pub parameters: Parameters,
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::ClusterPackageVersion,
        // There is one object.
        selectable: Vec::new(),
        short_name: "cpv",
        description: "The default versions of the whole fleet, and how fast it is moved to them. There is one, named \
                      default. Its deletion removes nothing from any host.",
        columns: vec![
            column(
                "Complete",
                ".status.conditions[?(@.type==\"Complete\")].status",
                "Whether all have the defaults.",
            ),
            column(
                "Reason",
                ".status.conditions[?(@.type==\"Progressing\")].reason",
                "What goes on, or what stops it.",
            ),
            column("Updated", ".status.rollouts[0].updated", "Machines that have the first default."),
            column("Total", ".status.rollouts[0].total", "Machines that take part."),
            column("Failed", ".status.rollouts[0].failed", "Machines on which it failed."),
            column("MaxUnavailable", ".spec.maxUnavailable", "How many may be unavailable at once."),
            column("MaxFailures", ".spec.maxFailures", "How many may fail before it stops."),
            age(),
            wide(Column {
                r#type: "integer",
                ..column(
                    "Batch",
                    ".status.rollouts[0].course.batch",
                    "The batch that the first default is in.",
                )
            }),
            wide(Column { r#type: "boolean", ..column("Paused", ".spec.paused", "Whether it is paused.") }),
            wide(column(
                "PauseWhenUnavailable",
                ".spec.pauseWhenUnavailable",
                "How many unavailable machines pause everything.",
            )),
            wide(column("Versions", ".spec.components[*].version", "The default versions.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"Progressing\")].message",
                "Why, and what to do.",
            )),
        ],
        rules: vec![Rule {
            rule: "self.metadata.name == 'default'",
            field: ".metadata.name",
            message: "must be default: there is one for the whole fleet",
        }],
        spec: schema_of::<ClusterPackageVersionSpec>(),
        status: Some(schema_of::<ClusterPackageVersionStatus>()),
    }
}
