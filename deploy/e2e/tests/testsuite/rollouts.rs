//! Rollouts with a strategy on real nodes: a gate that fails, people who go on in spite of it, and a release that is taken
//! back without them. People use `seaworthy` at a terminal.

use anyhow::{Context, Result, bail, ensure};
use seaworthy_e2e::{Component, Fleet, Host, Nodes, Purpose, nodes, scenario_for};
use serde_json::{Value, json};

/// The version that every node begins with, and a newer one.
const OLD: &str = "1.36.1";
const NEW: &str = "1.36.3";
/// The newer one under another name: a release that no node has had.
const NEXT: &str = "1.36.3-1";

#[test]
fn gates_stop_a_rollout_and_take_a_release_back() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("three nodes with kubelet 1.36.1", |fleet| {
            Nodes::join(fleet, &[("kubelet", OLD)], "24h")
        })?;
        nodes.set(&fleet, "maxUnavailable", json!(1))?;
        fleet.scene(
            "a node goes down after its upgrade: the gate fails, and nobody else is changed",
            |fleet| {
                nodes.set(fleet, "strategy", strategy("Pause"))?;
                let planned = planned(fleet, &nodes)?;
                nodes.want(fleet, "kubelet", NEW)?;
                let first = changed_first(fleet, &nodes)?;
                let is_first = planned.first().is_some_and(|batch| batch[..] == [first.name()]);
                ensure!(is_first && planned.iter().map(Vec::len).eq([1, 2]), "planned were {planned:?}");
                cut_off(first)?;
                stops_with(fleet, "GateFailed")?;
                let told = fleet.seaworthy(&["rollout", "status"], 1)?;
                ensure!(
                    told.contains("stopped by the gate after batch 1") && told.contains("kubelet/"),
                    "{told}"
                );
                ensure!(with(fleet, NEW)? == [first.name()], "another one was changed");
                let told = fleet.seaworthy(&["explain", &format!("machine/{}", first.name())], 0)?;
                ensure!(told.contains(&format!("kubelet {NEW}: it has it")), "{told}");
                reconnect(first)
            },
        )?;
        fleet.scene("people let the rollout go on", |fleet| {
            fleet.seaworthy(&["rollout", "resume"], 0)?;
            let told = fleet.seaworthy(&["rollout", "status", "--watch"], 0)?;
            ensure!(told.contains("AllUpdated"), "{told}");
            nodes.are_in_order(fleet)
        })?;
        fleet.scene("a node goes down after its upgrade: it gets back what it had", |fleet| {
            nodes.set(fleet, "strategy", strategy("RollBack"))?;
            let next = Component::read("kubelet")?.at(NEW).served_by(fleet.world().artefacts())?.at(NEXT);
            nodes.want_all(fleet, &[next])?;
            let first = changed_first(fleet, &nodes)?;
            cut_off(first)?;
            stops_with(fleet, "RolledBack")?;
            reconnect(first)?;
            fleet.eventually("the former kubelet everywhere", || {
                ensure!(with(fleet, NEW)?.len() == 3, "{:?}", with(fleet, NEW)?);
                Ok(())
            })?;
            fleet.seaworthy(&["rollout", "status"], 1).map(drop)
        })?;
        fleet.scene("people want what works again, and see what was", |fleet| {
            let told = fleet.seaworthy(&["rollout", "undo", "kubelet"], 0)?;
            ensure!(told.contains(&format!("kubelet goes back to {NEW}")), "{told}");
            fleet.rollout_completes()?;
            let told = fleet.seaworthy(&["rollout", "history", "kubelet"], 0)?;
            ensure!(told.contains("RolledBack") && told.contains("undo: kubelet"), "{told}");
            fleet.note(&told)
        })?;
        fleet.scene("a pause of everything", |fleet| {
            fleet.seaworthy(&["rollout", "pause"], 0)?;
            stops_with(fleet, "Paused")?;
            fleet.seaworthy(&["rollout", "resume"], 0)?;
            fleet.rollout_completes()
        })?;
        fleet.scene("one node tries a version, and all get it", |fleet| canary(fleet, &nodes))?;
        fleet.stop_operator()
    })
}

/// A canary is paused at first: it picks its node, and changes nothing. Then its node tries the older kubelet, and people
/// promote it.
fn canary(fleet: &Fleet<'_>, nodes: &Nodes) -> Result<()> {
    let settings = nodes.defaults()["spec"]["components"].as_array().context("no components")?;
    let kubelet = settings.iter().find(|setting| setting["name"] == "kubelet").cloned();
    let mut kubelet = kubelet.context("no kubelet")?;
    kubelet["version"] = json!(OLD);
    fleet.apply(&json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "CanaryRelease",
        "metadata": {"name": "first"},
        "spec": {
            "pick": {"count": 1},
            "paused": true,
            "components": [kubelet],
            "strategy": {"firstBakeTime": "10s", "bakeTime": "5s"},
        },
    }))?;
    fleet.await_condition(("canaryrelease", "first"), ["Progressing", "False", "Paused"])?;
    let picked = fleet.get("canaryrelease", "first")?["status"]["machines"].clone();
    let name = picked[0]["name"].as_str().context("nobody was picked")?.to_owned();
    ensure!(picked == json!([{"name": name, "result": "Waiting"}]), "{picked}");
    ensure!(with(fleet, OLD)?.is_empty(), "it was changed although the canary is paused");
    let told = fleet.seaworthy(&["rollout", "promote", "first"], 2)?;
    ensure!(told.is_empty(), "a canary that has tried nothing was promoted: {told}");
    fleet.seaworthy(&["rollout", "resume", "--canary", "first"], 0)?;
    fleet.note(&fleet.world().kubectl([
        "wait",
        "canary/first",
        "--for=condition=Complete",
        "--timeout=300s",
    ])?)?;
    ensure!(with(fleet, OLD)? == [&*name], "{:?} have it", with(fleet, OLD)?);
    let told = fleet.seaworthy(&["rollout", "status", "--canary", "first"], 0)?;
    ensure!(told.contains(&format!("{name}  Updated")), "{told}");
    let told = fleet.seaworthy(&["explain", &format!("machine/{name}")], 0)?;
    ensure!(told.contains(&format!("canary first kubelet {OLD}: it has it")), "{told}");
    let strategy = json!({"spec": {"strategy": {"batches": [1], "firstBakeTime": "10s", "bakeTime": "5s"}}});
    let patch = ["patch", "clusterpackageversion", "default", "--type=merge", "-p", &strategy.to_string()];
    fleet.world().kubectl(patch)?;
    fleet.seaworthy(&["rollout", "promote", "first"], 0)?;
    fleet.eventually("the older kubelet everywhere", || {
        ensure!(with(fleet, OLD)?.len() == 3, "{:?}", with(fleet, OLD)?);
        Ok(())
    })?;
    fleet.await_condition(("canaryrelease", "first"), ["Progressing", "True", "Promoted"])?;
    fleet.world().kubectl(["delete", "canary", "first", "--timeout=60s"])?;
    fleet.rollout_completes()
}

/// One machine, then all; each batch is watched for a while.
fn strategy(on_failure: &str) -> Value {
    json!({ "batches": [1], "firstBakeTime": "5m", "bakeTime": "20s", "onFailure": on_failure })
}

/// The batches of the upgrade, as `seaworthy plan` tells them beforehand.
fn planned(fleet: &Fleet<'_>, nodes: &Nodes) -> Result<Vec<Vec<String>>> {
    let file = fleet.write("planned.yaml", &nodes.defaults_with("kubelet", NEW)?)?;
    let told = fleet.seaworthy(&["plan", "-f", &file], 1)?;
    ensure!(told.contains(&format!("there is no MachineComponent kubelet-{NEW}")), "{told}");
    nodes.publish(fleet, "kubelet", NEW)?;
    fleet.seaworthy(&["plan", "-f", &file], 0)?;
    fleet.planned(&file)
}

/// The names of the machines with this version of kubelet.
fn with(fleet: &Fleet<'_>, version: &str) -> Result<Vec<String>> {
    nodes::with(fleet, "kubelet", version)
}

/// Waits until the first machine has what is wanted, and its batch is watched.
fn changed_first<'w>(fleet: &Fleet<'w>, nodes: &Nodes) -> Result<&'w Host> {
    stops_with(fleet, "Baking")?;
    let changed = with(fleet, nodes.version("kubelet"))?;
    let [name] = &changed[..] else { bail!("{changed:?} were changed in the first batch") };
    fleet.world().hosts().find(|host| host.name() == name).context("no such host")
}

/// Waits until this is the reason that the defaults tell.
fn stops_with(fleet: &Fleet<'_>, reason: &str) -> Result<()> {
    fleet.eventually(reason, || {
        let object = fleet.get("clusterpackageversion", "default")?;
        let conditions = object["status"]["conditions"].as_array().context("no conditions")?;
        let told = conditions.iter().find(|told| told["type"] == "Progressing");
        ensure!(told.is_some_and(|told| told["reason"] == reason), "{}", object["status"]);
        Ok(())
    })
}

/// The kubelet of a host cannot reach the API server any more. The operator can still log in.
fn cut_off(host: &Host) -> Result<()> {
    host.sh("iptables -I OUTPUT -p tcp --dport 6443 -j DROP").map(drop)
}

fn reconnect(host: &Host) -> Result<()> {
    host.sh("iptables -D OUTPUT -p tcp --dport 6443 -j DROP").map(drop)
}
