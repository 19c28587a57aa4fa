//! The operator as people run it: its image, and the manifests of `deploy/operator` as they are. It upgrades the nodes that it
//! runs on itself, and is then rolled to its next build.

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Component, Fleet, Nodes, PATIENCE, Purpose, World, eventually, nodes, oci, scenario_for,
};
use serde_json::json;

const NAMESPACE: &str = "--namespace=seaworthy-system";

#[test]
fn the_deployment_upgrades_the_nodes_that_it_runs_on() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes =
            fleet.scene("three nodes", |fleet| Nodes::join(fleet, &[("kubelet", "1.36.1")], "10s"))?;
        let image = oci::operator()?;
        world.hosts().try_for_each(|host| image.load_on(host))?;
        fleet.scene("kubectl apply -f deploy/operator", |fleet| {
            let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator");
            let said = world.kubectl(["apply", "-f", manifests])?;
            fleet.note(&said)?;
            rolled_out(world)
        })?;
        fleet.scene("the operator outside ends, and a pod leads", |fleet| {
            fleet.stop_operator()?;
            leads(world, fleet).map(drop)
        })?;
        fleet.scene("every node is drained and upgraded, also the leader's own", |fleet| {
            let before = leads(world, fleet)?;
            let next = Component::read("kubelet")?.at("1.36.3").with("disruption", json!("Drain"));
            nodes.want_component(fleet, next)?;
            nodes.are_in_order(fleet)?;
            ensure!(pods(world)?.iter().all(|pod| *pod != before), "{before} was not evicted");
            rolled_out(world)?;
            leads(world, fleet).map(drop)
        })?;
        fleet.scene("the operator is rolled to its next build", |fleet| {
            let tagged = world.hosts().map(|host| image.tag_on(host, "next")).collect::<Result<Vec<_>>>()?;
            let tagged = tagged.first().context("there are hosts")?;
            let image = format!("operator={tagged}");
            world.kubectl(["set", "image", "deployment/seaworthy-operator", &image, NAMESPACE])?;
            rolled_out(world)?;
            leads(world, fleet)?;
            let untouched = nodes::starts(world)?;
            nodes.are_in_order(fleet)?;
            ensure!(untouched == nodes::starts(world)?, "the next build changed something");
            Ok(())
        })
    })
}

fn rolled_out(world: &World) -> Result<()> {
    let rollout = ["rollout", "status", "deployment/seaworthy-operator", "--timeout=240s", NAMESPACE];
    world.kubectl(rollout).map(drop)
}

fn pods(world: &World) -> Result<Vec<String>> {
    let names = "jsonpath={.items[*].metadata.name}";
    let pods = world.kubectl(["get", "pods", "-o", names, NAMESPACE])?;
    Ok(pods.split_whitespace().map(str::to_owned).collect())
}

/// Waits until one of the pods holds the Lease, and returns which.
fn leads(world: &World, fleet: &Fleet<'_>) -> Result<String> {
    let mut leader = String::new();
    eventually("a pod that leads", PATIENCE, || {
        let holder = "jsonpath={.spec.holderIdentity}";
        let lease = world.kubectl(["get", "lease", "seaworthy", "-o", holder, NAMESPACE])?;
        let pods = pods(world)?;
        let found = pods.iter().find(|pod| lease.starts_with(pod.as_str()));
        leader = found.with_context(|| format!("{lease} leads, and the pods are {pods:?}"))?.clone();
        Ok(())
    })?;
    fleet.note(&format!("{leader} leads"))?;
    Ok(leader)
}
