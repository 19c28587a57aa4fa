//! A Deployment with a pod on each host, and its Service.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::deadline::eventually;
use crate::oci;
use crate::world::World;

/// The version of `webd` in the pods. Its image must have been [loaded](oci::Image::load_on) on every host.
pub const VERSION: &str = "1.0.0";

/// From a connection to an answer; the rules for a Service's address may follow its pods by a second.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The Deployment `web`, its Service, and its PodDisruptionBudget: one pod may be missing.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    service: Ipv4Addr,
}

impl Workload {
    /// Creates them and waits until a pod runs on each of so many hosts.
    ///
    /// # Errors
    /// They are refused, or do not run in time.
    pub fn start(world: &World, pods: u8) -> Result<Self> {
        let labels = json!({"app": "web"});
        let healthy = json!({"httpGet": {"path": "/healthz", "port": oci::PORT}, "periodSeconds": 1});
        let container = json!({
            "name": "web",
            "image": oci::webd_name(VERSION),
            "imagePullPolicy": "Never",
            "readinessProbe": healthy,
        });
        let spread = json!({
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            // What is cordoned does not count: the pod of a Node that is drained goes to another one.
            "nodeTaintsPolicy": "Honor",
            "labelSelector": {"matchLabels": labels},
        });
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": pods,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [container], "topologySpreadConstraints": [spread]},
                },
            },
        });
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": oci::PORT}]},
        });
        let budget = json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": labels}, "maxUnavailable": 1},
        });
        world.control_plane().apply(&format!("{deployment}\n---\n{service}\n---\n{budget}"))?;
        world.kubectl(["rollout", "status", "deployment/web", "--timeout=120s"])?;
        let address = world.kubectl(["get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"])?;
        Ok(Self { service: address.parse().with_context(|| format!("no address: {address}"))? })
    }

    /// The address of the Service.
    #[must_use]
    pub fn service(&self) -> Ipv4Addr {
        self.service
    }

    /// When the container of each pod was started, and how often: `POD CONTAINER-ID STARTED RESTARTS` in lines.
    ///
    /// # Errors
    /// kubectl fails.
    pub fn lives(&self, world: &World) -> Result<String> {
        const LIVES: &str = "jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID} \
            {.status.containerStatuses[0].state.running.startedAt} {.status.containerStatuses[0].restartCount}{\"\\n\"}{end}";
        world.kubectl(["get", "pods", "-l", "app=web", "--sort-by=.metadata.name", "-o", LIVES])
    }

    /// Checks that every pod answers every host, and that the Service does.
    ///
    /// # Errors
    /// One does not within 10 s, or answers something else.
    pub fn answers_everywhere(&self, world: &World) -> Result<()> {
        let addresses = "jsonpath={.items[*].status.podIP}";
        let pods = world.kubectl(["get", "pods", "-l", "app=web", "-o", addresses])?;
        let pods = pods.split_whitespace().map(str::parse).collect::<Result<Vec<Ipv4Addr>, _>>()?;
        ensure!(!pods.is_empty(), "there are no pods");
        for host in world.hosts() {
            for (address, port) in pods.iter().map(|pod| (*pod, oci::PORT)).chain([(self.service, 80)]) {
                let what = format!("{address} from {}", host.name());
                let answer =
                    eventually(what, ANSWER_WITHIN, || host.endpoint().http_get(address, port, "/version"))?;
                ensure!(answer == (200, format!("{VERSION}\n")), "{answer:?}");
            }
        }
        Ok(())
    }
}
