//! How rollouts go through their batches, and where one is.

use serde::{Deserialize, Serialize};

use super::IntOrString;
#[cfg(feature = "crd")]
use super::schema;
use crate::scalar::Time;

/// How rollouts go through their batches. After each, the machines that were changed are watched, and a gate decides: with
/// too many that failed or became unavailable, compared with those not yet touched, nothing further is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// Up to how many machines have the new version after each batch: numbers, or percentages of all machines that take
    /// part, rounded down, but at least 1. All others follow after the last batch.
    #[serde(default = "batches_default")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::batches()))]
    pub batches: Vec<IntOrString>,
    /// How long the machines of the first batch are watched once all of them are done.
    #[serde(default = "first_bake_time_default")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub first_bake_time: String,
    /// How long those of each later batch are watched.
    #[serde(default = "bake_time_default")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub bake_time: String,
    /// How many changed machines may go wrong before a gate fails, beyond those that would have without the rollout: a number,
    /// or a percentage of the changed machines, rounded down, but at least 1. 1 % of them and at most 3 if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<IntOrString>,
    /// What follows when a gate fails. `Pause`: no further machine is changed until a person decides. `RollBack`: the machines
    /// that were changed get what they had before.
    #[serde(default = "on_failure_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Pause", "RollBack"])))]
    pub on_failure: String,
    /// A change that reaches more machines than this waits until somebody confirms it: a number, or a percentage of all machines,
    /// rounded down, but at least 1. Nobody has to if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_above: Option<IntOrString>,
    /// What changes may do to the workloads of a machine. An edit counts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruption: Option<RolloutDisruption>,
    /// What a gate asks a Prometheus once the machines themselves have passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<GateQuery>,
    /// A pod that has to start on some of the machines that were changed last, before a gate passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_pod: Option<ProbePod>,
}

/// A question to a Prometheus. The gate fails if the answer is not empty; while there is no answer, it waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GateQuery {
    /// The namespace of its Service, which is asked through the API server.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub namespace: String,
    /// The name of its Service.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub service: String,
    /// The port of the Service.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 65535)))]
    pub port: i64,
    /// How it is asked. The API server does not verify the certificate of an `https` service.
    #[serde(default = "scheme_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["http", "https"])))]
    pub scheme: String,
    /// What comes before `/api/v1/query` in its path, such as `/prometheus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::absolute_path())))]
    pub path_prefix: Option<String>,
    /// A PromQL expression whose result is a vector of what is wrong, as that of an alert.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 2048)))]
    pub expression: String,
}

/// A pod that has to start on some of the machines that were changed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProbePod {
    /// Its image: it runs for some minutes without arguments, as any user. An image that pauses will do.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 512)))]
    pub image: String,
    /// On how many machines.
    #[serde(default = "probes_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 16)))]
    pub machines: i64,
    /// Within which time it has to run.
    #[serde(default = "within_default")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub within: String,
}

/// What the changes of a rollout may do to the workloads of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutDisruption {
    /// The most that they may do. A machine whose change would do more, by `spec.disruption` of the version that comes or of that
    /// which goes, is not changed; when no other machine is left, the rollout stops. Anything if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["None", "Reload", "Restart", "Drain", "Reboot"])))]
    pub at_most: Option<String>,
    /// What becomes of machines that cannot be drained, because pods must not be lost or do not leave in time. `Wait`: the batch
    /// waits for them. `Skip`: the batch ends without them, and they follow when they can. `Force`: the batch waits, and pods that
    /// stay too long are deleted, whatever is lost with them.
    #[serde(default = "undrainable_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Wait", "Skip", "Force"])))]
    pub undrainable: String,
    /// With `Skip`: how many machines a batch ends without, a number or a percentage of all machines that take part, rounded down,
    /// but at least 1. With more, it waits. 10% if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_at_most: Option<IntOrString>,
    /// With `Force`, and needed there: how long after the cordon pods are deleted that have not left, whatever their disruption
    /// budgets say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub force_after: Option<String>,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            batches: batches_default(),
            first_bake_time: first_bake_time_default(),
            bake_time: bake_time_default(),
            tolerance: None,
            on_failure: on_failure_default(),
            confirm_above: None,
            disruption: None,
            query: None,
            probe_pod: None,
        }
    }
}

fn scheme_default() -> String {
    "http".into()
}

const fn probes_default() -> i64 {
    5
}

fn within_default() -> String {
    "2m".into()
}

fn batches_default() -> Vec<IntOrString> {
    let percent = ["1%", "10%", "50%", "100%"].map(|text| IntOrString::String(text.into()));
    [IntOrString::Int(1)].into_iter().chain(percent).collect()
}

fn first_bake_time_default() -> String {
    "30m".into()
}

fn bake_time_default() -> String {
    "10m".into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn on_failure_default() -> String {
    "Pause".into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

fn undrainable_default() -> String {
    "Skip".into()
}

/// Where a rollout with a strategy is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CourseStatus {
    /// The strategy with which the rollout started. A change of the spec counts for the next one, apart from `disruption`.
    pub strategy: Strategy,
    /// The number of the batch under way, from 1; 0 before the first.
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 4_294_967_295_i64)))]
    pub batch: i64,
    /// When every machine of the batch that can be worked on was done. From then on they are watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub done_at: Option<Time>,
    /// The gate that has failed, if one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_gate: Option<GateStatus>,
    /// How many machines had gone wrong when a person last let it go on in spite of a gate, or had failed when it began anew.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 4_294_967_295_i64)))]
    pub excused: i64,
    /// How many machines had what the rollout brings, or had failed to get it, when it began anew after it was complete: its
    /// gates watch the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 4_294_967_295_i64)))]
    pub judged_before: i64,
    /// The number of the last batch before it began anew.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0, max = 4_294_967_295_i64)))]
    pub batches_before: i64,
    /// Whether it began anew for a few machines that came since it was complete: they are one batch, a catch-up batch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub catches_up: bool,
    /// Since when machines get back what they had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub reverted_at: Option<Time>,
}

/// Why a gate has failed: numbers of machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GateStatus {
    /// When.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub at: Time,
    /// Machines that the rollout had changed.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub changed: i64,
    /// Those on which the release failed.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub failed: i64,
    /// Those that became unavailable after the rollout started and still were, and those whose service did not run, or had been
    /// repaired.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub unavailable: i64,
    /// Those of which nothing was known.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub silent: i64,
    /// Machines that the rollout had not touched.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub untouched: i64,
    /// The same among them.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub untouched_unavailable: i64,
    /// The series that the query found, if it was asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub series: i64,
    /// Probe pods that were to start.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub probes: i64,
    /// Those that did not start in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub unstarted: i64,
}
