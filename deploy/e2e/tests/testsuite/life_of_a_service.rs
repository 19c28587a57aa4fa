//! Install, upgrade, repair, change one's mind, remove: the life of a service on two real hosts.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use seaworthy_e2e::{
    Fleet, Health, Host, Listing, PATIENCE, eventually, find_condition, overlapping, scenario,
};
use serde_json::Value;

const BOTH: [&str; 2] = ["host-1", "host-2"];

/// Where everything of an installed component is, and where the host finds it.
const PLACES: [&str; 4] =
    ["/opt/seaworthy/current/", "/opt/seaworthy/releases", "/etc/systemd/system", "/usr/local"];

#[test]
fn a_service_is_installed_upgraded_repaired_and_removed() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "1.1.0", "1.2.0"]
            .into_iter()
            .try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        fleet.scene("(a) install webd 1.0.0 on two hosts", install)?;
        fleet.scene("(b) edit the ClusterPackageVersion: webd 1.1.0", upgrade)?;
        fleet.scene("(c) kill the service's binary on one host, edit its config on the other", repair)?;
        fleet.scene(
            "a version that does not become healthy is taken back, and no other host gets it",
            sick_version,
        )?;
        fleet.scene("what people are told: Events, describe, kubectl wait", told)?;
        fleet.scene("pause one Machine: it stays Ready, and is not changed", pause)?;
        fleet.scene("(h) two conflicting edits in quick succession: the last one wins", change_of_mind)?;
        fleet.scene("(i) delete the Machine host-1", removal)?;
        fleet.scene("delete the ClusterPackageVersion: nothing is removed from any host", no_default)?;
        fleet.stop_operator()
    })
}

fn install(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.add_machines()?;
    fleet.set_default("1.0.0", "ahoy", 1)?;
    fleet.settles(&BOTH, "1.0.0", "ahoy")?;
    fleet.rollout_completes()?;
    for host in fleet.world().hosts() {
        let operations = host.operations()?;
        ensure!(operations.len() == 1 && operations[0].has_succeeded(), "{operations:?}");
        ensure!(host.sh("systemctl is-active webd.service")?.trim() == "active");
        ensure!(host.sh("readlink -e /usr/local/bin/webd")?.starts_with("/opt/seaworthy/releases/webd/"));
        let machine = fleet.get("machine", host.name())?;
        let machine_id = host.read("/etc/machine-id")?;
        ensure!(machine["status"]["identity"]["machineID"] == machine_id.trim(), "{machine}");
        let finalizers = &machine["metadata"]["finalizers"];
        ensure!(finalizers[0] == "seaworthy.dev/in-use", "{finalizers}");
    }
    let from_both = fleet.world().artefacts().downloads()?;
    let from_both = from_both.iter().filter(|download| download.path == "/webd-1.0.0.tar.gz").count();
    ensure!(from_both == 2, "{from_both} downloads for two hosts");
    Ok(())
}

fn upgrade(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.set_default("1.1.0", "ahoy", 1)?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()?;
    let (one, other) =
        (fleet.world().host("host-1")?.operations()?, fleet.world().host("host-2")?.operations()?);
    for operations in [&one, &other] {
        ensure!(operations.len() == 2 && operations[1].has_succeeded(), "{operations:?}");
        let (end, _) = operations[1].end().unwrap_or_default();
        fleet.note(&format!("{} from {} to {end} ms", operations[1].id, operations[1].accepted()?))?;
    }
    ensure!(overlapping(&one[1..], &other[1..])?.is_none(), "both at once: {one:?} {other:?}");
    Ok(())
}

fn repair(fleet: &mut Fleet<'_>) -> Result<()> {
    let (one, other) = (fleet.world().host("host-1")?, fleet.world().host("host-2")?);
    let (before_one, before_other) = (current(one)?, current(other)?);
    one.sh("rm /opt/seaworthy/current/webd/bin/webd && systemctl kill --signal=KILL webd.service")?;
    other.sh(
        "sed -i s/ahoy/tampered/ /opt/seaworthy/current/webd/etc/webd.conf && systemctl restart webd.service",
    )?;
    // The operator may see the damage at once, and repair it before anybody else has looked. That there was damage shows in
    // the journals: it takes an operation to repair it.
    for (host, before) in [(one, &before_one), (other, &before_other)] {
        eventually(format!("repair of {}", host.name()), PATIENCE, || {
            let operations = host.operations()?;
            ensure!(operations.len() == 3 && operations[2].has_succeeded(), "{operations:?}");
            Ok(())
        })?;
        ensure!(current(host)? == *before, "{:?}", before.differences(&current(host)?));
    }
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    // A service that was only stopped is started again, without being installed again.
    one.sh("systemctl stop webd.service")?;
    fleet.eventually("a start of the service", || fleet.webd("host-1").map(drop))?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")
}

fn sick_version(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.publish("2.0.0", Health::Sick)?;
    fleet.set_default("2.0.0", "ahoy", 1)?;
    let fleet_wide = ("clusterpackageversion", "default");
    fleet.await_condition(fleet_wide, ["Progressing", "False", "TooManyFailures"])?;
    let failed = |name: &str| {
        let machine = fleet.get("machine", name)?;
        anyhow::Ok(machine["status"]["components"][0]["failed"]["reason"] == "ProbeFailed")
    };
    let (harmed, spared) =
        fleet.eventually("the record of the failure", || match (failed("host-1")?, failed("host-2")?) {
            (true, false) => Ok(("host-1", "host-2")),
            (false, true) => Ok(("host-2", "host-1")),
            (false, false) => bail!("no Machine has it yet"),
            (true, true) => bail!("both hosts were harmed"),
        })?;
    let message = fleet.await_condition(("machine", harmed), ["InSync", "False", "ProbeFailed"])?;
    fleet.note(&format!("{harmed}: ProbeFailed: {message}"))?;
    for object in [fleet.get("machine", harmed)?, fleet.get("clusterpackageversion", "default")?] {
        let stalled =
            find_condition(&object, "Stalled").with_context(|| format!("not stalled: {object:#}"))?;
        ensure!(stalled["status"] == "True", "{object:#}");
    }
    fleet.note(&fleet.world().kubectl(["get", "machines"])?)?;
    ensure!(!failed(spared)?, "both hosts were harmed");
    let last = fleet.world().host(harmed)?.operations()?.pop();
    ensure!(last.is_some_and(|last| last.count("restoring") == 1 && !last.has_succeeded()));
    for host in BOTH {
        ensure!(fleet.webd(host)?.version == "1.1.0", "{host}: {:?}", fleet.webd(host)?);
    }
    fleet.set_default("1.1.0", "ahoy", 1)?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()
}

/// Failures, repairs, beginnings and ends are told; that an installation or an upgrade went well is not.
fn told(fleet: &mut Fleet<'_>) -> Result<()> {
    let of_fleet = ("clusterpackageversion", "default");
    for (about, reason, part) in [
        (of_fleet, "RolloutStarted", "webd: from 1.0.0 to 1.1.0"),
        (of_fleet, "RolloutCompleted", "webd 1.0.0: 2 of 2 machines have it"),
        (of_fleet, "TooManyFailures", "1 failed, 1 may"),
        (("machine", "host-1"), "Drifted", "webd: bin/webd is gone"),
        (("machine", "host-2"), "Drifted", "webd: etc/webd.conf has sha256 "),
        (("machine", "host-1"), "Repaired", "everything that is wanted"),
    ] {
        let told = || fleet.events(about.0, about.1);
        fleet.eventually(&format!("{reason} about {}: {part}", about.1), || {
            let told = told()?;
            let is_it = |event: &Value| {
                event["reason"] == reason && event["note"].as_str().is_some_and(|note| note.contains(part))
            };
            ensure!(told.iter().any(is_it), "there are {told:#?}");
            Ok(())
        })?;
    }
    let failed = fleet.events("machine", "host-1")?.into_iter().chain(fleet.events("machine", "host-2")?);
    let failed: Vec<_> = failed.filter(|event| event["reason"] == "ProbeFailed").collect();
    ensure!(failed.len() == 1 && failed[0]["type"] == "Warning", "{failed:#?}");
    let note = failed[0]["note"].as_str().unwrap_or_default();
    ensure!(note.starts_with("webd 2.0.0: the new release did not become healthy"), "{note}");
    let select = |kind, field: &str| {
        fleet.world().kubectl(["get", kind, "-o", "name", &format!("--field-selector={field}")])
    };
    let ready = select("machines", "status.reason=AsDesired")?;
    ensure!(ready.lines().count() == BOTH.len(), "{ready}");
    let one = select("machinecomponents", "spec.component=webd,spec.version=1.1.0")?;
    ensure!(one.trim() == "machinecomponent.seaworthy.dev/webd-1.1.0", "{one}");
    let described = fleet.world().kubectl(["describe", "machine", "host-1"])?;
    ensure!(described.contains("Repaired"), "{described}");
    fleet.note(&described)?;
    let log = fleet.world().run().log("operator");
    let log = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    for work in ["install webd 1.0.0", "change webd 1.0.0 to 1.1.0", "repair webd 1.1.0"] {
        ensure!(log.contains(work), "the log does not say {work}");
    }
    fleet.note(&fleet.world().kubectl(["get", "events", "--namespace=default"])?)
}

fn pause(fleet: &mut Fleet<'_>) -> Result<()> {
    let patch = |paused: bool| {
        let patch = format!(r#"--patch={{"spec":{{"paused":{paused}}}}}"#);
        fleet.world().kubectl(["patch", "machine", "host-1", "--type=merge", &patch])
    };
    patch(true)?;
    let wait = ["wait", "machine/host-1", "--for=condition=Paused", "--timeout=60s"];
    fleet.world().kubectl(wait)?;
    fleet.set_default("1.2.0", "ahoy", 1)?;
    fleet.settles(&["host-2"], "1.2.0", "ahoy")?;
    fleet
        .await_condition(("clusterpackageversion", "default"), ["Progressing", "True", "MachinesLeftOut"])?;
    let machine = fleet.get("machine", "host-1")?;
    let ready = find_condition(&machine, "Ready").context("host-1 has no condition Ready")?;
    ensure!(ready["status"] == "True", "{machine:#}");
    ensure!(fleet.webd("host-1")?.version == "1.1.0");
    patch(false)?;
    fleet.settles(&BOTH, "1.2.0", "ahoy")?;
    fleet.rollout_completes()?;
    let machine = fleet.get("machine", "host-1")?;
    ensure!(find_condition(&machine, "Paused").is_none(), "{machine:#}");
    let told = fleet.events("machine", "host-1")?;
    for reason in ["Paused", "Resumed"] {
        ensure!(told.iter().any(|event| event["reason"] == reason), "{told:#?}");
    }
    fleet.set_default("1.1.0", "ahoy", 1)?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()
}

fn change_of_mind(fleet: &mut Fleet<'_>) -> Result<()> {
    fleet.set_default("1.2.0", "first thought", 1)?;
    fleet.set_default("1.0.0", "second thought", 1)?;
    fleet.settles(&BOTH, "1.0.0", "second thought")?;
    fleet.rollout_completes()?;
    let rollouts = &fleet.get("clusterpackageversion", "default")?["status"]["rollouts"];
    ensure!(rollouts[0]["to"]["version"] == "1.0.0", "{rollouts}");
    fleet.settles(&BOTH, "1.0.0", "second thought")
}

fn removal(fleet: &mut Fleet<'_>) -> Result<()> {
    let (gone, stays) = (fleet.world().host("host-1")?, fleet.world().host("host-2")?);
    let untouched = (Listing::of(stays, &PLACES, &[])?, stays.operations()?);
    fleet.world().kubectl(["delete", "machine", "host-1", "--timeout=240s"])?;
    ensure!(fleet.get("machine", "host-1").is_err());
    ensure!(fleet.webd("host-1").is_err());
    let left = gone
        .sh("ls -d /opt/seaworthy/current/webd /opt/seaworthy/releases/webd /usr/local/bin/webd \
        /etc/systemd/system/webd.service /etc/systemd/system/*/webd.service 2>/dev/null; true")?;
    ensure!(left.is_empty(), "left behind: {left}");
    ensure!(gone.sh("systemctl show --property=LoadState webd.service")?.trim() == "LoadState=not-found");
    let memory = gone.memory()?;
    ensure!(
        memory["owner"].is_null() && memory["marks"].as_object().is_some_and(|marks| marks.len() == 1),
        "{memory}"
    );
    ensure!(untouched == (Listing::of(stays, &PLACES, &[])?, stays.operations()?), "host-2 was touched");
    fleet.settles(&["host-2"], "1.0.0", "second thought")
}

fn no_default(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-2")?;
    let before = (Listing::of(host, &PLACES, &[])?, host.operations()?);
    fleet.world().kubectl(["delete", "clusterpackageversion", "default", "--timeout=120s"])?;
    ensure!(fleet.get("clusterpackageversion", "default").is_err());
    let sequence = || {
        let memory = host.memory()?;
        let mark = memory["marks"].as_object().and_then(|marks| marks.values().next().cloned());
        mark.and_then(|mark| mark["sequence"].as_u64()).context("no mark")
    };
    // The operator looks at the host again, and again.
    let seen = sequence()?;
    eventually("two audits", PATIENCE, || {
        let now = sequence()?;
        ensure!(now >= seen + 2, "{now} after {seen}");
        Ok(())
    })?;
    ensure!(before == (Listing::of(host, &PLACES, &[])?, host.operations()?), "host-2 was touched");
    fleet.settles(&["host-2"], "1.0.0", "second thought")
}

/// What the current release of a host consists of, wherever it lies.
fn current(host: &Host) -> Result<Listing> {
    Listing::of(host, &["/opt/seaworthy/current/webd/"], &[])
}
