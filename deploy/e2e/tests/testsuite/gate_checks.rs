//! What gates ask besides the machines, on real nodes: a Prometheus, through the API server, and pods that start or do not.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Component, Fleet, Nodes, Purpose, WORKLOAD_VERSION, World, nodes, oci, prometheus, scenario_for,
};
use serde_json::{Value, json};

/// What every node begins with, and has at the end.
const OLD: &str = "1.36.3";

/// The user that the operator is.
const OPERATOR: &str = "seaworthy-operator";

/// Nothing, in a fleet in order.
const QUIET: &str = "seaworthy_machines{reason=\"NoSuchReason\"} > 0";

#[test]
fn gates_ask_the_metrics_and_start_pods() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("three nodes", |fleet| Nodes::join(fleet, &[], "24h"))?;
        nodes.set(&fleet, "maxUnavailable", json!(2))?;
        let address = world.control_plane().endpoint().address();
        let _prometheus = prometheus::watch(world, address, &[])?;
        serve(&fleet, address)?;
        fleet.scene("without the rights to ask, a gate waits; with them, it passes", |fleet| {
            rights_are_missing(fleet, &mut nodes)
        })?;
        fleet.scene("no pod starts on the first node: the gate fails", |fleet| {
            no_pod_starts(fleet, &mut nodes)
        })?;
        fleet.scene("the query finds something: the release is taken back", |fleet| {
            the_query_finds_something(fleet, &mut nodes)
        })?;
        fleet.stop_operator()
    })
}

/// A Service leads to the Prometheus. The API server reaches only what a pod stands for, so there is one with that address,
/// which nobody schedules.
fn serve(fleet: &Fleet<'_>, address: Ipv4Addr) -> Result<()> {
    fleet.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}))?;
    fleet.apply(&json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "prometheus", "namespace": "monitoring"},
        "spec": {"ports": [{"port": prometheus::PORT}]},
    }))?;
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "prometheus", "namespace": "monitoring"},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "prometheus", "image": "prometheus"}]},
    });
    fleet.eventually("a service account for the pod", || fleet.apply(&pod))?;
    let address = address.to_string();
    let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}}).to_string();
    let patch =
        ["patch", "pod", "prometheus", "-n", "monitoring", "--subresource=status", "--type=merge", "-p"];
    fleet.world().kubectl(patch.into_iter().chain([&*status]))?;
    let pod = json!({"kind": "Pod", "name": "prometheus", "namespace": "monitoring"});
    fleet.apply(&json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "prometheus", "namespace": "monitoring"},
        "subsets": [{
            "addresses": [{"ip": address, "targetRef": pod}],
            "ports": [{"port": prometheus::PORT}],
        }],
    }))
}

/// Each batch is watched for this long; a gate asks this, and starts pods.
fn strategy(bake: &str, on_failure: &str, expression: &str) -> Value {
    json!({
        "batches": [1],
        "firstBakeTime": bake,
        "bakeTime": "5s",
        "onFailure": on_failure,
        "query": {
            "namespace": "monitoring",
            "service": "prometheus",
            "port": prometheus::PORT,
            "expression": expression,
        },
        "probePod": {"image": oci::webd_name(WORKLOAD_VERSION), "machines": 2, "within": "30s"},
    })
}

/// A release of the same kubelet, as a version of its own.
fn want(fleet: &Fleet<'_>, nodes: &mut Nodes, version: &str, strategy: Value) -> Result<()> {
    let kubelet = Component::read("kubelet")?.at(OLD).served_by(fleet.world().artefacts())?.at(version);
    nodes.set(fleet, "strategy", strategy)?;
    fleet.apply(kubelet.object())?;
    nodes.want_all(fleet, &[kubelet])
}

/// What the defaults tell.
fn told(fleet: &Fleet<'_>) -> Result<Value> {
    let object = fleet.get("clusterpackageversion", "default")?;
    let conditions = object["status"]["conditions"].as_array().context("no conditions")?;
    conditions.iter().find(|told| told["type"] == "Progressing").cloned().context("nothing is told")
}

/// Waits until the defaults tell this reason, with these words.
fn tells(fleet: &Fleet<'_>, reason: &str, words: &[&str]) -> Result<()> {
    fleet.eventually(&format!("{reason} with {words:?}"), || {
        let told = told(fleet)?;
        let message = told["message"].as_str().unwrap_or_default();
        ensure!(told["reason"] == reason && words.iter().all(|word| message.contains(word)), "{told}");
        Ok(())
    })?;
    fleet.note(&told(fleet)?.to_string())
}

fn rights_are_missing(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    want(fleet, nodes, "1.36.3-1", strategy("5s", "Pause", QUIET))?;
    tells(fleet, "GateInconclusive", &["the query was not answered", "forbidden"])?;
    grant(fleet, "monitoring", (&[""], "services/proxy", Some("http:prometheus:9090")), &["get"])?;
    tells(fleet, "GateInconclusive", &["the probe pods tell nothing", "forbidden"])?;
    ensure!(nodes::with(fleet, "kubelet", "1.36.3-1")?.len() == 1, "others were changed without an answer");
    grant(fleet, "seaworthy-system", (&["batch"], "jobs", None), &["create", "list"])?;
    fleet.rollout_completes()?;
    let jobs = jobs(world)?;
    let nodes: Vec<&str> =
        jobs.iter().filter_map(|job| job["spec"]["template"]["spec"]["nodeName"].as_str()).collect();
    ensure!(nodes.len() == 3, "one, and then two probe pods were to start: {nodes:?}");
    fleet.note(&format!("probe pods: {nodes:?}"))
}

/// The Jobs of the probe pods.
fn jobs(world: &World) -> Result<Vec<Value>> {
    let text =
        world.kubectl(["get", "jobs", "-n", "seaworthy-system", "-l", "seaworthy.dev/gate", "-o", "json"])?;
    let list: Value = serde_json::from_str(&text)?;
    list["items"].as_array().cloned().context("a list has items")
}

/// Gives the operator a right, as the chart does.
fn grant(
    fleet: &Fleet<'_>,
    namespace: &str,
    (groups, resource, name): (&[&str], &str, Option<&str>),
    verbs: &[&str],
) -> Result<()> {
    let mut rule = json!({"apiGroups": groups, "resources": [resource], "verbs": verbs});
    if let Some(name) = name {
        rule["resourceNames"] = json!([name]);
    }
    let metadata = json!({"name": "gates", "namespace": namespace});
    let api_version = "rbac.authorization.k8s.io/v1";
    fleet
        .apply(&json!({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": [rule]}))?;
    fleet.apply(&json!({
        "apiVersion": api_version,
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gates"},
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": "seaworthy-system"}],
    }))
}

fn no_pod_starts(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    want(fleet, nodes, "1.36.3-2", strategy("20s", "Pause", QUIET))?;
    tells(fleet, "Baking", &[])?;
    let changed = nodes::with(fleet, "kubelet", "1.36.3-2")?;
    let first = world.host(changed.first().context("nobody was changed")?)?;
    // Each pod needs it, and there is no registry. What runs goes on running, and the Node stays ready.
    first.sh(&format!("ctr --namespace k8s.io images rm --sync {}", oci::PAUSE))?;
    tells(fleet, "GateFailed", &["0 went down", "of 1 probe pods 1 did not start"])?;
    nodes::is_ready(world, first)?;
    ensure!(nodes::with(fleet, "kubelet", "1.36.3-2")?.len() == 1, "others were changed");
    let told = fleet.seaworthy(&["rollout", "status"], 1)?;
    ensure!(told.contains("1 did not start"), "{told}");
    oci::pause(world.run())?.load_on(first)?;
    fleet.seaworthy(&["rollout", "resume"], 0)?;
    fleet.rollout_completes()
}

fn the_query_finds_something(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    want(fleet, nodes, "1.36.3-3", strategy("5s", "RollBack", "up{job=\"seaworthy\"} == 1 # it runs"))?;
    tells(fleet, "RolledBack", &["the query found 1 series"])?;
    fleet.eventually("the kubelet of before everywhere", || {
        let with = nodes::with(fleet, "kubelet", "1.36.3-2")?;
        ensure!(with.len() == 3, "only {with:?} have it");
        Ok(())
    })
}
