//! Sets of machines and disruption policies on real hosts: who gets which version, and the kill switch.

use anyhow::{Result, ensure};
use seaworthy_e2e::{Fleet, Health, scenario};
use serde_json::json;

const BOTH: [&str; 2] = ["host-1", "host-2"];

#[test]
fn a_set_moves_its_machines_and_the_kill_switch_stops_everybody() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "1.1.0", "1.2.0"]
            .into_iter()
            .try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 2)?;
        fleet.settles(&BOTH, "1.0.0", "ahoy")?;
        fleet.rollout_completes()?;
        fleet.scene("a set gives the machines of a pool a version of their own", set)?;
        fleet.scene("the kill switch: nothing starts, until it is released", kill_switch)?;
        fleet.scene("the set is deleted: its machine follows the defaults", delete)?;
        fleet.stop_operator()
    })
}

fn set(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.world().kubectl(["label", "machine", "host-1", "pool=blue"])?;
    fleet.apply(&json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "MachineComponentSet",
        "metadata": {"name": "blue"},
        "spec": {
            "selector": {"matchLabels": {"pool": "blue"}},
            "components": [{"name": "webd", "version": "1.1.0", "parameters": {"greeting": "blue"}}],
            "strategy": {"batches": [1], "firstBakeTime": "1s", "bakeTime": "1s"},
        },
    }))?;
    fleet.settles(&["host-1"], "1.1.0", "blue")?;
    fleet.note(&fleet.world().kubectl([
        "wait",
        "mcs/blue",
        "--for=condition=Complete",
        "--timeout=60s",
    ])?)?;
    fleet.note(&fleet.world().kubectl(["get", "mcs", "-o", "wide"])?)?;
    fleet.settles(&["host-2"], "1.0.0", "ahoy")?;
    let set = fleet.get("machinecomponentset", "blue")?;
    let rollout = &set["status"]["rollouts"][0];
    ensure!(rollout["total"] == 1 && rollout["updated"] == 1, "{rollout:#}");
    ensure!(rollout["from"]["version"] == "1.0.0", "what the defaults had given it: {rollout:#}");
    Ok(())
}

fn kill_switch(fleet: &mut Fleet<'_>) -> Result<()> {
    let policy = |paused: bool| {
        json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "DisruptionPolicy",
            "metadata": {"name": "stop"},
            "spec": {"paused": paused},
        })
    };
    fleet.apply(&policy(true))?;
    fleet.set_default("1.2.0", "ahoy", 2)?;
    let of_fleet = ("clusterpackageversion", "default");
    let message = fleet.await_condition(of_fleet, ["Progressing", "False", "PolicyPaused"])?;
    fleet.note(&message)?;
    fleet.await_condition(("machinecomponentset", "blue"), ["Progressing", "False", "PolicyPaused"])?;
    fleet.note(&fleet.world().kubectl(["get", "dp"])?)?;
    ensure!(fleet.webd("host-2")?.version == "1.0.0", "it was changed although everything is paused");
    fleet.apply(&policy(false))?;
    fleet.settles(&["host-2"], "1.2.0", "ahoy")?;
    fleet.settles(&["host-1"], "1.1.0", "blue")
}

fn delete(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.world().kubectl(["delete", "mcs", "blue", "--timeout=60s"])?;
    fleet.settles(&BOTH, "1.2.0", "ahoy")?;
    fleet.rollout_completes()
}
