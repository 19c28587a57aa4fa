//! Versions that must not be combined are refused with a reason before anything is changed. Where the rules allow one order of
//! changes, the operator finds it.

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, Health, Host, Listing, manifests, scenario};
use serde_json::{Value, json};

/// Everything on a host that we might change.
const PLACES: [&str; 4] = ["/etc", "/opt", "/usr", "/var/lib"];

/// Where a host notes down the orders that it has seen, also those that change nothing.
const NOTES: [&str; 1] = ["/opt/seaworthy/state"];

/// What `webd` runs on, as far as rules are concerned: a file.
fn base(version: &str) -> Value {
    json!({
        "apiVersion": manifests::API_VERSION,
        "kind": "MachineComponent",
        "metadata": {"name": format!("base-{version}")},
        "spec": {
            "component": "base",
            "version": version,
            "files": [{"path": "etc/base.conf", "template": format!("version = {version}\n")}],
        },
    })
}

/// A version of `webd` with these rules.
fn webd(fleet: &Fleet<'_>, version: &str, requires: &Value) -> Result<()> {
    let artefact = fleet.world().artefacts().publish_webd(version, Health::Healthy)?;
    let mut component = manifests::webd(version, &artefact)?;
    component["spec"]["requires"] = requires.clone();
    fleet.apply(&component)
}

/// `webd` first, since the rules decide what comes first, and not who is named first.
fn components(webd: &str, base: &str) -> Value {
    json!([manifests::webd_setting(webd, "ahoy"), {"name": "base", "version": base}])
}

#[test]
fn what_breaks_a_rule_is_refused_before_anything_is_touched() -> Result<()> {
    scenario(1, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "2.0.0"].iter().try_for_each(|version| fleet.apply(&base(version)))?;
        webd(&fleet, "1.0.0", &json!([{"component": "base", "atLeast": "1.0.0"}]))?;
        let modern = json!([
            {"component": "base", "atLeast": "2.0.0"},
            {"component": "kube-apiserver", "atLeast": "1.30.0"},
        ]);
        webd(&fleet, "1.1.0", &modern)?;
        webd(&fleet, "1.2.0", &json!([{"component": "kube-apiserver", "atLeast": "1.99.0"}]))?;
        world.host("host-1")?.settle()?;
        let mut machine = manifests::machine("host-1", world.host("host-1")?);
        machine["spec"]["components"] = components("1.0.0", "1.0.0");
        fleet.apply(&machine)?;
        settles(&fleet, "base=1.0.0,webd=1.0.0")?;
        fleet.scene("a kubelet that is too new for its runtime, or for the API server", |fleet| {
            let rule = "webd-1.1.0 requires base at least 2.0.0, and base-1.0.0 would be with it";
            refused(fleet, &machine, &components("1.1.0", "1.0.0"), rule)?;
            let rule = "webd-1.2.0 requires kube-apiserver at least 1.99.0, and there is one of 1.36.3";
            refused(fleet, &machine, &components("1.2.0", "2.0.0"), rule)
        })?;
        fleet.scene("defaults that must not be together", |fleet| {
            let settings = components("1.1.0", "1.0.0");
            let settings = settings.as_array().context("a list")?;
            fleet.apply(&manifests::defaults(settings, 1))?;
            let fleets = ("clusterpackageversion", "default");
            let message = fleet.await_condition(fleets, ["Progressing", "False", "VersionSkew"])?;
            ensure!(message.contains("webd-1.1.0 requires base at least 2.0.0"), "{message}");
            fleet.note(&message)
        })?;
        fleet.scene("both at once, in the order that is left", |fleet| {
            let host = fleet.world().host("host-1")?;
            machine["spec"]["components"] = components("1.1.0", "2.0.0");
            fleet.apply(&machine)?;
            settles(fleet, "base=2.0.0,webd=1.1.0")?;
            let [base, webd] = [swapped(host, "base")?, swapped(host, "webd")?];
            ensure!(base < webd, "webd was changed at {webd}, and base at {base}");
            machine["spec"]["components"] = components("1.0.0", "1.0.0");
            fleet.apply(&machine)?;
            settles(fleet, "base=1.0.0,webd=1.0.0")?;
            let [base, webd] = [swapped(host, "base")?, swapped(host, "webd")?];
            ensure!(webd < base, "back: base was changed at {base}, and webd at {webd}");
            Ok(())
        })?;
        fleet.stop_operator()
    })
}

/// Wants these components of a machine, and sees to it that the rule is told and nothing on the host is touched.
fn refused(fleet: &Fleet<'_>, machine: &Value, components: &Value, rule: &str) -> Result<()> {
    let host = fleet.world().host("host-1")?;
    let (before, operations) = (Listing::of(host, &PLACES, &NOTES)?, host.operations()?.len());
    let mut pinned = machine.clone();
    pinned["spec"]["components"] = components.clone();
    fleet.apply(&pinned)?;
    fleet.eventually(&format!("{rule:?}"), || {
        let message = fleet.await_condition(("machine", "host-1"), ["InSync", "False", "VersionSkew"])?;
        ensure!(message.contains(rule), "{message}");
        fleet.note(&message)
    })?;
    let after = Listing::of(host, &PLACES, &NOTES)?;
    ensure!(after == before, "the host was changed: {:#?}", before.differences(&after));
    ensure!(host.operations()?.len() == operations, "something was tried");
    Ok(())
}

/// Waits until the machine is Ready with just this.
fn settles(fleet: &Fleet<'_>, installed: &str) -> Result<()> {
    fleet.eventually(installed, || {
        let object = fleet.get("machine", "host-1")?;
        let status = &object["status"];
        let is_observed = status["observedGeneration"] == object["metadata"]["generation"];
        let conditions = status["conditions"].as_array().context("no conditions")?;
        let is_ready = conditions.iter().any(|told| told["type"] == "Ready" && told["status"] == "True");
        ensure!(is_observed && is_ready && status["installed"] == installed, "{status}");
        Ok(())
    })
}

/// When the release of a component was put in its place, in seconds.
fn swapped(host: &Host, component: &str) -> Result<f64> {
    let path = format!("/opt/seaworthy/current/{component}");
    Ok(host.sh(&format!("find {path} -maxdepth 0 -printf '%T@'"))?.trim().parse()?)
}
