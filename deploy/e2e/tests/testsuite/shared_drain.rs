//! Two components whose changes both need a drain: rolled out at the same time, they share it.

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::drains::{Drain, drains, evictions, takes_pods};
use seaworthy_e2e::{
    Component, Fleet, Host, Nodes, Operation, Purpose, WORKLOAD_VERSION, World, journals, oci, scenario_for,
    since,
};
use serde_json::json;

/// On every Node.
const PODS: usize = 2;

#[test]
fn two_rollouts_at_the_same_time_drain_each_node_once() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("three nodes with pods that go nowhere else", |fleet| {
            let nodes = Nodes::join(fleet, &[("kubelet", "1.36.1"), ("containerd", "2.4.1")], "24h")?;
            world.hosts().try_for_each(|host| run_pods_on(world, host))?;
            Ok(nodes)
        })?;
        nodes.set(&fleet, "maxUnavailable", json!(1))?;
        fleet.scene("both at the same time: each Node is drained once", |fleet| {
            let both = [draining(fleet, "kubelet", "1.36.3")?, draining(fleet, "containerd", "2.4.2")?];
            let before = Before::look(world)?;
            nodes.want_all(fleet, &both)?;
            nodes.are_in_order(fleet)?;
            before.drained_for(fleet, &[2])
        })?;
        // That the same changes cost more otherwise shows that they are counted.
        fleet.scene("back, one after the other: each Node is drained twice", |fleet| {
            let before = Before::look(world)?;
            for (component, version) in [("kubelet", "1.36.1"), ("containerd", "2.4.1")] {
                nodes.want(fleet, component, version)?;
                nodes.are_in_order(fleet)?;
                world.hosts().try_for_each(|host| pods_run_on(fleet, host))?;
            }
            before.drained_for(fleet, &[1, 1])
        })?;
        fleet.stop_operator()
    })
}

/// What had happened before on each host, so that what is new can be told.
struct Before {
    journals: seaworthy_e2e::Journals,
    /// How often the Node was drained, and how many of its pods were evicted.
    counts: Vec<(usize, usize)>,
}

impl Before {
    fn look(world: &World) -> Result<Self> {
        let counts = world
            .hosts()
            .map(|host| Ok((drains(world, host.name())?.len(), evictions(world, &pods_of(host))?)));
        Ok(Self { journals: journals(world)?, counts: counts.collect::<Result<_>>()? })
    }

    /// Checks that since then every Node was drained once for each of so many changes, and nothing was changed on a Node that took
    /// pods.
    fn drained_for(&self, fleet: &Fleet<'_>, changes: &[usize]) -> Result<()> {
        let world = fleet.world();
        for host in world.hosts() {
            takes_pods(fleet, host.name())?;
            pods_run_on(fleet, host)?;
        }
        let news = since(&self.journals, journals(world)?);
        for (host, (known, evicted)) in world.hosts().zip(&self.counts) {
            let name = host.name();
            let drains = drains(world, name)?.split_off(*known);
            let evicted = evictions(world, &pods_of(host))? - evicted;
            let operations = &news[name];
            let summary = operations.iter().map(Operation::summary).collect::<Vec<_>>();
            fleet.note(&format!("{name}: {drains:?}, {evicted} pods evicted, {summary:#?}"))?;
            ensure!(operations.iter().all(Operation::has_succeeded), "{name}: {summary:#?}");
            let during = drains.iter().map(|drain| changed_during(drain, operations));
            let during = during.collect::<Result<Vec<_>>>()?;
            ensure!(during == changes, "{name}: drained as {drains:?}, changes during each {during:?}");
            ensure!(operations.len() == changes.iter().sum::<usize>(), "{name}: {summary:#?}");
            ensure!(evicted == PODS * changes.len(), "{name}: {evicted} pods were evicted");
        }
        Ok(())
    }
}

/// How many changes of a host began and ended while its Node took no pods.
fn changed_during(drain: &Drain, operations: &[Operation]) -> Result<usize> {
    let until = drain.uncordoned.context("it takes no pods yet")?;
    let mut count = 0;
    for operation in operations {
        let (end, _) = operation.end().with_context(|| operation.summary())?;
        count += usize::from(drain.cordoned <= operation.accepted()? && end <= until);
    }
    Ok(count)
}

/// A version that pods do not survive.
fn draining(fleet: &Fleet<'_>, name: &str, version: &str) -> Result<Component> {
    let component = Component::read(name)?.at(version).with("disruption", json!("Drain"));
    component.served_by(fleet.world().artefacts())
}

/// How the names of a host's pods begin.
fn pods_of(host: &Host) -> String {
    format!("stays-on-{}-", host.name())
}

/// A Deployment whose pods run on this host or nowhere: each drain evicts them anew.
fn run_pods_on(world: &World, host: &Host) -> Result<()> {
    let name = format!("stays-on-{}", host.name());
    let labels = json!({"app": name});
    let container =
        json!({"name": "web", "image": oci::webd_name(WORKLOAD_VERSION), "imagePullPolicy": "Never"});
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeSelector": {"kubernetes.io/hostname": host.name()}, "containers": [container]},
            },
        },
    });
    world.control_plane().apply(&deployment.to_string())?;
    world.kubectl(["rollout", "status", &format!("deployment/{name}"), "--timeout=120s"]).map(drop)
}

fn pods_run_on(fleet: &Fleet<'_>, host: &Host) -> Result<()> {
    let deployment = format!("deployment/stays-on-{}", host.name());
    fleet.world().kubectl(["rollout", "status", &deployment, "--timeout=120s"]).map(drop)
}
