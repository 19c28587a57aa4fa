//! Machines that cannot work do not change their host, and their status says why.

use anyhow::{Result, ensure};
use seaworthy_e2e::{Fleet, Health, Listing, manifests, scenario};
use serde_json::{Value, json};

/// Everything on a host that we might change.
const PLACES: [&str; 4] = ["/etc", "/opt", "/usr", "/var/lib"];

/// What a host notes down although nothing is changed: the fence that it has seen.
const NOTES: [&str; 1] = ["/opt/seaworthy/state/memory.json"];

#[test]
fn what_cannot_work_changes_nothing_and_says_why() -> Result<()> {
    scenario(1, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.publish("1.0.0", Health::Healthy)?;
        fleet.scene("(g) wrong host key, no such user, unreachable port", no_contact)?;
        let mut machine = manifests::machine("host-1", world.host("host-1")?);
        machine["spec"]["components"] = json!([manifests::webd_setting("1.0.0", "ahoy")]);
        fleet.apply(&machine)?;
        fleet.settles(&["host-1"], "1.0.0", "ahoy")?;
        fleet.scene("(g) wrong sha256", |fleet| wrong_digest(fleet, &machine))?;
        fleet.scene("(k) two Machines for one host", two_machines)
    })
}

fn no_contact(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    host.settle()?;
    let before = Listing::of(host, &PLACES, &[])?;
    let another_key = fleet.world().ssh_key().public();
    let faults: [(&str, &str, Value, &str); 3] = [
        ("wrong-key", "hostKeys", json!([another_key]), "HostKeyMismatch"),
        ("no-such-user", "user", json!("nobody-of-this-name"), "AuthenticationFailed"),
        ("unreachable-port", "port", json!(2222), "ConnectionFailed"),
    ];
    for (name, field, value, _) in &faults {
        let mut machine = manifests::machine(name, host);
        machine["spec"]["ssh"][field] = value.clone();
        machine["spec"]["components"] = json!([manifests::webd_setting("1.0.0", "ahoy")]);
        fleet.apply(&machine)?;
    }
    for (name, field, _, reason) in &faults {
        let message = fleet.await_condition(("machine", name), ["Reachable", "False", reason])?;
        fleet.await_condition(("machine", name), ["Ready", "False", reason])?;
        fleet.note(&format!("{name}: {reason}: {message}"))?;
        let advice = format!("spec.ssh.{field}");
        ensure!(message.contains(&advice), "{name} is not told to look at {advice}: {message}");
    }
    fleet.note(&fleet.world().kubectl(["get", "machines"])?)?;
    let after = Listing::of(host, &PLACES, &[])?;
    ensure!(after == before, "the host was changed: {:#?}", before.differences(&after));
    fleet.note(&format!("the host is as it was: {} lines of names, permissions and digests", after.len()))?;
    // Nothing was done, so nothing holds them.
    let names = faults.map(|(name, ..)| name);
    fleet.world().kubectl(["delete", "machine", names[0], names[1], names[2], "--timeout=60s"]).map(drop)
}

fn wrong_digest(fleet: &mut Fleet<'_>, machine: &Value) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    let without = ["/opt/seaworthy/state"];
    let (before, operations) = (Listing::of(host, &PLACES, &without)?, host.operations()?.len());
    let mut artefact = fleet.world().artefacts().publish("webd-6.6.6.tar.gz", b"not what was promised")?;
    artefact.sha256 = "6".repeat(64);
    fleet.apply(&manifests::webd("6.6.6", &artefact)?)?;
    let mut pinned = machine.clone();
    pinned["spec"]["components"] = json!([manifests::webd_setting("6.6.6", "ahoy")]);
    fleet.apply(&pinned)?;
    let message = fleet.await_condition(("machine", "host-1"), ["InSync", "False", "DigestMismatch"])?;
    fleet.note(&format!("DigestMismatch: {message}"))?;
    fleet.note(&fleet.world().kubectl(["get", "machines"])?)?;
    let status = &fleet.get("machine", "host-1")?["status"];
    let component = &status["components"][0];
    ensure!(component["version"] == "1.0.0" && component["failed"]["version"] == "6.6.6", "{status}");
    let after = Listing::of(host, &PLACES, &without)?;
    ensure!(after == before, "the host was changed: {:#?}", before.differences(&after));
    let tried = host.operations()?;
    ensure!(tried.len() == operations + 1, "tried more than once: {tried:?}");
    ensure!(fleet.webd("host-1")?.version == "1.0.0");
    fleet.apply(machine)?;
    fleet.settles(&["host-1"], "1.0.0", "ahoy")?;
    ensure!(host.operations()?.iter().map(|operation| operation.count("swapped")).sum::<usize>() == 1);
    Ok(())
}

fn two_machines(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    let process = || host.sh("systemctl show --property=MainPID,NRestarts webd.service");
    let before = (Listing::of(host, &PLACES, &NOTES)?, process()?);
    let mut second = manifests::machine("second", host);
    second["spec"]["components"] = json!([manifests::webd_setting("1.0.0", "mine")]);
    fleet.apply(&second)?;
    for condition in ["InSync", "Ready"] {
        let message = fleet.await_condition(("machine", "second"), [condition, "False", "DuplicateHost"])?;
        fleet.note(&format!("second: {condition}: {message}"))?;
    }
    fleet.note(&fleet.world().kubectl(["get", "machines"])?)?;
    let identity = &fleet.get("machine", "second")?["status"]["identity"];
    ensure!(identity.is_null(), "the second has taken an identity: {identity}");
    fleet.world().kubectl(["delete", "machine", "second", "--timeout=120s"])?;
    fleet.settles(&["host-1"], "1.0.0", "ahoy")?;
    let after = (Listing::of(host, &PLACES, &NOTES)?, process()?);
    ensure!(after == before, "the host was changed: {:#?}", before.0.differences(&after.0));
    Ok(())
}
