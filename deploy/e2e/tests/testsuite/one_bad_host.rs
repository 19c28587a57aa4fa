//! Releases of kubelet whose configuration suits every host but one: the gate of that host's batch fails, and all that were
//! changed get back what they had, without anybody's help.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use seaworthy_e2e::{
    Component, Fleet, Host, Nodes, Operation, Purpose, journals, nodes, scenario_for, since,
};
use serde_json::{Value, json};

/// What every host begins with, and has at the end.
const OLD: &str = "1.36.3";

/// How long a kubelet may take to answer. One that does not start costs all of it.
const START_WITHIN_S: u32 = 45;

/// The authority's certificate of the release, and the one that people have put on hosts.
const OF_RELEASE: &str = r#"x509: {clientCAFile: "{{ current }}/pki/ca.crt"}"#;
const OF_PEOPLE: &str = "x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}";
const FILE_OF_PEOPLE: &str = "/etc/kubernetes/pki/ca.crt";

/// How often kubelet says that its Node is well: a parameter of each Machine. The API server's side believes it for 50 s.
const HEARTBEAT: &str = "heartbeatSeconds";
const BEATS: &str = "rotateCertificates: true\n\
    nodeStatusUpdateFrequency: {{ machineParameters.heartbeatSeconds }}s\n\
    nodeLeaseDurationSeconds: {{ machineParameters.heartbeatSeconds }}";

#[test]
fn a_configuration_that_one_host_cannot_bear_is_taken_back_everywhere() -> Result<()> {
    scenario_for(Purpose::Nodes, 4, |world| {
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("four nodes", |fleet| Nodes::join(fleet, &[], "24h"))?;
        nodes.set(&fleet, "maxUnavailable", json!(2))?;
        fleet.scene(
            "a file is missing on one host of the second batch: its kubelet does not start",
            |fleet| a_file_is_missing(fleet, &mut nodes),
        )?;
        fleet.scene(
            "a parameter of the first host is wrong: its kubelet runs, and its Node goes down later",
            |fleet| a_parameter_is_wrong(fleet, &mut nodes),
        )?;
        fleet.stop_operator()
    })
}

fn a_file_is_missing(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let release = release(fleet, "1.36.3-1", (OF_RELEASE, OF_PEOPLE))?;
    let batches = announce(fleet, nodes, &release, (json!([1, 3]), "5s"))?;
    ensure!(batches.iter().map(Vec::len).eq([1, 2, 1]), "planned were {batches:?}");
    let victim = world.host(&batches[1][0])?;
    let authority = std::fs::read_to_string(world.control_plane().certificate_authority())?;
    for host in world.hosts().filter(|host| host.name() != victim.name()) {
        host.write(FILE_OF_PEOPLE, &authority)?;
    }
    let before = journals(world)?;
    nodes.want_all(fleet, &[release])?;
    is_taken_back(fleet, "1.36.3-1", ("/2: ", "1 failed"))?;
    for (host, operations) in since(&before, journals(world)?) {
        let summary = operations.iter().map(Operation::summary).collect::<Vec<_>>();
        fleet.note(&format!("{host}: {summary:#?}"))?;
        // On the bad host its own program has put back what was there. The others went there and back.
        let (changes, succeeds) = match batches[2].contains(&host) {
            true => (0, true),
            false if host == victim.name() => (1, false),
            false => (2, true),
        };
        let is_so = |operation: &Operation| operation.has_succeeded() == succeeds;
        ensure!(operations.len() == changes && operations.iter().all(is_so), "{host}: {summary:#?}");
    }
    Ok(())
}

fn a_parameter_is_wrong(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let release = release(fleet, "1.36.3-2", ("rotateCertificates: true", BEATS))?;
    let release = release.with("machineParameters", json!([HEARTBEAT]));
    world.hosts().try_for_each(|host| set_heartbeat(fleet, host, "20"))?;
    // Longer than until the Node is down.
    let batches = announce(fleet, nodes, &release, (json!([1]), "3m"))?;
    let [first] = &batches[0][..] else { bail!("planned were {batches:?}") };
    set_heartbeat(fleet, world.host(first)?, "2000")?;
    let before = journals(world)?;
    nodes.want_all(fleet, &[release])?;
    // At first all is well: kubelet answers, and its Node is Ready.
    fleet.await_condition(("clusterpackageversion", "default"), ["Progressing", "True", "Baking"])?;
    let baking = Instant::now();
    ensure!(nodes::with(fleet, "kubelet", "1.36.3-2")? == [first.as_str()], "others have it as well");
    nodes::is_ready(world, world.host(first)?)?;
    is_taken_back(fleet, "1.36.3-2", ("/1: ", "0 failed, 1 went down"))?;
    fleet.note(&format!("{first}: well again {:.1?} after its kubelet was", baking.elapsed()))?;
    for (host, operations) in since(&before, journals(world)?) {
        let expected = if host == *first { 2 } else { 0 };
        let summary = operations.iter().map(Operation::summary).collect::<Vec<_>>();
        let is_as_expected = operations.len() == expected && operations.iter().all(Operation::has_succeeded);
        ensure!(is_as_expected, "{host}: {summary:#?}");
    }
    Ok(())
}

/// kubelet with another line in its configuration, as a version of its own.
fn release(fleet: &Fleet<'_>, version: &str, (line, other): (&str, &str)) -> Result<Component> {
    let kubelet = Component::read("kubelet")?.at(OLD).served_by(fleet.world().artefacts())?;
    let spec = &kubelet.object()["spec"];
    let (mut files, mut probe) = (spec["files"].clone(), spec["probe"].clone());
    let mut configurations = files.as_array_mut().into_iter().flatten();
    let configuration = configurations.find(|file| file["path"] == "etc/config.yaml");
    let template = &mut configuration.context("no configuration")?["template"];
    let text = template.as_str().filter(|text| text.contains(line)).context("the line is not there")?;
    *template = json!(text.replace(line, other));
    probe["deadlineSeconds"] = json!(START_WITHIN_S);
    Ok(kubelet.at(version).with("files", files).with("probe", probe))
}

/// Publishes a release that nobody wants yet, sets the batches, and tells who would be in which.
fn announce(
    fleet: &Fleet<'_>,
    nodes: &mut Nodes,
    release: &Component,
    (batches, first_bake_time): (Value, &str),
) -> Result<Vec<Vec<String>>> {
    let strategy = json!({
        "batches": batches,
        "firstBakeTime": first_bake_time,
        "bakeTime": "5s",
        "onFailure": "RollBack",
    });
    nodes.set(fleet, "strategy", strategy)?;
    fleet.apply(release.object())?;
    let defaults = nodes.defaults_with("kubelet", release.version())?;
    fleet.planned(&fleet.write("planned.yaml", &defaults)?)
}

fn set_heartbeat(fleet: &Fleet<'_>, host: &Host, seconds: &str) -> Result<()> {
    let patch = json!({"spec": {"parameters": {HEARTBEAT: seconds}}}).to_string();
    fleet.world().kubectl(["patch", "machine", host.name(), "--type=merge", "-p", &patch]).map(drop)
}

/// Waits until a gate has failed with this evidence, and every host is again as it was. Nobody does anything meanwhile.
fn is_taken_back(fleet: &Fleet<'_>, version: &str, (gate, evidence): (&str, &str)) -> Result<()> {
    let world = fleet.world();
    let defaults = ("clusterpackageversion", "default");
    fleet.await_condition(defaults, ["Progressing", "False", "RolledBack"])?;
    fleet.eventually("the old kubelet everywhere", || {
        let with = nodes::with(fleet, "kubelet", OLD)?;
        ensure!(with.len() == world.hosts().count(), "only {with:?} have it");
        Ok(())
    })?;
    for host in world.hosts() {
        nodes::is_ready(world, host)?;
        let configuration = host.read("/opt/seaworthy/current/kubelet/etc/config.yaml")?;
        let is_old = !configuration.contains(FILE_OF_PEOPLE) && !configuration.contains("nodeLease");
        ensure!(is_old, "{}: {configuration}", host.name());
    }
    let told = fleet.seaworthy(&["rollout", "status"], 1)?;
    let way = format!("kubelet: {version} taken back, to {OLD}");
    let why = told.lines().find(|line| line.starts_with("RolledBack: ")).context("no reason")?;
    let is_told = told.contains(&way) && why.contains(gate) && why.contains(evidence);
    ensure!(is_told, "not {way}, nor {gate} with {evidence}: {told}");
    fleet.await_condition(defaults, ["Progressing", "False", "RolledBack"]).map(drop)
}
