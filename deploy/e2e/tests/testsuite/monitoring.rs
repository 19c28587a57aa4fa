//! The alerts and the dashboard, with a real Prometheus that watches a real operator.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Fleet, Health, PATIENCE, World, ensure_prometheus, eventually, prometheus, run_to_end, scenario,
    where_supported,
};
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../monitoring").join(name)
}

#[test]
fn every_alert_fires_when_it_should_and_not_in_a_fleet_in_order() -> Result<()> {
    where_supported(|| {
        let promtool = ensure_prometheus()?.promtool;
        run_to_end(Command::new(&promtool).args(["check", "rules"]).arg(file("alerts.yaml")))?;
        run_to_end(Command::new(&promtool).args(["test", "rules"]).arg(file("alerts_test.yaml")))?;
        let (alerts, tests) =
            (fs::read_to_string(file("alerts.yaml"))?, fs::read_to_string(file("alerts_test.yaml"))?);
        for alert in alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
            ensure!(
                tests.contains(&format!("alertname=\"{alert}\"")),
                "no test of alerts_test.yaml has {alert} fire"
            );
        }
        Ok(())
    })
}

#[test]
fn a_prometheus_finds_all_that_alerts_and_dashboard_ask_for() -> Result<()> {
    scenario(1, |world| {
        let fleet = Fleet::start(world)?;
        fleet.publish("1.0.0", Health::Healthy)?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 1)?;
        fleet.settles(&["host-1"], "1.0.0", "ahoy")?;
        let rules = file("alerts.yaml").canonicalize()?;
        let mut prometheus = prometheus::watch(world, Ipv4Addr::LOCALHOST, &[&rules])?;
        eventually("a fleet in order", PATIENCE, || {
            let ready = "sum(max by (ready, reason) (seaworthy_machines{ready=\"True\"}))";
            let machines = query(world, ready)?;
            ensure!(machines.len() == 1 && machines[0]["value"][1] == "1", "{machines:?}");
            Ok(())
        })?;
        // A machine that waits for something.
        let pin = r#"{"spec": {"components": [{"name": "webd", "version": "9.9.9"}]}}"#;
        world.kubectl(["patch", "machine", "host-1", "--type=merge", "--patch", pin])?;
        let names =
            names(&(fs::read_to_string(file("alerts.yaml"))? + &fs::read_to_string(file("dashboard.json"))?));
        ensure!(names.len() > 10, "{names:?}");
        eventually("all metrics in Prometheus", PATIENCE, || {
            for name in &names {
                ensure!(!query(world, name)?.is_empty(), "Prometheus has no {name}");
            }
            Ok(())
        })?;
        for expression in expressions()? {
            query(world, &expression).with_context(|| format!("the dashboard asks for {expression}"))?;
        }
        eventually("rules that were evaluated", PATIENCE, || {
            let rules = get(world, "/api/v1/rules")?;
            let rules = rules["groups"][0]["rules"].as_array().context("Prometheus has rules")?;
            ensure!(rules.len() > 5 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:?}");
            ensure!(rules.iter().all(|rule| rule["state"] != "firing"), "a fleet in order: {rules:?}");
            Ok(())
        })?;
        prometheus.terminate(PATIENCE).map(drop)
    })
}

/// The data of an answer of its API.
fn get(world: &World, path: &str) -> Result<Value> {
    let (status, text) =
        world.control_plane().endpoint().http_get(Ipv4Addr::LOCALHOST, prometheus::PORT, path)?;
    ensure!(status == 200, "{status} {text}");
    let mut answer: Value = serde_json::from_str(&text)?;
    Ok(answer["data"].take())
}

/// The series that an expression has now.
fn query(world: &World, expression: &str) -> Result<Vec<Value>> {
    let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let data = get(world, &format!("/api/v1/query?query={encoded}"))?;
    Ok(data["result"].as_array().context("an answer has a result")?.clone())
}

/// The names of our metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
    words.filter(|word| word.starts_with("seaworthy_")).map(str::to_owned).collect()
}

/// What the panels of the dashboard show.
fn expressions() -> Result<Vec<String>> {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("a dashboard has panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets
        .map(|target| Ok(target["expr"].as_str().context("a target has an expression")?.to_owned()))
        .collect()
}
