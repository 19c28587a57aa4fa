//! Nodes are drained before changes that their pods would not survive. A PodDisruptionBudget is respected, and named in the status.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::drains::{is_cordoned, takes_pods};
use seaworthy_e2e::{
    Component, Fleet, Host, Nodes, Purpose, WORKLOAD_VERSION, Workload, eventually, oci, scenario_for,
};
use seaworthy_e2e::{PATIENCE, World};
use serde_json::{Value, json};

/// The host with the pod that must not go.
const HELD: &str = "host-2";

/// What the pod and its budget are called.
const PRECIOUS: &str = "precious";

#[test]
fn a_drain_waits_for_a_budget_that_allows_nothing_and_says_so_while_others_go_on() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes =
            fleet.scene("three nodes", |fleet| Nodes::join(fleet, &[("kubelet", "1.36.1")], "24h"))?;
        nodes.set(&fleet, "maxUnavailable", json!(2))?;
        let workload = Workload::start(world, 3)?;
        workload.answers_everywhere(world)?;
        precious(world)?;
        // What a person has cordoned stays cordoned, unless a person takes that back.
        world.kubectl(["cordon", HELD])?;
        fleet.scene("an upgrade that drains, and a budget that allows nothing", |fleet| {
            waits(fleet, &mut nodes)
        })?;
        fleet.scene("a person takes a cordon back while nobody leads", uncordoned)?;
        fleet.scene("the budget is lifted", |fleet| lifted(fleet, &nodes))?;
        world.kubectl(["rollout", "status", "deployment/web", "--timeout=120s"])?;
        workload.answers_everywhere(world)?;
        fleet.scene("settings that need a reboot", |fleet| rebooted(fleet, &mut nodes))?;
        workload.answers_everywhere(world)?;
        fleet.scene("labels and taints of a node", |fleet| labelled(fleet))?;
        fleet.stop_operator()
    })
}

/// A Deployment whose one pod runs on one host, and a budget that lets nobody evict it.
fn precious(world: &World) -> Result<()> {
    let labels = json!({"app": PRECIOUS});
    let container =
        json!({"name": "web", "image": oci::webd_name(WORKLOAD_VERSION), "imagePullPolicy": "Never"});
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": PRECIOUS},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeSelector": {"kubernetes.io/hostname": HELD}, "containers": [container]},
            },
        },
    });
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": PRECIOUS},
        "spec": {"selector": {"matchLabels": labels}, "maxUnavailable": 0},
    });
    world.control_plane().apply(&format!("{deployment}\n---\n{budget}"))?;
    let status = format!("deployment/{PRECIOUS}");
    world.kubectl(["rollout", "status", &status, "--timeout=120s"])?;
    // Before its controller has counted its pods, every eviction is refused, whatever it says.
    eventually("the budgets", PATIENCE, || {
        let observed = "jsonpath={.items[*].status.expectedPods}";
        let counts = world.kubectl(["get", "poddisruptionbudgets", "-o", observed])?;
        let mut counts = counts.split(' ').collect::<Vec<_>>();
        counts.sort_unstable();
        ensure!(counts == ["1", "3"], "{counts:?}");
        Ok(())
    })
}

/// The held machine says what it waits for, and the others are upgraded meanwhile.
fn waits(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let (world, start) = (fleet.world(), Instant::now());
    let kubelet = Component::read("kubelet")?.at("1.36.3").with("disruption", json!("Drain"));
    nodes.want_component(fleet, kubelet)?;
    for host in world.hosts().filter(|host| host.name() != HELD) {
        nodes.is_in_order(fleet, host)?;
        fleet.note(&format!("{}: drained, upgraded and Ready after {:.1?}", host.name(), start.elapsed()))?;
        takes_pods(fleet, host.name())?;
    }
    let words = fleet.await_condition(("machine", HELD), ["Ready", "False", "DisruptionBudget"])?;
    fleet.note(&format!("{HELD}: {words}"))?;
    ensure!(words.contains(&format!("budget {PRECIOUS}")), "it does not name the budget: {words}");
    ensure!(words.contains(&format!("pod default/{PRECIOUS}-")), "it does not name the pod: {words}");
    fleet.eventually("the reason in the table", || {
        let table = world.kubectl(["get", "machine", HELD])?;
        ensure!(table.contains("DisruptionBudget"), "{table}");
        Ok(())
    })?;
    ensure!(is_cordoned(fleet, HELD)?, "{HELD} takes pods while it is drained");
    let pods = pods_on(world, HELD)?;
    ensure!(pods.iter().any(|pod| pod.starts_with(PRECIOUS)), "the pod was lost: {pods:?}");
    Ok(())
}

/// The next operator finds a mark that says that a person had cordoned the Node before the drain. That is over.
fn uncordoned(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    ensure!(fleet.get("node", HELD)?["spec"]["unschedulable"] == json!(true));
    fleet.kill_operator()?;
    world.kubectl(["uncordon", HELD])?;
    fleet.start_operator()?;
    fleet.wait_until_ready()?;
    fleet.eventually("the drain to go on", || {
        ensure!(fleet.get("node", HELD)?["spec"]["unschedulable"] == json!(true), "{HELD} takes pods");
        Ok(())
    })?;
    fleet.await_condition(("machine", HELD), ["Ready", "False", "DisruptionBudget"]).map(drop)
}

fn lifted(fleet: &Fleet<'_>, nodes: &Nodes) -> Result<()> {
    let (world, start) = (fleet.world(), Instant::now());
    world.kubectl(["delete", "poddisruptionbudget", PRECIOUS])?;
    nodes.are_in_order(fleet)?;
    takes_pods(fleet, HELD)?;
    fleet.note(&format!(
        "{HELD}: drained, upgraded and Ready {:.1?} after the budget was lifted",
        start.elapsed()
    ))?;
    let status = format!("deployment/{PRECIOUS}");
    world.kubectl(["rollout", "status", &status, "--timeout=120s"]).map(drop)
}

/// Every node is drained and rebooted once, and takes pods again.
fn rebooted(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let (world, start) = (fleet.world(), Instant::now());
    let boots = || world.hosts().map(Host::boot_id).collect::<Result<Vec<_>>>();
    let before = boots()?;
    let settings = Component::read("node-prerequisites")?.at("1.0.1").with("disruption", json!("Reboot"));
    nodes.want_component(fleet, settings)?;
    nodes.are_in_order(fleet)?;
    for ((host, before), after) in world.hosts().zip(before).zip(boots()?) {
        ensure!(before != after, "{} was not started anew", host.name());
        takes_pods(fleet, host.name())?;
        let last = host.operations()?.pop().context("no operation")?;
        ensure!(last.has_succeeded() && last.count("rebooted") == 1, "{}", last.summary());
    }
    fleet.note(&format!("all drained, rebooted and Ready after {:.1?}", start.elapsed()))
}

/// What a Machine says of its Node is kept there, and what others have put there stays.
fn labelled(fleet: &Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    let want = |spec: Value| {
        let patch = json!({ "spec": spec }).to_string();
        world.kubectl(["patch", "machine", HELD, "--type=merge", "--patch", &patch])
    };
    let has = |what: &str, label: &Value, is_tainted: bool| {
        fleet.eventually(what, || {
            let node = fleet.get("node", HELD)?;
            let labels = &node["metadata"]["labels"];
            let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
            ensure!(&labels["tier"] == label && labels["owner"] == "somebody", "{labels}");
            ensure!(taints.any(|taint| taint["key"] == "dedicated") == is_tainted, "{}", node["spec"]);
            Ok(())
        })
    };
    world.kubectl(["label", "node", HELD, "owner=somebody"])?;
    let taint = json!({"key": "dedicated", "value": "web", "effect": "PreferNoSchedule"});
    want(json!({"nodeLabels": {"tier": "front"}, "nodeTaints": [taint]}))?;
    has("what the Machine says", &json!("front"), true)?;
    world.kubectl(["label", "node", HELD, "tier-"])?;
    has("what somebody took away", &json!("front"), true)?;
    want(json!({"nodeLabels": null, "nodeTaints": null}))?;
    has("nothing of the Machine's", &Value::Null, false)
}

fn pods_on(world: &World, node: &str) -> Result<Vec<String>> {
    let selector = format!("spec.nodeName={node},status.phase=Running");
    let names = "jsonpath={.items[*].metadata.name}";
    let names = world.kubectl(["get", "pods", "--field-selector", &selector, "-o", names])?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
