//! What a gate asks besides the machines, as requests, and what the answers say.
//!
//! A probe pod belongs to a Job: Kubernetes ends it and deletes it, also if no operator is left that would.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use seaworthy_model::gate_check::{ProbeRound, ProbeStart, Query};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::v1alpha1::NAMESPACE;

/// The label of the Jobs of one round, and of their pods.
const ROUND_LABEL: &str = "seaworthy.dev/gate";
/// The label with the number of a Job in its round.
const NUMBER_LABEL: &str = "seaworthy.dev/probe";

/// So much longer than it may take to start, a probe pod runs: its start has to be seen.
const RUNS_ON: Duration = Duration::from_secs(120);
/// A Job is deleted so long after its end: people may look at it until then.
const KEPT: Duration = Duration::from_secs(600);

/// The path of a question: `/api/v1/query` of the Service, by the proxy of the API server. What is asked is how many series
/// the expression gives, so that no answer is long.
pub(super) fn query_path(query: &Query) -> String {
    let Query { namespace, service, port, tls, path_prefix, expression } = query;
    let scheme = if *tls { "https" } else { "http" };
    // On a line of its own, the parenthesis does not belong to a comment at the end of the expression.
    let counted = escaped(&format!("count({expression}\n)"));
    format!(
        "/api/v1/namespaces/{namespace}/services/{scheme}:{service}:{port}/proxy{path_prefix}/api/v1/query?query={counted}"
    )
}

/// A text as the value of a parameter of a URL.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The path of the Jobs in the operator's namespace.
pub(super) fn jobs_path() -> String {
    format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs")
}

/// The path of the Jobs of a round.
pub(super) fn round_path(round: ProbeRound) -> String {
    format!("{}?labelSelector={}%3D{round}", jobs_path(), escaped(ROUND_LABEL))
}

/// The Job of a probe pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeJob {
    /// The Node on which it runs.
    pub node: String,
    /// What starts.
    pub start: ProbeStart,
}

impl ProbeJob {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("seaworthy-gate-{}-{}", self.start.round, self.start.number)
    }

    /// The Job: its pod goes to its Node whatever taints that has, passes the standard `restricted` of pod security, and can do
    /// nothing.
    pub(super) fn body(&self) -> Value {
        let ProbeStart { round, number, pod } = &self.start;
        let labels = json!({
            "app.kubernetes.io/name": "seaworthy-gate",
            ROUND_LABEL: round.to_string(),
            NUMBER_LABEL: number.to_string(),
        });
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": self.name(), "namespace": NAMESPACE, "labels": labels },
            "spec": {
                "backoffLimit": 0,
                "activeDeadlineSeconds": (pod.within + RUNS_ON).as_secs(),
                "ttlSecondsAfterFinished": KEPT.as_secs(),
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "nodeName": self.node,
                        "restartPolicy": "Never",
                        "automountServiceAccountToken": false,
                        "enableServiceLinks": false,
                        "terminationGracePeriodSeconds": 0,
                        "tolerations": [{ "operator": "Exists" }],
                        "securityContext": {
                            "runAsNonRoot": true,
                            "runAsUser": 65534,
                            "seccompProfile": { "type": "RuntimeDefault" },
                        },
                        "containers": [{
                            "name": "probe",
                            "image": pod.image,
                            "resources": { "limits": { "cpu": "10m", "memory": "32Mi" } },
                            "securityContext": {
                                "allowPrivilegeEscalation": false,
                                "readOnlyRootFilesystem": true,
                                "capabilities": { "drop": ["ALL"] },
                            },
                        }],
                    },
                },
            },
        })
    }
}

/// The answer of a Prometheus to a question how many series there are.
#[derive(Debug, Deserialize)]
pub struct Metrics {
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Data {
    result: Vec<Sample>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    /// The time, and the number as text.
    value: (Value, String),
}

impl Metrics {
    /// How many series there are: no sample means none. `None` if that is not what it says.
    #[must_use]
    pub fn series(&self) -> Option<u32> {
        match &self.data.result[..] {
            [] => Some(0),
            [sample] => sample.value.1.parse().ok(),
            _ => None,
        }
    }
}

/// Jobs as the API server lists them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct JobList {
    /// The Jobs.
    pub items: Vec<Job>,
}

/// What is read of a Job.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Its metadata.
    pub metadata: JobMetadata,
    /// How it is.
    pub status: JobStatus,
}

/// What is read of the metadata of a Job.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobMetadata {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// The status of a Job.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobStatus {
    /// Its pods that are ready.
    pub ready: u32,
    /// Its pods that have ended well: they have run.
    pub succeeded: u32,
}

/// The numbers of the Jobs whose pods have started, in order.
#[must_use]
pub fn started(jobs: &JobList) -> Vec<u32> {
    let has_started = |job: &&Job| job.status.ready + job.status.succeeded > 0;
    let number = |job: &Job| job.metadata.labels.get(NUMBER_LABEL)?.parse().ok();
    let mut numbers: Vec<u32> = jobs.items.iter().filter(has_started).filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_counted_and_escaped() {
        let query = Query {
            namespace: "monitoring".into(),
            service: "prometheus".into(),
            port: 9090,
            tls: false,
            path_prefix: "/prom".into(),
            expression: "up{job=\"kubelet\"} == 0 # down".into(),
        };
        assert_eq!(
            query_path(&query),
            "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy/prom/api/v1/query?query=\
             count%28up%7Bjob%3D%22kubelet%22%7D%20%3D%3D%200%20%23%20down%0A%29"
        );
    }

    #[test]
    fn an_answer_says_how_many_series_there_are_or_nothing() {
        let read = |result: &str| {
            let text =
                format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#);
            serde_json::from_str::<Metrics>(&text).ok().and_then(|metrics| metrics.series())
        };
        assert_eq!(read("[]"), Some(0));
        assert_eq!(read(r#"[{"metric":{},"value":[1795162200.781,"17"]}]"#), Some(17));
        assert_eq!(read(r#"[{"metric":{},"value":[1795162200.781,"NaN"]}]"#), None);
        assert_eq!(read(r#"[1795162200.781,"17"]"#), None);
    }

    #[test]
    fn a_probe_has_started_when_its_pod_was_ready() {
        let jobs = serde_json::from_str::<JobList>(
            r#"{"items": [
                {"metadata": {"labels": {"seaworthy.dev/probe": "2"}}, "status": {"ready": 1, "active": 1}},
                {"metadata": {"labels": {"seaworthy.dev/probe": "1"}}, "status": {"active": 1}},
                {"metadata": {"labels": {"seaworthy.dev/probe": "0"}}, "status": {"succeeded": 1}},
                {"metadata": {"labels": {}}, "status": {"ready": 1}}
            ]}"#,
        );
        assert_eq!(started(&jobs.unwrap()), [0, 2]);
    }
}
