//! The parts of a node, without the operator: kubelet, containerd and CNI on real hosts, under a real control plane.

mod by_hand;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Bare, Component, Host, PATIENCE, Purpose, WORKLOAD_VERSION, Workload, World, components, eventually, oci,
    scenario_for,
};
use serde_json::Value;

#[test]
fn hosts_become_nodes_whose_pods_answer_come_back_after_a_power_cut_and_leave_nothing() -> Result<()> {
    scenario_for(Purpose::Nodes, 2, |world| {
        nobody_approves(world)?;
        let rbac = components::folder().join("rbac.yaml");
        world.kubectl(["apply", "-f", rbac.to_str().context("path")?])?;
        let bare = Bare::look(world, world.host("host-1")?)?;
        for host in world.hosts() {
            let start = Instant::now();
            join(world, host)?;
            eprintln!("{}: Node Ready {:.1?} after the first file", host.name(), start.elapsed());
        }
        let start = Instant::now();
        let workload = Workload::start(world, 2)?;
        workload.answers_everywhere(world)?;
        eprintln!("pods of both hosts and their Service answer {:.1?} after kubectl apply", start.elapsed());
        let pods = world.kubectl(["logs", "deployment/web"])?;
        ensure!(pods.contains("webd 1.0.0 listens"), "{pods}");

        let host = world.host("host-1")?;
        let pod = host.sh("pgrep --exact webd")?;
        host.sh("systemctl restart containerd.service kubelet.service kube-proxy.service")?;
        ensure!(host.sh("pgrep --exact webd")? == pod, "a restart of the daemons must not touch pods");
        workload.answers_everywhere(world)?;

        host.power_off()?;
        host.power_on()?;
        let start = Instant::now();
        eventually("pods after the power cut", PATIENCE, || workload.answers_everywhere(world))?;
        eprintln!("everything answers {:.1?} after the boot of host-1", start.elapsed());

        leave(host)?;
        bare.is_again(host, &[])
    })
}

/// Takes everything from a host, with pods on it.
fn leave(host: &Host) -> Result<()> {
    let start = Instant::now();
    for name in components::OF_A_NODE.iter().rev() {
        by_hand::remove(host, &Component::read(name)?).with_context(|| (*name).to_owned())?;
    }
    eprintln!("{}: bare again after {:.1?}", host.name(), start.elapsed());
    Ok(())
}

/// The control plane signs what was approved, and nobody but us approves anything.
fn nobody_approves(world: &World) -> Result<()> {
    let bindings: Value =
        serde_json::from_str(&world.kubectl(["get", "clusterrolebindings", "-o", "json"])?)?;
    for binding in bindings["items"].as_array().context("no list")? {
        let role = binding["roleRef"]["name"].as_str().unwrap_or_default();
        let approves = role.ends_with(":nodeclient") || role.ends_with(":selfnodeclient");
        ensure!(!approves, "{} lets somebody have certificates approved", binding["metadata"]["name"]);
    }
    Ok(())
}

/// Installs everything on a host and waits until its Node is Ready.
fn join(world: &World, host: &Host) -> Result<()> {
    let parameters = components::parameters(world)?;
    for name in components::OF_A_NODE {
        if name == "kubelet" {
            for image in [oci::pause(world.run())?, oci::webd(world.run(), WORKLOAD_VERSION)?] {
                eventually("containerd", PATIENCE, || image.load_on(host))?;
            }
            by_hand::give_identity(world, host)?;
        }
        let component = Component::read(name)?.served_by(world.artefacts())?;
        by_hand::install(world, host, &component, &parameters).with_context(|| name.to_owned())?;
    }
    by_hand::approve_serving(world, host)?;
    eventually(format!("Node {}", host.name()), PATIENCE, || {
        let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")]}"#;
        let ready = world.kubectl(["get", "node", host.name(), "-o", ready])?;
        ensure!(ready.contains(r#""status":"True""#), "{ready}\n{}", failures(host));
        Ok(())
    })
}

/// What the units of a host have to say.
fn failures(host: &Host) -> String {
    let units = "node-prerequisites containerd cni-plugins kubelet kube-proxy";
    host.sh(&format!("systemctl status --lines=5 --no-pager {units} || true")).unwrap_or_default()
}
