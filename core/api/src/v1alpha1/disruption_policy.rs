//! `DisruptionPolicy`: how many machines of a failure domain may be disrupted, how often, and when.

#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::definition::{Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule, rules};
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{Condition, IntOrString, LabelSelector};
use crate::scalar::Time;

/// What is allowed on some machines. All policies that select a machine count: the smallest limit wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[Rule {
        rule: "self.per == 'Label' ? has(self.labelKey) : !has(self.labelKey)",
        field: ".labelKey",
        message: "must be given for per: Label, and for nothing else",
    }]),
)))]
#[serde(rename_all = "camelCase")]
pub struct DisruptionPolicySpec {
    /// The Machines that it is about; all if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// The failure domain in which the limits count. `Fleet`: all selected machines. `Idc`, `Rack`: those of one data centre
    /// or rack, as the address of the Machine says. `Label`: those with one value of the label `labelKey`. No limit counts for
    /// machines without a value.
    #[serde(default = "fleet")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Fleet", "Idc", "Rack", "Label"])))]
    pub per: String,
    /// The key of the label, for `per: Label`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 317),
            extend("x-kubernetes-validations" = rules(&[
                Rule { rule: schema::QUALIFIED, field: "", message: schema::LABEL_KEY },
            ]))
        )
    )]
    pub label_key: Option<String>,
    /// How many machines of a domain may be at work at once: a number, or a percentage of the selected machines in it, rounded
    /// down, but at least 1. In a data centre, a rack, or those with a label, machines that people have cordoned or that are
    /// unavailable for reasons of their own count as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<IntOrString>,
    /// On how many machines of a domain work may begin within any hour, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<IntOrString>,
    /// On how many machines of a domain work may begin within any 24 hours, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_day: Option<IntOrString>,
    /// When the machines may be disrupted; at any time if omitted. Nothing begins that could go on after the end of a window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::atomic_list(16)))]
    pub windows: Vec<DisruptionWindow>,
    /// When the machines must not be disrupted, not even to roll back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::atomic_list(32)))]
    pub freezes: Vec<DisruptionFreeze>,
    /// While true, nothing is started on the machines: no change, no repair, no rollback. Without a selector it stops the fleet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

fn fleet() -> String {
    "Fleet".into()
}

/// A window that opens every week.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DisruptionWindow {
    /// The days on which it opens; every day if omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::days()))]
    pub days: Vec<String>,
    /// When it opens, as the clocks of `timeZone` show it: `22:00`.
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 5), extend("pattern" = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))
    )]
    pub start: String,
    /// How long it is open, for example `6h`; at most `168h`. It may go on after midnight, and is as long when the clocks are
    /// set meanwhile.
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::week())))]
    pub duration: String,
    /// The name of a time zone of the IANA database, for example `Europe/Berlin`. UTC if omitted.
    #[serde(default = "utc")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub time_zone: String,
}

fn utc() -> String {
    "UTC".into()
}

/// A time in which nothing is disrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[Rule {
        rule: "timestamp(self.from) < timestamp(self.until)",
        field: ".until",
        message: "must be later than from",
    }]),
)))]
#[serde(rename_all = "camelCase")]
pub struct DisruptionFreeze {
    /// When it begins.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub from: Time,
    /// When it ends.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub until: Time,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub reason: String,
}

/// What is recorded about a policy, for people. The operator does nothing because of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct DisruptionPolicyStatus {
    /// The generation of the spec that was last judged.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub observed_generation: i64,
    /// Ready: the spec is valid and counts. Permitting: the machines may be disrupted now, within the limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "type")))]
    pub conditions: Vec<Condition>,
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::DisruptionPolicy,
        selectable: vec![],
        short_name: "dp",
        description: "How many machines of a failure domain may be disrupted at once, per hour and per day, and when. All \
                      policies that select a machine count; the smallest limit wins.",
        columns: vec![
            column("Per", ".spec.per", "The failure domain in which the limits count."),
            column("In Flight", ".spec.inFlight", "How many machines at once."),
            column(
                "Permitting",
                ".status.conditions[?(@.type==\"Permitting\")].status",
                "Whether machines may be disrupted now.",
            ),
            column(
                "Reason",
                ".status.conditions[?(@.type==\"Permitting\")].reason",
                "Open, PolicyPaused, Frozen, OutsideWindow, or InvalidSpec.",
            ),
            age(),
            wide(column("Per Hour", ".spec.perHour", "On how many machines work may begin in an hour.")),
            wide(column("Per Day", ".spec.perDay", "On how many machines work may begin in a day.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"Permitting\")].message",
                "Until when that is so.",
            )),
        ],
        rules: vec![],
        spec: schema_of::<DisruptionPolicySpec>(),
        status: Some(schema_of::<DisruptionPolicyStatus>()),
    }
}
