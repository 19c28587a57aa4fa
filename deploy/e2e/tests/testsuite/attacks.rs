//! Attacks on real hosts. One claims a newer operator, one is damaged, and a component asks for what is not its own.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use seaworthy_api::host::wire::{Change, Operation as Order};
use seaworthy_e2e::{
    Fleet, Health, Host, Journals, Listing, PATIENCE, ask, eventually, find_condition, journals, manifests,
    refusal, run_to_end, scenario, since,
};
use seaworthy_model::host::OperationId;
use seaworthy_model::lease::Epoch;
use seaworthy_model::removal::Removal;
use serde_json::{Value, json};

const ALL: [&str; 3] = ["host-1", "host-2", "host-3"];

/// No operator comes so far here.
const FORGED: u64 = 1_000_000;

const MEMORY: &str = "/opt/seaworthy/state/memory.json";

/// What a host notes of orders that a person made it forget.
const PEOPLE: &str = "/opt/seaworthy/state/people.journal";

/// Sets two names for the lines that follow: the newest journal, and the manifest of the current release.
const FIND: &str = "cd /opt/seaworthy/state/operations && journal=$(pwd)/$(ls -v | grep '\\.journal$' | tail -n 1) && \
    manifest=/opt/seaworthy/manifests/webd/$(basename $(readlink /opt/seaworthy/current/webd)).json";

/// The host program that the operator brought.
const PROGRAM: &str = "$(ls -t /opt/seaworthy/bin/seaworthy-host-* | head -n 1)";

/// What a component asks for although it is the system's: the field, and its value.
const NOT_ITS_OWN: [(&str, &str, &str); 3] = [
    ("removal", "/etc/passwd", "spec.removal.paths[0]"),
    ("removal", "/etc", "spec.removal.paths[0]"),
    ("nodeIdentity", "/etc/shadow", "spec.nodeIdentity.path"),
];

#[test]
fn lies_damage_and_greed_on_one_host_stay_there() -> Result<()> {
    scenario(3, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.publish("1.0.0", Health::Healthy)?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 2)?;
        fleet.settles(&ALL, "1.0.0", "ahoy")?;
        fleet.rollout_completes()?;
        fleet.scene("host-1 claims a newer operator: the others are upgraded", one_liar)?;
        fleet.scene("the next operator is not stopped either", next_operator)?;
        fleet.scene("a person resets the fences of host-1", reset)?;
        fleet.scene("manifest and journal of host-2 are damaged: the operator repairs", damage)?;
        fleet.scene("a person looks for damage on host-3, without an operator", repair_by_hand)?;
        fleet.scene("a component asks for files of the system", greed)?;
        fleet.scene("an order names files of the system", greedy_orders)?;
        fleet.stop_operator()
    })
}

fn one_liar(fleet: &mut Fleet<'_>) -> Result<()> {
    let liar = fleet.world().host("host-1")?;
    forge_epoch(liar)?;
    let told = |fleet: &Fleet<'_>| {
        let message = fleet.await_condition(("machine", "host-1"), ["Ready", "False", "HostAhead"])?;
        let advice = [&format!("epoch {FORGED}"), "reset-fences"];
        ensure!(advice.iter().all(|words| message.contains(*words)), "{message}");
        Ok(message)
    };
    let message = told(fleet)?;
    fleet.note(&format!("host-1: HostAhead: {message}"))?;
    let before = journals(fleet.world())?;
    fleet.publish("1.1.0", Health::Healthy)?;
    fleet.set_default("1.1.0", "ahoy", 2)?;
    let start = Instant::now();
    fleet.settles(&ALL[1..], "1.1.0", "ahoy")?;
    fleet.note(&format!("the others have 1.1.0 after {:.1?}", start.elapsed()))?;
    told(fleet)?;
    works_on(fleet)?;
    let news = installed_once(fleet, &before, &ALL[1..])?;
    ensure!(news["host-1"].is_empty(), "host-1 was changed: {:?}", news["host-1"]);
    ensure!(fleet.webd("host-1")?.version == "1.0.0" && liar.epoch()? == FORGED);
    fleet.note(&format!("the rollout: {}", fleet.get("clusterpackageversion", "default")?["status"]))
}

/// Writes a far higher epoch into the memory of a host, which nobody else writes meanwhile.
fn forge_epoch(host: &Host) -> Result<()> {
    const WRITE: &str =
        r#"umask 077 && printf %s "$0" > "$1.new" && chmod 600 "$1.new" && mv "$1.new" "$1" && sync"#;
    let mut memory = host.memory()?;
    let cluster = memory["owner"]["cluster"].as_str().context("the host has no owner")?.to_owned();
    memory["marks"][&cluster]["epoch"] = json!(FORGED);
    let mut command = host.command("flock")?;
    command.args(["/opt/seaworthy/state/admission.lock", "sh", "-c", WRITE, &memory.to_string(), MEMORY]);
    run_to_end(&mut command)?;
    ensure!(host.epoch()? == FORGED);
    Ok(())
}

/// The operator leads, and has never said that the store has regressed. Nor does any object.
fn works_on(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.wait_until_ready()?;
    let log = fs::read_to_string(fleet.operator()?.log())?;
    ensure!(!log.contains("StoreRegressed"), "the operator has stopped: {log}");
    let machines = ALL.map(|name| ("machine", name));
    for (kind, name) in machines.into_iter().chain([("clusterpackageversion", "default")]) {
        let conditions = fleet.get(kind, name)?["status"]["conditions"].to_string();
        ensure!(!conditions.contains("StoreRegressed"), "{kind} {name}: {conditions}");
    }
    Ok(())
}

/// What is new since `before`. Each of these hosts has installed one release in one operation.
fn installed_once(fleet: &Fleet<'_>, before: &Journals, hosts: &[&str]) -> Result<Journals> {
    let news = since(before, journals(fleet.world())?);
    for name in hosts {
        let operations = &news[*name];
        let is_once =
            operations.len() == 1 && operations[0].has_succeeded() && operations[0].count("swapped") == 1;
        ensure!(is_once, "{name}: {operations:?}");
    }
    Ok(news)
}

fn next_operator(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.kill_operator()?;
    fleet.start_operator()?;
    fleet.wait_until_ready()?;
    let world = fleet.world();
    let epochs = || ALL[1..].iter().map(|name| world.host(name)?.epoch()).collect::<Result<Vec<_>>>();
    let before = epochs()?;
    fleet.publish("1.2.0", Health::Healthy)?;
    fleet.set_default("1.2.0", "ahoy", 2)?;
    fleet.settles(&ALL[1..], "1.2.0", "ahoy")?;
    fleet.await_condition(("machine", "host-1"), ["Ready", "False", "HostAhead"])?;
    works_on(fleet)?;
    fleet.note(&format!("epochs of the others: {before:?}, then {:?}", epochs()?))
}

fn reset(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    let before = journals(fleet.world())?;
    let named = format!("seaworthy.dev/reset-fences={FORGED}");
    fleet.world().kubectl(["annotate", "machine", "host-1", &named])?;
    let start = Instant::now();
    fleet.settles(&ALL, "1.2.0", "ahoy")?;
    fleet.note(&format!("host-1 has 1.2.0 {:.1?} after the annotation", start.elapsed()))?;
    fleet.rollout_completes()?;
    installed_once(fleet, &before, &ALL[..1])?;
    let noted = host.read(PEOPLE)?;
    ensure!(noted.contains("fencesForgotten") && noted.contains(&FORGED.to_string()), "{noted}");
    ensure!(host.epoch()? < FORGED);
    fleet.note(&format!("host-1 obeys epoch {} and has noted: {}", host.epoch()?, noted.trim()))
}

fn damage(fleet: &mut Fleet<'_>) -> Result<()> {
    const DAMAGE: &str = "truncate --size=$(($(stat --format=%s $journal) / 2)) $journal && printf garbage > $manifest && sync";
    let host = fleet.world().host("host-2")?;
    let before = host.operations()?;
    host.sh(&format!("{FIND} && {DAMAGE}"))?;
    let start = Instant::now();
    eventually("a manifest that can be read", PATIENCE, || {
        let text = host.sh(&format!("{FIND} && cat $manifest"))?;
        let manifest: Value = serde_json::from_str(&text).with_context(|| text.clone())?;
        ensure!(manifest["component"] == "webd", "{manifest}");
        Ok(())
    })?;
    eventually("the end of the repair", PATIENCE, || {
        let operations = host.operations()?;
        let is_repaired = operations.last().is_some_and(|last| last.has_succeeded());
        ensure!(is_repaired && operations.iter().all(|known| known.end().is_some()), "{operations:?}");
        Ok(())
    })?;
    fleet.settles(&ALL, "1.2.0", "ahoy")?;
    fleet.note(&format!("host-2 is Ready and its service runs {:.1?} after the damage", start.elapsed()))?;
    ensure!(host.sh("systemctl is-active webd.service")?.trim() == "active");
    let known = before.len().saturating_sub(1);
    for operation in host.operations()?.split_off(known) {
        fleet.note(&format!("host-2: {}", operation.summary()))?;
    }
    let said = host.sh(&format!("{PROGRAM} repair"))?;
    fleet.note(&format!("host-2: repair says: {}", said.trim()))?;
    ensure!(said.trim() == "nothing is damaged", "{said}");
    Ok(())
}

fn repair_by_hand(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-3")?;
    fleet.kill_operator()?;
    let said = repair(host)?;
    ensure!(said == "nothing is damaged", "{said}");
    let newest = host.operations()?.pop().context("nothing was installed")?.id;
    host.sh(&format!("{FIND} && echo garbage >> $journal && printf garbage > $manifest && sync"))?;
    let said = repair(host)?;
    fleet.note(&format!("repair says:\n{said}"))?;
    let aside = format!("/opt/seaworthy/state/operations/{newest}.damaged");
    for words in
        [&format!("the journal of operation {newest} was damaged"), &aside, "the manifest of webd is lost"]
    {
        ensure!(said.contains(words), "not {words:?}: {said}");
    }
    ensure!(host.read(&aside)?.ends_with("garbage\n"), "the damaged journal was not kept");
    let said = repair(host)?;
    fleet.note(&format!("repair says again:\n{said}"))?;
    ensure!(!said.contains("journal") && said.contains("manifest"), "{said}");
    // Who gives orders is nothing that a program decides.
    let saved = host.read(MEMORY)?;
    host.write(MEMORY, "garbage")?;
    let refused = repair(host).err().context("a damaged memory was accepted")?;
    fleet.note(&format!("repair of the memory: {refused:#}"))?;
    ensure!(format!("{refused:#}").contains("disown --force"), "{refused:#}");
    ensure!(host.read(MEMORY)? == "garbage", "the memory was changed");
    host.write(MEMORY, saved)?;
    fleet.start_operator()?;
    fleet.wait_until_ready()?;
    eventually("a host without damage", PATIENCE, || {
        let said = repair(host)?;
        ensure!(said == "nothing is damaged", "{said}");
        Ok(())
    })?;
    fleet.settles(&ALL, "1.2.0", "ahoy")
}

/// What `seaworthy-host repair` prints.
fn repair(host: &Host) -> Result<String> {
    Ok(host.sh(&format!("{PROGRAM} repair"))?.trim().to_owned())
}

/// The API server refuses such a component. One that it lets in, as with CRDs of another build, the operator does not use.
fn greed(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-3")?;
    let before = (Listing::of(host, &["/etc"], &[])?, host.operations()?);
    let artefact = fleet.world().artefacts().publish_webd("6.6.6", Health::Healthy)?;
    let mut components = Vec::new();
    for (number, (field, path, named)) in NOT_ITS_OWN.into_iter().enumerate() {
        let version = format!("6.6.{number}");
        let component = greedy(manifests::webd(&version, &artefact)?, field, path);
        let refused = fleet.apply(&component).err();
        let said = format!("{:#}", refused.with_context(|| format!("accepted: {field} {path}"))?);
        fleet.note(&format!("refused by the API server: {said}"))?;
        ensure!(said.contains(named) && said.contains("component's own"), "{said}");
        components.push((version, component));
    }
    without_rules(fleet)?;
    let machine = manifests::machine("host-3", host);
    for (version, component) in components {
        eventually("an API server without rules", PATIENCE, || fleet.apply(&component))?;
        let name = format!("webd-{version}");
        fleet.eventually(&format!("{name} in the eyes of the operator"), || {
            let metadata = &fleet.get("machinecomponent", &name)?["metadata"];
            ensure!(metadata["finalizers"][0] == "seaworthy.dev/in-use", "{metadata}");
            Ok(())
        })?;
        let mut pinned = machine.clone();
        pinned["spec"]["components"] = json!([manifests::webd_setting(&version, "ahoy")]);
        fleet.apply(&pinned)?;
        for condition in ["InSync", "Ready"] {
            is_told(fleet, condition, &format!(": {name}"))?;
        }
    }
    fleet.apply(&machine)?;
    fleet.settles(&ALL, "1.2.0", "ahoy")?;
    let after = (Listing::of(host, &["/etc"], &[])?, host.operations()?);
    ensure!(after == before, "host-3 was changed: {:#?}", before.0.differences(&after.0));
    fleet.note(&format!("/etc of host-3 is as it was: {} lines", after.0.len()))
}

/// Waits until the Machine host-3 tells this of a version that cannot be used.
fn is_told(fleet: &Fleet<'_>, condition: &str, words: &str) -> Result<()> {
    fleet.eventually(&format!("{condition} with {words:?}"), || {
        let machine = fleet.get("machine", "host-3")?;
        let found = find_condition(&machine, condition).context("no such condition")?;
        let message = found["message"].as_str().unwrap_or_default();
        ensure!(
            found["reason"] == "UnknownVersion" && message.contains("no usable") && message.ends_with(words),
            "{found}"
        );
        fleet.note(&format!("{condition}: UnknownVersion: {message}"))
    })
}

/// The component with a path that is not its own.
fn greedy(mut object: Value, field: &str, path: &str) -> Value {
    object["spec"][field] = if field == "removal" { json!({"paths": [path]}) } else { json!({"path": path}) };
    object
}

/// Applies the CRD of components without the rules that the API server judges by.
fn without_rules(fleet: &Fleet<'_>) -> Result<()> {
    const CRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/seaworthy.dev_machinecomponents.yaml");
    let mut definition: Value = serde_saphyr::from_str(&fs::read_to_string(CRD)?)?;
    remove_rules(&mut definition);
    let arguments = ["apply", "--server-side", "-f", "-"];
    let output = fleet.world().control_plane().kubectl_output(arguments, &definition.to_string())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn remove_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(remove_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_rules),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whoever has the keys of the operator may send the host an order. The host judges it by itself.
fn greedy_orders(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-3")?;
    fleet.kill_operator()?;
    let before = (Listing::of(host, &["/etc"], &[])?, host.operations()?, fleet.webd("host-3")?);
    let fence = late_fence(host)?;
    let commands = [
        (json!({"apply": greedy_order(host, fence, "/etc/passwd")?}), "/etc/passwd"),
        (json!({"requestCertificate": {"path": "/etc/shadow", "replaces": null}}), "/etc/shadow"),
        (json!({"installCertificate": {"path": "/etc/shadow", "certificate": "forged"}}), "/etc/shadow"),
    ];
    for (command, path) in commands {
        let answer = ask(fleet.world(), "host-3", fence, &command)?;
        fleet.note(&format!("refused by the host: {answer}"))?;
        let detail = answer["refused"]["detail"].as_str().unwrap_or_default();
        let is_clear = detail.contains(path) && detail.contains("component's own");
        ensure!(refusal(&answer) == Some("OperationInvalid") && is_clear, "{command}: {answer}");
    }
    let after = (Listing::of(host, &["/etc"], &[])?, host.operations()?, fleet.webd("host-3")?);
    ensure!(after == before, "host-3 was changed: {:#?}", before.0.differences(&after.0));
    fleet.start_operator()?;
    fleet.wait_until_ready()?;
    fleet.settles(&ALL, "1.2.0", "ahoy")?;
    let machine = fleet.get("machine", "host-3")?;
    let ready = find_condition(&machine, "Ready").context("no condition Ready")?;
    fleet.note(&format!("host-3 obeys the next operator: {}", ready["reason"]))
}

/// Epoch and sequence of an order that comes after all that the killed operator can have sent.
fn late_fence(host: &Host) -> Result<(u64, u64)> {
    let memory = host.memory()?;
    let cluster = memory["owner"]["cluster"].as_str().context("the host has no owner")?;
    let sequence = memory["marks"][cluster]["sequence"].as_u64().context("no sequence")?;
    Ok((host.epoch()?, sequence + 1_000))
}

/// The newest order of a host once more, with one fault: at its removal this path is to be deleted.
fn greedy_order(host: &Host, (epoch, sequence): (u64, u64), path: &str) -> Result<Order> {
    let newest = host.operations()?.pop().context("nothing was installed")?.id;
    let text = host.read(&format!("/opt/seaworthy/state/operations/{newest}.json"))?;
    let mut order: Order = serde_json::from_str(&text)?;
    order.id = OperationId { epoch: Epoch(u32::try_from(epoch)?), sequence };
    let Change::Install(release) = &mut order.change else { bail!("{newest} installs nothing: {text}") };
    release.recipe.content.removal = Some(Removal { paths: vec![path.to_owned()], ..Removal::default() });
    release.id = release.recipe.release_id();
    Ok(order)
}
