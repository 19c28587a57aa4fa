//! Bare hosts become Ready nodes with one `kubectl apply`, and one of them becomes bare again.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use seaworthy_e2e::{
    Component, Fleet, Host, PATIENCE, Purpose, Traces, WORKLOAD_VERSION, Workload, World, components,
    eventually, find_condition, manifests, oci, scenario_for,
};

/// What stays on a host that was released: the program's own folder, with what it remembers of its orders.
const REMEMBERED: [&str; 1] = ["file /opt/seaworthy"];

const UNITS: [&str; 5] = ["node-prerequisites", "containerd", "cni-plugins", "kubelet", "kube-proxy"];

#[test]
fn bare_hosts_become_ready_nodes_and_one_becomes_bare_again() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let bare = Traces::of(world.host("host-3")?)?;
        let mut fleet = Fleet::start(world)?;
        fleet.scene("kubectl apply of components, defaults and three Machines", join)?;
        let start = Instant::now();
        let workload = Workload::start(world, 3)?;
        workload.answers_everywhere(world)?;
        fleet.note(&format!(
            "three pods and their Service answer {:.1?} after kubectl apply",
            start.elapsed()
        ))?;
        let logs = world.kubectl(["logs", "deployment/web"])?;
        ensure!(logs.contains("webd 1.0.0 listens"), "{logs}");

        fleet.scene("a second operator looks at the installed hosts", second_operator)?;
        workload.answers_everywhere(world)?;
        fleet.scene("kubectl delete machine host-3", |fleet| leave(fleet, &bare))?;
        fleet.stop_operator()
    })
}

fn join(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    let rbac = components::folder().join("rbac.yaml");
    world.kubectl(["apply", "-f", rbac.to_str().context("path")?])?;
    let mut defaults = components::defaults(world, 3)?;
    // So that the second operator looks at every host soon.
    defaults["spec"]["auditInterval"] = serde_json::json!("10s");
    let mut objects = vec![defaults];
    for name in components::OF_A_NODE {
        objects.push(Component::read(name)?.served_by(world.artefacts())?.object().clone());
    }
    for host in world.hosts() {
        let mut machine = manifests::machine(host.name(), host);
        machine["spec"]["parameters"] = serde_json::json!({"podCIDR": host.endpoint().pod_range()});
        objects.push(machine);
    }
    let images = [oci::pause(world.run())?, oci::webd(world.run(), WORKLOAD_VERSION)?];
    let objects = objects.iter().map(|object| format!("{object}\n---\n")).collect::<String>();
    let start = Instant::now();
    world.control_plane().apply(&objects)?;
    // There is no registry: each host gets its images as soon as it has a containerd.
    thread::scope(|scope| {
        let load = |host: &Host| {
            images
                .iter()
                .try_for_each(|image| eventually("a containerd", PATIENCE, || image.load_on(host)))
                .with_context(|| host.name().to_owned())
        };
        let loading = world.hosts().map(|host| scope.spawn(move || load(host))).collect::<Vec<_>>();
        for host in world.hosts() {
            is_ready(world, host)?;
            fleet.note(&format!(
                "{}: Node Ready {:.1?} after kubectl apply",
                host.name(),
                start.elapsed()
            ))?;
        }
        loading.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    world.hosts().try_for_each(|host| is_installed(fleet, host))?;
    fleet.note(&format!("three machines in order {:.1?} after kubectl apply", start.elapsed()))
}

fn is_ready(world: &World, host: &Host) -> Result<()> {
    eventually(format!("Node {}", host.name()), PATIENCE, || {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")]}"#;
        let ready = world.kubectl(["get", "node", host.name(), "-o", path])?;
        ensure!(ready.contains(r#""status":"True""#), "{ready}");
        Ok(())
    })
}

/// Waits until a Machine is Ready with every component in the version of the defaults.
fn is_installed(fleet: &Fleet<'_>, host: &Host) -> Result<()> {
    fleet.eventually(&format!("{} in order", host.name()), || {
        let machine = fleet.get("machine", host.name())?;
        let status = &machine["status"];
        let is_ready = find_condition(&machine, "Ready").is_some_and(|ready| ready["status"] == "True");
        let installed = status["installed"].as_str().unwrap_or_default();
        for name in components::OF_A_NODE {
            let wanted = format!("{name}={}", Component::read(name)?.version());
            ensure!(installed.contains(&wanted), "{wanted} is not among {installed}: {status}");
        }
        ensure!(is_ready, "{status}");
        Ok(())
    })
}

/// When each unit of each host started, and how often the host was ordered to do something.
fn starts(world: &World) -> Result<BTreeMap<String, (String, usize)>> {
    let units = UNITS.map(|unit| format!("{unit}.service")).join(" ");
    let show =
        format!("systemctl show --property=Id,ActiveEnterTimestampMonotonic,MainPID,NRestarts {units}");
    world
        .hosts()
        .map(|host| Ok((host.name().to_owned(), (host.sh(&show)?, host.operations()?.len()))))
        .collect()
}

fn second_operator(fleet: &mut Fleet<'_>) -> Result<()> {
    let before = starts(fleet.world())?;
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
        is_installed(fleet, host)?;
    }
    let after = starts(fleet.world())?;
    ensure!(before == after, "something was restarted, or ordered: {before:#?} {after:#?}");
    Ok(())
}

fn leave(fleet: &mut Fleet<'_>, bare: &Traces) -> Result<()> {
    let (world, start) = (fleet.world(), Instant::now());
    let untouched = starts(world)?;
    world.kubectl(["delete", "machine", "host-3", "--timeout=240s"])?;
    fleet.note(&format!("host-3: released {:.1?} after kubectl delete", start.elapsed()))?;
    let after = Traces::of(world.host("host-3")?)?.without(&REMEMBERED);
    ensure!(after.since(bare).is_empty(), "left behind on host-3: {:#?}", after.since(bare));
    let now = starts(world)?;
    for host in ["host-1", "host-2"] {
        ensure!(untouched.get(host) == now.get(host), "{host} was touched: {untouched:#?} {now:#?}");
        is_ready(world, world.host(host)?)?;
    }
    Ok(())
}
