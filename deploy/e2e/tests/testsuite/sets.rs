//! Sets of machines and disruption policies on real hosts: who gets which version, and the kill switch.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, Health, manifests, scenario};
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
        fleet.scene("a window closes in the middle of a rollout, and the next one opens", window)?;
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

/// The window ends so late that the first machine may begin, and so soon that the second one would overrun it once the first
/// one was watched.
fn window(fleet: &mut Fleet<'_>) -> Result<()> {
    // What an operation may take at most: the deadline of the order and that of the probe, and as long to restore the former
    // release.
    let version = fleet.get("machinecomponent", "webd-1.1.0")?;
    let probe = version["spec"]["probe"]["deadlineSeconds"].as_u64().context("no deadline")?;
    let longest = 2 * (seaworthy_e2e::APPLY_DEADLINE.as_secs() + probe);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let start = (now - 60) / 60 * 60;
    let policy = |until: u64| {
        json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "DisruptionPolicy",
            "metadata": {"name": "stop"},
            "spec": {"windows": [{
                "start": format!("{:02}:{:02}", start / 3600 % 24, start / 60 % 60),
                "duration": format!("{}s", until - start),
            }]},
        })
    };
    fleet.apply(&policy(now + longest + 20))?;
    let mut defaults = manifests::defaults(&[manifests::webd_setting("1.1.0", "ahoy")], 2);
    defaults["spec"]["strategy"] = json!({"batches": [1], "firstBakeTime": "30s", "bakeTime": "1s"});
    fleet.apply(&defaults)?;
    let message = fleet
        .await_condition(("clusterpackageversion", "default"), ["Progressing", "False", "OutsideWindow"])?;
    fleet.note(&message)?;
    let changed = || -> Result<usize> {
        let versions = BOTH.map(|host| fleet.webd(host));
        let versions = versions.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(versions.iter().filter(|webd| webd.version == "1.1.0").count())
    };
    ensure!(changed()? == 1, "{} were changed in the window", changed()?);
    fleet.apply(&policy(now + 8 * 3600))?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()
}
