//! Only one operator acts: a newer one takes over, hosts refuse an older one, and a deleted Lease stops everything.

use std::net::Ipv4Addr;
use std::time::Instant;

use anyhow::{Result, ensure};
use seaworthy_e2e::{
    Fleet, Health, Listing, PATIENCE, Process, ask, eventually, manifests, refusal, scenario,
};
use serde_json::{Value, json};

const BOTH: [&str; 2] = ["host-1", "host-2"];

/// The exit code of an operator that a newer one has replaced.
const STEPPED_DOWN: i32 = 3;

/// A sequence that no operator reaches here.
const LATE: u64 = 1_000_000;

#[test]
fn one_operator_leads_and_a_lost_lease_stops_it() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "1.1.0"].into_iter().try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 2)?;
        fleet.settles(&BOTH, "1.0.0", "ahoy")?;
        fleet.rollout_completes()?;
        fleet.scene("(m) a second operator is started beside the first", succession)?;
        fleet.scene("(l) the Lease is deleted", lost_lease)
    })
}

fn succession(fleet: &mut Fleet<'_>) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    let old = host.epoch()?;
    let before = (contents(fleet)?, fleet.webd("host-1")?);
    let mut second = fleet.spawn_operator("operator-beside", 8081)?;
    let endpoint = fleet.world().control_plane().endpoint();
    eventually("a second operator that stands by", PATIENCE, || {
        second.must_run()?;
        let (status, text) = endpoint.http_get(Ipv4Addr::LOCALHOST, 8081, "/readyz")?;
        ensure!(status == 200 && text.contains("Standby"), "{status} {text}");
        Ok(())
    })?;
    fleet.operator()?.must_run()?;
    ensure!(host.epoch()? == old, "the second operator did more than to stand by");
    fleet.operator()?.suspend()?;
    let began = Instant::now();
    taken_over(fleet, &mut second, old)?;
    fleet.note(&format!("the paused leader was replaced after {:.1?}", began.elapsed()))?;
    fleet.operator()?.resume()?;
    let status = fleet.operator()?.wait(PATIENCE)?;
    ensure!(status.code() == Some(STEPPED_DOWN), "the older operator ended with {status}");
    fleet.note(&format!("the older operator has stepped down: {status}"))?;
    let operation = json!({
        "id": {"epoch": old, "sequence": LATE},
        "generation": 1,
        "component": "webd",
        "change": "remove",
    });
    for command in [json!({"apply": operation}), json!("disown")] {
        let answer = ask(fleet.world(), "host-1", (old, LATE), &command)?;
        fleet.note(&format!("an order of epoch {old}: {answer}"))?;
        ensure!(refusal(&answer) == Some("FenceRefused"), "{command}: {answer}");
    }
    // The very same order is understood: looking is allowed, and tells the higher epoch.
    let facts = ask(fleet.world(), "host-1", (old, LATE), &json!("facts"))?;
    ensure!(facts["done"]["epoch"].as_u64() > Some(old), "{facts}");
    unchanged(fleet, &before.0)?;
    ensure!(before.1 == fleet.webd("host-1")?, "the service of host-1 was changed");
    fleet.set_default("1.1.0", "ahoy", 2)?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.forget_operator();
    fleet.start_operator()?;
    eventually("the first seat standing by", PATIENCE, || {
        let (status, text) = fleet.readyz()?;
        ensure!(status == 200 && text.contains("Standby"), "{status} {text}");
        Ok(())
    })?;
    let began = Instant::now();
    second.kill()?;
    fleet.wait_until_ready()?;
    fleet.note(&format!("the killed leader was replaced after {:.1?}", began.elapsed()))
}

/// Waits until the hosts have heard of an operator after `old`.
fn taken_over(fleet: &Fleet<'_>, second: &mut Process, old: u64) -> Result<()> {
    eventually("contact with the second operator", PATIENCE, || {
        second.must_run()?;
        let epoch = fleet.world().host("host-1")?.epoch()?;
        ensure!(epoch > old, "still epoch {old}");
        Ok(())
    })
}

fn lost_lease(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    let epoch = eventually("contact in the present epoch", PATIENCE, || {
        let held = lease(fleet)?["spec"]["leaseTransitions"].as_u64();
        let seen = world.hosts().map(|host| host.epoch()).collect::<Result<Vec<_>>>()?;
        ensure!(seen.iter().all(|seen| Some(*seen) == held), "{seen:?}, the Lease says {held:?}");
        Ok(seen[0])
    })?;
    let before = contents(fleet)?;
    world.kubectl(["delete", "lease", "seaworthy", "--namespace", manifests::NAMESPACE])?;
    // What people ask for now is not done, and they are told why.
    fleet.set_default("1.0.0", "forbidden", 2)?;
    let pinned = json!({"spec": {"components": [manifests::webd_setting("1.0.0", "forbidden")]}}).to_string();
    world.kubectl(["patch", "machine", "host-1", "--type=merge", "--patch", &pinned])?;
    let told = |fleet: &Fleet<'_>| {
        let machine = fleet.await_condition(("machine", "host-1"), ["Ready", "False", "StoreRegressed"])?;
        let fleet_wide = ("clusterpackageversion", "default");
        let rollout = fleet.await_condition(fleet_wide, ["Progressing", "False", "StoreRegressed"])?;
        ensure!(machine.contains("adopt-epoch") && rollout.contains("adopt-epoch"), "{machine} {rollout}");
        fleet.note(&format!("StoreRegressed: {machine}"))
    };
    told(fleet)?;
    fleet.note(&world.kubectl(["get", "machines"])?)?;
    // A new process knows no more than the old one.
    fleet.kill_operator()?;
    fleet.start_operator()?;
    eventually("the new operator", PATIENCE, || {
        let (status, text) = fleet.readyz()?;
        ensure!(status == 503 && text.contains("StoreRegressed"), "{status} {text}");
        Ok(())
    })?;
    told(fleet)?;
    unchanged(fleet, &before)?;
    // Adopting too little is harmless: the hosts tell how far operators had come.
    adopt(fleet, epoch - 2)?;
    eventually("what the hosts tell", PATIENCE, || {
        let (status, text) = fleet.readyz()?;
        let told = text.contains("StoreRegressed") && text.contains(&format!("epoch {epoch}"));
        ensure!(status == 503 && told, "{status} {text}");
        Ok(())
    })?;
    unchanged(fleet, &before)?;
    adopt(fleet, epoch)?;
    fleet.wait_until_ready()?;
    fleet.settles(&BOTH, "1.0.0", "forbidden")?;
    let after = lease(fleet)?["spec"]["leaseTransitions"].as_u64();
    ensure!(after > Some(epoch), "epoch {after:?} after {epoch}");
    fleet.note(&format!("adopted: epoch {after:?} follows {epoch}"))
}

/// Records, as a person would, that hosts which have seen operators up to this epoch may be taken over.
fn adopt(fleet: &Fleet<'_>, epoch: u64) -> Result<()> {
    let adopted = format!("seaworthy.dev/adopt-epoch={epoch}");
    let lease =
        ["annotate", "--overwrite", "lease", "seaworthy", "--namespace", manifests::NAMESPACE, &adopted];
    fleet.world().kubectl(lease).map(drop)
}

fn lease(fleet: &Fleet<'_>) -> Result<Value> {
    let lease = ["get", "lease", "seaworthy", "--namespace", manifests::NAMESPACE, "-o", "json"];
    Ok(serde_json::from_str(&fleet.world().kubectl(lease)?)?)
}

/// Everything on the hosts that an operation would change, and the record of all operations.
fn contents(fleet: &Fleet<'_>) -> Result<Vec<Listing>> {
    let places = ["/opt/seaworthy", "/etc/systemd", "/usr/local"];
    // Every order that is understood renews the memory, through a temporary file: also one that only reads.
    let notes = ["/opt/seaworthy/state/memory.json", "/opt/seaworthy/state/.memory.json.seaworthy-new"];
    fleet.world().hosts().map(|host| Listing::of(host, &places, &notes)).collect()
}

/// Nothing has been done on the hosts since `before`.
fn unchanged(fleet: &Fleet<'_>, before: &[Listing]) -> Result<()> {
    let after = contents(fleet)?;
    let differences = || before.iter().zip(&after).flat_map(|(before, after)| before.differences(after));
    ensure!(after == before, "hosts were changed: {:#?}", differences().collect::<Vec<_>>());
    Ok(())
}
