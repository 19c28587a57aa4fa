//! Bare hosts become Ready nodes with one `kubectl apply`, and one of them becomes bare again.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use seaworthy_e2e::{Bare, Fleet, Host, Nodes, PATIENCE, Purpose, Workload, eventually, nodes, scenario_for};

/// What stays on a host that was released: the program's own folder, with what it remembers of its orders.
const REMEMBERED: [&str; 1] = ["file /opt/seaworthy"];

#[test]
fn bare_hosts_become_ready_nodes_and_one_becomes_bare_again() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let bare = Bare::look(world, world.host("host-3")?)?;
        let mut fleet = Fleet::start(world)?;
        // So that the second operator looks at every host soon.
        let nodes = fleet.scene("kubectl apply of components, defaults and three Machines", |fleet| {
            Nodes::join(fleet, &[], "10s")
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
