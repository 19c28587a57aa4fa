//! Bare hosts become Ready nodes with one `kubectl apply`. One of them becomes bare, and joins again.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::drains::drains;
use seaworthy_e2e::{
    Bare, Component, Fleet, Host, Nodes, PATIENCE, Purpose, Workload, eventually, nodes, scenario_for,
};
use serde_json::json;

/// What stays on a host that was released: the program's own folder, with what it remembers of its orders.
const REMEMBERED: [&str; 1] = ["file /opt/seaworthy"];

#[test]
fn bare_hosts_become_ready_nodes_and_one_becomes_bare_again() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let bare = Bare::look(world, world.host("host-3")?)?;
        let mut fleet = Fleet::start(world)?;
        // So that the second operator looks at every host soon.
        let mut nodes = fleet.scene("kubectl apply of components, defaults and three Machines", |fleet| {
            Nodes::join(fleet, &[("kubelet", "1.36.1")], "10s")
        })?;
        let start = Instant::now();
        let workload = Workload::start(world, 3)?;
        workload.answers_everywhere(world)?;
        fleet.note(&format!(
            "three pods and their Service answer {:.1?} after kubectl apply",
            start.elapsed()
        ))?;
        let logs = world.kubectl(["logs", "deployment/web"])?;
        ensure!(logs.contains("webd 1.0.0 listens"), "{logs}");

        fleet.scene("a second operator looks at the installed hosts", |fleet| {
            second_operator(fleet, &nodes)
        })?;
        workload.answers_everywhere(world)?;
        fleet.scene("kubectl delete machine host-3", |fleet| leave(fleet, &bare))?;
        fleet.scene("host-3 joins again, and the next version comes before its Node", |fleet| {
            overtaken(fleet, &mut nodes)
        })?;
        fleet.stop_operator()
    })
}

fn second_operator(fleet: &mut Fleet<'_>, nodes: &Nodes) -> Result<()> {
    let before = nodes::starts(fleet.world())?;
    let epochs = fleet.world().hosts().map(Host::epoch).collect::<Result<Vec<_>>>()?;
    fleet.stop_operator()?;
    fleet.start_operator()?;
    fleet.wait_until_ready()?;
    for (host, epoch) in fleet.world().hosts().zip(epochs) {
        eventually(format!("a look at {}", host.name()), PATIENCE, || {
            let now = host.epoch()?;
            ensure!(now > epoch, "still epoch {now}");
            Ok(())
        })?;
        nodes.is_in_order(fleet, host)?;
    }
    let after = nodes::starts(fleet.world())?;
    ensure!(before == after, "something was restarted, or ordered: {before:#?} {after:#?}");
    Ok(())
}

fn leave(fleet: &mut Fleet<'_>, bare: &Bare) -> Result<()> {
    let (world, start) = (fleet.world(), Instant::now());
    let untouched = nodes::starts(world)?;
    world.kubectl(["delete", "machine", "host-3", "--timeout=240s"])?;
    fleet.note(&format!("host-3: drained and released {:.1?} after kubectl delete", start.elapsed()))?;
    let left = world.kubectl(["get", "nodes", "-o", "name"])?;
    ensure!(left == "node/host-1\nnode/host-2\n", "{left}");
    let calls = fs::read_to_string(world.run().log("audit"))?;
    ensure!(calls.contains("/eviction"), "no pod was evicted");
    world.kubectl(["rollout", "status", "deployment/web", "--timeout=120s"])?;
    let on = "jsonpath={range .items[*]}{.spec.nodeName} {.status.phase}{\"\\n\"}{end}";
    let elsewhere = |pod: &str| pod == "host-1 Running" || pod == "host-2 Running";
    fleet.eventually("three pods elsewhere", || {
        let pods = world.kubectl(["get", "pods", "-l", "app=web", "-o", on])?;
        ensure!(pods.lines().count() == 3 && pods.lines().all(elsewhere), "{pods}");
        Ok(())
    })?;
    bare.is_again(world.host("host-3")?, &REMEMBERED)?;
    let now = nodes::starts(world)?;
    for host in ["host-1", "host-2"] {
        ensure!(untouched.get(host) == now.get(host), "{host} was touched: {untouched:#?} {now:#?}");
        nodes::is_ready(world, world.host(host)?)?;
    }
    Ok(())
}

/// That no Node was seen does not mean that there is nothing to drain: a kubelet that was just installed makes one soon.
fn overtaken(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    const INSTALLED: &str =
        "timeout 120 sh -c 'until test -L /opt/seaworthy/current/kubelet; do sleep 0.02; done'";
    let (world, host) = (fleet.world(), fleet.world().host("host-3")?);
    let known = host.operations()?.len();
    let next = Component::read("kubelet")?.at("1.36.3").with("disruption", json!("Drain"));
    // Now, so that nothing is left to do but to want it.
    fleet.apply(next.clone().served_by(world.artefacts())?.object())?;
    fleet.apply(&nodes::machine(host))?;
    host.sh(INSTALLED)?;
    let has_node = || world.kubectl(["get", "node", host.name(), "--ignore-not-found", "-o", "name"]);
    let before = has_node()?;
    nodes.want_component(fleet, next)?;
    let seen = [before, has_node()?].map(|node| if node.is_empty() { "no Node" } else { "a Node" });
    fleet.note(&format!("{} before the next version was wanted, {} after", seen[0], seen[1]))?;
    nodes::load_images(host, &nodes::images(world)?)?;
    nodes.are_in_order(fleet)?;
    let upgrade = host.operations()?.split_off(known).pop().context("host-3 has done nothing")?;
    fleet.note(&format!("the upgrade: {}", upgrade.summary()))?;
    let begun = upgrade.accepted()?;
    let drains = drains(world, host.name())?;
    let last = drains.iter().rfind(|drain| drain.cordoned <= begun);
    let last = last.with_context(|| format!("changed at {begun} ms, but drained as {drains:?} only"))?;
    fleet.note(&format!("host-3 was cordoned {} ms before the upgrade began", begun - last.cordoned))
}
