//! Real nodes with pods are upgraded and rolled back: kubelet over a minor and over a patch version, and containerd.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Clients, Fleet, Host, Nodes, Operation, Purpose, Workload, journals, one_at_a_time, scenario_for, since,
};
use serde_json::json;

/// What is changed in turn, to which version.
const STEPS: [(&str, &str, &str); 5] = [
    ("containerd", "2.4.2", "containerd 2.4.1 -> 2.4.2"),
    ("kubelet", "1.36.3", "kubelet 1.35.4 -> 1.36.3"),
    ("kubelet", "1.36.1", "roll back: kubelet 1.36.3 -> 1.36.1"),
    ("kubelet", "1.36.3", "kubelet 1.36.1 -> 1.36.3"),
    ("containerd", "2.4.1", "roll back: containerd 2.4.2 -> 2.4.1"),
];

#[test]
fn nodes_are_upgraded_and_rolled_back_one_at_a_time_and_no_pod_notices() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("three nodes with kubelet 1.35.4 and containerd 2.4.1", |fleet| {
            Nodes::join(fleet, &[("kubelet", "1.35.4"), ("containerd", "2.4.1")], "24h")
        })?;
        nodes.set(&fleet, "maxUnavailable", json!(1))?;
        nodes.set(&fleet, "maxFailures", json!(1))?;
        let workload = Workload::start(world, 3)?;
        workload.answers_everywhere(world)?;
        let mut clients = Clients::start(world, workload.service(), 80, "/version")?;
        for (component, version, title) in STEPS {
            fleet.scene(title, |fleet| step(fleet, &mut nodes, (component, version), &workload))?;
            let tally = clients.tally()?;
            ensure!(tally.failures.is_empty(), "{title}: {:#?}", tally.failures);
        }
        let tally = clients.tally()?;
        fleet.note(&format!("{} requests, {} failures", tally.answered, tally.failures.len()))?;
        workload.answers_everywhere(world)?;
        fleet.stop_operator()
    })
}

/// Asks for another version, waits for the end of the rollout, and looks at what it did.
fn step(
    fleet: &Fleet<'_>,
    nodes: &mut Nodes,
    (component, version): (&'static str, &str),
    workload: &Workload,
) -> Result<()> {
    let world = fleet.world();
    let (before, lives) = (journals(world)?, workload.lives(world)?);
    let start = Instant::now();
    nodes.want(fleet, component, version)?;
    nodes.are_in_order(fleet)?;
    let took = start.elapsed();
    for host in world.hosts() {
        reports(fleet, nodes, component, host)?;
    }
    let lives_now = workload.lives(world)?;
    ensure!(lives == lives_now, "containers were started anew:\n{lives}{lives_now}");
    let news = since(&before, journals(world)?);
    for (host, operations) in &news {
        let summary = operations.iter().map(Operation::summary).collect::<Vec<_>>();
        let is_one = operations.len() == 1 && operations.iter().all(Operation::has_succeeded);
        ensure!(is_one && operations[0].count("swapped") == 1, "{host}: {summary:#?}");
        let (end, _) = operations[0].end().context("it has not ended")?;
        let millis = end - operations[0].accepted()?;
        fleet.note(&format!("{host}: {component} changed in {:.1} s", millis as f64 / 1000.0))?;
    }
    one_at_a_time(&news)?;
    fleet.note(&format!("three nodes have {component} {} after {took:.1?}", nodes.version(component)))
}

/// Waits until the part itself tells the version: the Node that of kubelet, the daemon its own. (kubelet asks it once a
/// minute.)
fn reports(fleet: &Fleet<'_>, nodes: &Nodes, component: &str, host: &Host) -> Result<()> {
    let version = nodes.version(component);
    if component == "containerd" {
        let told = host.sh("ctr version")?;
        let both = told.lines().filter(|line| line.trim().starts_with("Version:") && line.ends_with(version));
        ensure!(both.count() == 2, "client and daemon on {}: {told}", host.name());
        return Ok(());
    }
    fleet.eventually(&format!("the version of kubelet on {}", host.name()), || {
        let node = fleet.get("node", host.name())?;
        let told = &node["status"]["nodeInfo"]["kubeletVersion"];
        ensure!(*told == format!("v{version}"), "{told}, not v{version}");
        Ok(())
    })
}
