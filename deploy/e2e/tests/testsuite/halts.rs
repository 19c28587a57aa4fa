//! What halts rollouts of kubelet on real nodes, by the clock: the kill switch, and a window that closes. And a plan for a set,
//! compared with what then happens.

use std::collections::BTreeSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    APPLY_DEADLINE, Component, Fleet, Journals, Nodes, Purpose, journals, manifests, nodes, scenario_for,
    since,
};
use serde_json::{Value, json};

/// What every host begins with. Later releases are the same software under other names.
const FIRST: &str = "1.36.3";

/// The kill switch has to work within this time.
const WITHIN_MS: u64 = 1000;

/// After so many renewals of the Lease, an operator that still acted would have.
const RENEWALS: usize = 8;

#[test]
fn the_kill_switch_and_a_window_halt_kubelets_in_time_and_a_plan_comes_true() -> Result<()> {
    scenario_for(Purpose::Nodes, 4, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("four nodes", |fleet| Nodes::join(fleet, &[], "24h"))?;
        nodes.set(&fleet, "maxUnavailable", json!(1))?;
        fleet.scene("the kill switch in the middle of a rollout", |fleet| kill_switch(fleet, &mut nodes))?;
        fleet.scene("a window closes in the middle of a rollout", |fleet| window(fleet, &mut nodes))?;
        fleet.scene("a set changes its nodes as `plan` said", |fleet| planned_set(fleet, &nodes))?;
        fleet.stop_operator()
    })
}

/// Nothing begins on any host later than a second after the policy was applied: nor what a rollout wants, nor what a person wants of
/// a single machine.
fn kill_switch(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let before = journals(world)?;
    let release = release(fleet, "1.36.3-1")?;
    nodes.want_all(fleet, &[release])?;
    fleet.eventually("a kubelet of the new version", || {
        let changed = changed(fleet, "1.36.3-1")?;
        ensure!(!changed.is_empty(), "nobody has it");
        Ok(())
    })?;
    fleet.apply(&policy(&json!({"paused": true})))?;
    let (applied, paused_at) = (Instant::now(), now_ms()?);
    fleet.await_condition(("clusterpackageversion", "default"), ["Progressing", "False", "PolicyPaused"])?;
    let told = applied.elapsed();
    let settings = nodes.defaults()["spec"]["components"].as_array().context("no components")?;
    let kubelet = settings.iter().find(|setting| setting["name"] == "kubelet").context("no kubelet")?;
    // What has begun is finished, so the machine is one where nothing has.
    let touched = begun(&before, journals(world)?)?;
    let mut untouched = world.hosts().map(seaworthy_e2e::Host::name);
    let pinned = untouched
        .find(|name| !touched.iter().any(|(_, host)| host == name))
        .context("all were begun before the kill switch was thrown")?;
    let patch = |pins: Value| {
        let patch = json!({"spec": {"components": pins}}).to_string();
        world.kubectl(["patch", "machine", pinned, "--type=merge", "-p", &patch])
    };
    patch(json!([kubelet]))?;
    let mut renewed = BTreeSet::new();
    fleet.eventually("an operator that goes on renewing its Lease", || {
        renewed.insert(world.kubectl([
            "get",
            "lease",
            "seaworthy",
            "--namespace",
            manifests::NAMESPACE,
            "-o",
            "jsonpath={.spec.renewTime}",
        ])?);
        ensure!(renewed.len() > RENEWALS, "{} renewals", renewed.len());
        Ok(())
    })?;
    let begun = begun(&before, journals(world)?)?;
    let last = begun.iter().map(|(at, _)| *at).max().context("nothing was begun")?;
    let after = i128::from(last) - i128::from(paused_at);
    fleet.note(&format!(
        "begun: {begun:?}; the last one {after} ms after `kubectl apply` of the policy had ended, told after {told:.1?}"
    ))?;
    ensure!(last <= paused_at + WITHIN_MS, "something was begun {after} ms after the kill switch was thrown");
    ensure!(begun.len() < 4, "nothing was left to be halted");
    ensure!(!begun.iter().any(|(_, host)| host == pinned), "{pinned} was changed");
    fleet.apply(&policy(&json!({"paused": false})))?;
    nodes.are_in_order(fleet)?;
    patch(json!([]))?;
    Ok(())
}

/// The window ends so late that the first kubelet may begin, and so soon that the second one would overrun it once the first one
/// was watched.
fn window(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let release = release(fleet, "1.36.3-2")?;
    // What an operation may take at most, and as long to restore the former release.
    let probe = release.object()["spec"]["probe"]["deadlineSeconds"].as_u64().context("no deadline")?;
    let longest = 2 * (APPLY_DEADLINE.as_secs() + probe);
    let now = now_ms()? / 1000;
    let start = (now - 60) / 60 * 60;
    let until = now + longest + 20;
    let windows = |until: u64| {
        policy(&json!({"windows": [{
            "start": format!("{:02}:{:02}", start / 3600 % 24, start / 60 % 60),
            "duration": format!("{}s", until - start),
        }]}))
    };
    fleet.apply(&windows(until))?;
    let before = journals(world)?;
    nodes.set(fleet, "strategy", json!({"batches": [1], "firstBakeTime": "30s", "bakeTime": "1s"}))?;
    nodes.want_all(fleet, &[release])?;
    let defaults = ("clusterpackageversion", "default");
    let message = fleet.await_condition(defaults, ["Progressing", "False", "OutsideWindow"])?;
    fleet.note(&message)?;
    let begun = begun(&before, journals(world)?)?;
    ensure!(begun.len() == 1, "{begun:?} were begun in the window");
    ensure!(begun[0].0 / 1000 + longest <= until, "{begun:?} might have overrun the window");
    ensure!(changed(fleet, "1.36.3-2")? == [begun[0].1.clone()], "what was begun is finished");
    fleet.apply(&windows(now + 8 * 3600))?;
    nodes.are_in_order(fleet)
}

/// A set of three of the nodes exists, so that its order is known. A plan of its next version says who is in which batch, and no
/// machine is changed before its turn.
fn planned_set(fleet: &Fleet<'_>, nodes: &Nodes) -> Result<()> {
    let world = fleet.world();
    let names: Vec<&str> = world.hosts().map(seaworthy_e2e::Host::name).collect();
    for name in &names[..3] {
        world.kubectl(["label", "machine", name, "pool=blue"])?;
    }
    let set = |version: &str| -> Result<Value> {
        let defaults = nodes.defaults_with("kubelet", version)?;
        let settings = defaults["spec"]["components"].as_array().context("no components")?;
        let kubelet = settings.iter().find(|setting| setting["name"] == "kubelet").context("no kubelet")?;
        Ok(json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "MachineComponentSet",
            "metadata": {"name": "blue"},
            "spec": {
                "selector": {"matchLabels": {"pool": "blue"}},
                "components": [kubelet],
                "strategy": {"batches": [1], "firstBakeTime": "5s", "bakeTime": "5s"},
            },
        }))
    };
    fleet.apply(&set(nodes.version("kubelet"))?)?;
    let blue = ("machinecomponentset", "blue");
    fleet.await_condition(blue, ["Progressing", "True", "AllUpdated"])?;
    let release = release(fleet, "1.36.3-3")?;
    fleet.apply(release.object())?;
    let planned = fleet.planned(&fleet.write("planned-set.yaml", &set(release.version())?)?)?;
    ensure!(planned.iter().map(Vec::len).eq([1, 2]), "planned were {planned:?}");
    let before = journals(world)?;
    fleet.apply(&set(release.version())?)?;
    fleet.eventually("the new kubelet in the set", || {
        let changed = changed(fleet, release.version())?;
        ensure!(changed.len() == 3, "only {changed:?} have it");
        Ok(())
    })?;
    fleet.await_condition(blue, ["Progressing", "True", "AllUpdated"])?;
    let mut begun = begun(&before, journals(world)?)?;
    begun.sort();
    let order: Vec<String> = begun.into_iter().map(|(_, host)| host).collect();
    fleet.note(&format!("planned {planned:?}, changed in the order {order:?}"))?;
    ensure!(order == planned.concat(), "planned were {planned:?}, changed in the order {order:?}");
    world.kubectl(["delete", "mcs", "blue", "--timeout=60s"])?;
    nodes.are_in_order(fleet)
}

/// kubelet, under the name of another version.
fn release(fleet: &Fleet<'_>, version: &str) -> Result<Component> {
    Ok(Component::read("kubelet")?.at(FIRST).served_by(fleet.world().artefacts())?.at(version))
}

/// Those that have this kubelet.
fn changed(fleet: &Fleet<'_>, version: &str) -> Result<Vec<String>> {
    nodes::with(fleet, "kubelet", version)
}

/// When something was begun since then, in milliseconds since the Unix epoch, and on which host.
fn begun(before: &Journals, now: Journals) -> Result<Vec<(u64, String)>> {
    let news = since(before, now).into_iter();
    let each = news.flat_map(|(host, operations)| {
        operations.into_iter().map(move |operation| Ok((operation.accepted()?, host.clone())))
    });
    each.collect()
}

fn policy(spec: &Value) -> Value {
    json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "DisruptionPolicy",
        "metadata": {"name": "stop"},
        "spec": spec,
    })
}

fn now_ms() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}
